import JuiceDomain
import KioskCore
import KioskProtocol
import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Opening hours of the file, and a change of an operator combined with the file.
@Suite struct SettingsTests {
  private static let own = """
    menu: {base: standard, currency: EUR, juices: {kiwi: {price: 3.00}, mango: {price: 4.00}}}
    hours: {mon: "07:00-22:00"}
    panels: [{name: a, device: tasmota, topic: a, buttons: {single: mango}}]
    """

  private func read(_ yaml: String, with change: SettingsChange) throws -> KioskConfiguration {
    var configuration = KioskConfiguration()
    let stored = StoredSettings(
      id: "s1", by: "minji", at: Timestamp(milliseconds: 0), change: change)
    try Document.read(yaml, file: "k.yaml", environment: [:]) {
      configuration.read(&$0, under: nil, with: stored)
    }
    return configuration
  }

  private func euro(_ text: String) throws -> Money { try #require(Money(text, .euro)) }

  @Test func hoursAreRead() throws {
    let yaml = "hours: {mon: \"07:00-22:00\", sun: 18:00-02:00}"
    let configuration = try KioskConfiguration.parse(yaml: yaml, file: "k.yaml")
    #expect(configuration.hours?.text == "mon 07:00-22:00, sun 18:00-02:00")
    #expect(KioskConfiguration().hours == nil)
  }

  @Test(
    arguments: [
      ("{}", "k.yaml:1:1: hours: has no day; write it like '{mon: \"07:00-22:00\"}'"),
      (
        "{mon: 7-22}",
        "k.yaml:1:9: hours.mon: '7-22' is not a time span; write it like \"07:00-22:00\""
      ),
      (
        "{monday: 07:00-22:00}",
        "k.yaml:1:9: hours.monday: there is no such key; known here: mon, tue, wed, thu, fri, sat, sun"
      ),
    ])
  func wrongHoursAreTold(hours: String, error: String) {
    #expect(errors("hours: \(hours)") == [error])
  }

  @Test func aChangeReplacesTheValuesOfTheFile() throws {
    var change = SettingsChange()
    change.prices = ["kiwi": try euro("3.50")]
    change.capacities = ["kiwi": 50]
    change.lowMarks = ["kiwi": 50, "mango": 0]
    change.disabled = ["mango"]
    change.hours = OpeningHours([.tue: try #require(OpeningHours.Interval("00:00-24:00"))])
    let configuration = try read(Self.own, with: change)
    #expect(configuration.menu.juice("kiwi")?.price == (try euro("3.50")))
    #expect(configuration.menu.juice("mango_kiwi") != nil)
    #expect(configuration.menu.juice("mango") == nil)
    #expect(configuration.stock.capacities["kiwi"] == 50)
    #expect(configuration.stock.lowMarks["kiwi"] == 50)
    #expect(configuration.hours == change.hours)
    #expect(configuration.unusedSettings.isEmpty)
    // The button of the juice that is not sold stays configured.
    #expect(configuration.panels.count == 1)
    #expect(
      configuration.settingsDifferences == [
        "price of kiwi 3.50 EUR instead of 3.00 EUR", "mango is not sold",
        "capacity of kiwi 50 instead of 100", "low mark of kiwi 50 instead of 5",
        "low mark of mango 0 instead of 5",
        "hours tue 00:00-24:00 instead of mon 07:00-22:00",
      ])
    let report = try #require(configuration.settingsReport)
    #expect(report.file.menu.juice("mango")?.price == (try euro("4.00")))
    #expect(report.file.capacities["kiwi"] == 100)
    #expect(report.fileHours?.text == "mon 07:00-22:00")
    #expect(report.hours == change.hours)
    #expect(configuration.changesForRestart(from: try read(Self.own, with: .init())) == [])
  }

  @Test func withoutHoursAndChangeNothingIsPublished() throws {
    #expect(KioskConfiguration().settingsReport == nil)
    #expect(try read("", with: SettingsChange()).settingsDifferences == [])
  }

  /// Each part that does not fit is left out, and all others count: a new file or a new menu never
  /// makes a kiosk forget a price.
  @Test func partsThatDoNotFitAreLeftOut() throws {
    var change = SettingsChange()
    change.prices = ["tea": try euro("1.00"), "kiwi": try euro("3.50")]
    change.capacities = ["fig": 1, "mango": 4, "banana": 7]
    change.disabled = ["cola"]
    let configuration = try read(Self.own, with: change)
    #expect(configuration.menu.juice("kiwi")?.price == (try euro("3.50")))
    #expect(configuration.stock.capacities["banana"] == 7)
    #expect(configuration.stock.capacities["mango"] == 100)
    #expect(
      configuration.unusedSettings.map(\.detail) == [
        "there is no tea on the menu", "there is no cola on the menu",
        "fig is not a fruit of this kiosk", "mango would be low at 5, above its capacity of 4",
      ])
    #expect(
      configuration.unusedSettings.map(\.reason) == [
        .unknownJuice, .unknownJuice, .unknownFruit, .malformed,
      ])
  }

  private static let orange = Fruit(id: "orange", name: LocalizedName(fallback: "Orange"))

  private func juice(_ id: Juice.ID, _ amounts: FruitAmounts) throws -> Juice {
    Juice(id: id, name: LocalizedName(fallback: "Juice"), recipe: try Recipe(amounts))
  }

  @Test func aChangeAddsFruitsAndJuices() throws {
    var change = SettingsChange()
    change.fruits = [Self.orange]
    change.juices = [
      try juice("orange", ["orange": 3]), try juice("kiwi", ["kiwi": 2, "orange": 1]),
    ]
    change.prices = ["orange": try euro("4.50")]
    change.capacities = ["orange": 40]
    let configuration = try read(Self.own, with: change)
    #expect(configuration.unusedSettings.isEmpty)
    #expect(configuration.menu.fruits.map(\.id).last == "orange")
    #expect(configuration.menu.juices.map(\.id).last == "orange")
    #expect(configuration.menu.juice("orange")?.price == (try euro("4.50")))
    // A juice of the file keeps its place and its price.
    #expect(configuration.menu.juice("kiwi")?.recipe.amounts == ["kiwi": 2, "orange": 1])
    #expect(configuration.menu.juice("kiwi")?.price == (try euro("3.00")))
    #expect(configuration.menu.juices.count == 8)
    #expect(configuration.stock.capacities["orange"] == 40)
    #expect(configuration.stock.lowMarks["orange"] == 5)
    #expect(configuration.stock.initial["orange"] == nil)
    #expect(configuration.settingsReport?.file.menu.juice("orange") == nil)
    #expect(
      configuration.settingsDifferences == [
        "recipe of kiwi kiwi 2, orange 1 instead of kiwi 3", "texts of kiwi are changed",
        "recipe of orange orange 3 instead of none", "price of orange 4.50 EUR instead of none",
        "capacity of orange 40 instead of none", "low mark of orange 5 instead of none",
      ])
  }

  @Test func whatDoesNotFitIsNotAdded() throws {
    var change = SettingsChange()
    change.fruits = [Fruit(id: "kiwi", name: LocalizedName(fallback: "Kiwi"))]
    change.juices = [try juice("fig", ["fig": 3])]
    change.prices = ["fig": try euro("4.50")]
    let configuration = try read(Self.own, with: change)
    #expect(configuration.menu.juices.count == 7 && configuration.menu.fruits.count == 5)
    #expect(
      configuration.unusedSettings.map(\.detail) == [
        "kiwi is a fruit of the kiosk's file already",
        "the recipe of fig takes fig, which is not on the menu", "there is no fig on the menu",
      ])
  }

  /// The chain assigns the menu: of a change only prices and amounts apply to it.
  @Test func nothingIsAddedToTheMenuOfTheChain() throws {
    var change = SettingsChange()
    change.fruits = [Self.orange]
    change.prices = ["kiwi": try euro("3.50")]
    var configuration = KioskConfiguration()
    let stored = StoredSettings(
      id: "s1", by: "minji", at: Timestamp(milliseconds: 0), change: change)
    let menu = DesiredMenu(
      version: 7, text: "menu: {base: standard, currency: EUR, juices: {kiwi: {price: 2.00}}}")
    try Document.read(Self.own, file: "k.yaml", environment: [:]) {
      configuration.read(&$0, under: menu, with: stored)
    }
    #expect(!configuration.menu.contains("orange"))
    #expect(configuration.menu.juice("kiwi")?.price == (try euro("3.50")))
    #expect(configuration.unusedSettings.map(\.reason) == [.conflict])
  }

  /// Without a machine the juice would be ready at once.
  @Test func aJuiceThatNoMachineMakesIsNotAdded() throws {
    var change = SettingsChange()
    change.juices = [try juice("mix", ["kiwi": 1, "mango": 1]), try juice("kiwi", ["kiwi": 1])]
    let yaml = "machines: [{name: bar, juices: [kiwi, mango]}]"
    let configuration = try read(yaml, with: change)
    #expect(configuration.unusedSettings.map(\.detail) == ["no machine of this kiosk makes mix"])
    #expect(configuration.menu.juice("kiwi")?.recipe.amounts == ["kiwi": 1])
    #expect(try read("machines: [{name: bar}]", with: change).menu.juice("mix") != nil)
  }

  @Test func eachSensorThatBlocksFruitBlocksAnAddedOne() throws {
    var change = SettingsChange()
    change.fruits = [Self.orange]
    let yaml = """
      machines: [{name: bar}]
      sensors:
        - {name: fridge, topic: a, unit: "°C", max: 7, fruits: [kiwi], block_after_seconds: 3600}
        - {name: bar, topic: b, unit: "°C", max: 7, machines: [bar], block_after_seconds: 3600}
      """
    let configuration = try read(yaml, with: change)
    #expect(configuration.sensors.map(\.fruits) == [["kiwi", "orange"], []])
  }

  @Test func anotherCurrencyAndAnEmptyMenuAreLeftOut() throws {
    var change = SettingsChange()
    change.prices = ["kiwi": Money(units: 5_000, try #require(Currency("KRW")))]
    change.disabled = Set(Menu.standard.juices.map(\.id))
    let configuration = try read(Self.own, with: change)
    #expect(configuration.menu.juices.count == 7)
    #expect(configuration.menu.juice("kiwi")?.price == (try euro("3.00")))
    #expect(
      configuration.unusedSettings.map(\.detail) == [
        "the price of kiwi is not in EUR", "a kiosk must sell at least one juice",
      ])
    // A menu without prices takes any currency.
    change.disabled = []
    #expect(try read("", with: change).menu.juice("kiwi")?.price?.units == 5_000)
  }
}
