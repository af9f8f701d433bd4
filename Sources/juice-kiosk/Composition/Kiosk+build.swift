import Foundation
import JuiceMaker
import KioskConfiguration
import KioskController
import KioskMessages
import Ledger
import Logging
import MessageBroker
import MosquittoBroker

// The composition root: here, and only here, configuration becomes components.

extension KioskController {
  static func build(
    _ configuration: KioskConfiguration, logger: Logger
  ) throws(Failure) -> KioskController {
    let broker = try configuration.makeBroker()
    do throws(LedgerError) {
      return try KioskController(
        settings: KioskSettings(configuration), broker: broker,
        ledger: Ledger(path: configuration.ledger.path),
        clock: .system(timeZone: configuration.kiosk.timeZone), logger: logger)
    } catch {
      throw Failure(error)
    }
  }
}

extension KioskSettings {
  init(_ configuration: KioskConfiguration) {
    self.init(
      topics: configuration.topics, language: configuration.kiosk.language,
      menu: configuration.menu,
      stock: Stock(
        initial: configuration.stock.initial, capacities: configuration.stock.capacities,
        lowMarks: configuration.stock.lowMarks),
      orders: Orders(
        maximumAge: configuration.orders.maxAge, maximumQuantity: configuration.orders.maxQuantity,
        debounce: configuration.orders.debounce,
        maximumPerSecond: configuration.orders.maxPerSecond ?? 0),
      version: JuiceKiosk.version)
  }
}

extension KioskConfiguration {
  var topics: KioskTopics { KioskTopics(root: kiosk.root, kiosk: kiosk.id) }

  func makeBroker() throws(Failure) -> any MessageBroker {
    InMemoryBroker().client()
  }
}
