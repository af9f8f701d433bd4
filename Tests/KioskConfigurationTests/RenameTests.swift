import JuiceMaker
import Panels
import Testing

@testable import KioskConfiguration

/// Keys that once had another name.
@Suite struct RenameTests {
  private static let renames = [
    Renames.Rename("orders.oldest", to: "orders.max_age_seconds"),
    Renames.Rename("shop.name", to: "kiosk.id"),
    Renames.Rename("panels.bounce", to: "panels.debounce_milliseconds"),
    Renames.Rename("fill", to: "stock.capacity"),
  ]

  private func parse(
    _ yaml: String, _ environment: [String: String] = [:]
  ) throws -> KioskConfiguration {
    try KioskConfiguration.parse(
      yaml: yaml, file: "k.yaml", environment: environment, renames: Self.renames)
  }

  private func errors(_ yaml: String, _ environment: [String: String] = [:]) -> [String] {
    do {
      _ = try parse(yaml, environment)
      return []
    } catch let error as ConfigurationErrors {
      return error.errors.map(\.description)
    } catch {
      return ["\(error)"]
    }
  }

  @Test func anOldNameGoesOnWorkingWithAWarning() throws {
    let configuration = try parse(
      """
      shop: {name: k7}
      orders:
        max_quantity: 3
        oldest: 12
      fill: {kiwi: 50, default: 60}
      panels:
        - {name: a, device: tasmota, topic: a, buttons: {single: kiwi}, bounce: 200}
        - {name: b, device: tasmota, topic: b, buttons: {single: kiwi}}
      """)
    #expect(configuration.kiosk.id == "k7")
    #expect(configuration.orders.maxQuantity == 3)
    #expect(configuration.orders.maxAge == .seconds(12))
    #expect(configuration.stock.capacities["kiwi"] == 50)
    #expect(configuration.stock.capacities["mango"] == 60)
    #expect(configuration.panels.map(\.debounce) == [.milliseconds(200), nil])
    #expect(
      configuration.warnings.map(\.description) == [
        "k.yaml:1:8: shop.name: is called kiosk.id now; rename it",
        "k.yaml:4:3: orders.oldest: is called orders.max_age_seconds now; rename it",
        "k.yaml:5:1: fill: is called stock.capacity now; rename it",
        "k.yaml:7:67: panels.bounce: is called panels.debounce_milliseconds now; rename it",
      ])
  }

  @Test func aVariableToo() throws {
    let configuration = try parse("", ["KIOSK_ORDERS_OLDEST": "12"])
    #expect(configuration.orders.maxAge == .seconds(12))
    #expect(
      configuration.warnings.map(\.description) == [
        "KIOSK_ORDERS_OLDEST: orders.oldest: is called orders.max_age_seconds now; rename it"
      ])
  }

  @Test func bothNamesAreOneTooMany() {
    #expect(
      errors("orders: {oldest: 12, max_age_seconds: 13}") == [
        "k.yaml:1:10: orders.oldest: is the old name of orders.max_age_seconds, which is given too; leave it out"
      ])
    #expect(
      errors("kiosk: {id: k1}\nshop: {name: k2}") == [
        "k.yaml:2:8: shop.name: is the old name of kiosk.id, which is given too; leave it out"
      ])
    #expect(
      errors("", ["KIOSK_ORDERS_OLDEST": "12", "KIOSK_ORDERS_MAX_AGE_SECONDS": "13"]) == [
        "KIOSK_ORDERS_OLDEST: orders.oldest: is the old name of orders.max_age_seconds, which is given too; leave it out"
      ])
  }

  /// Of the value under the old name, at its place; and the others are still strict.
  @Test func whatIsWrongIsSaid() {
    #expect(
      errors("orders:\n  oldest: never").map { $0.prefix(38) } == [
        "k.yaml:2:3: orders.max_age_seconds: mu"
      ])
    #expect(
      errors("shop: {name: k1, colour: red}").map { $0.prefix(38) } == [
        "k.yaml:1:1: shop: there is no such key"
      ])
    #expect(errors("orders: 7").count == 1)
    #expect(errors("panels: 7").count == 1)
  }

  @Test func withoutRenamesNothingIsWarnedOf() throws {
    #expect(try parse("orders: {max_age_seconds: 5}").warnings == [])
    #expect(try KioskConfiguration.load(path: project("config/kiosk.yaml")).warnings == [])
  }
}
