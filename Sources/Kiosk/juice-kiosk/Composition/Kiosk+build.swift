import CommandLineSupport
import Devices
import Foundation
import HomeAssistant
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Logging
import MessageBroker
import TimeZones
import YAMLConfiguration

// The composition root: creates the parts of the daemon from a configuration.

extension Controller {
  static func build(
    _ configuration: KioskConfiguration, uplinkProgress: UplinkProgress? = nil, logger: Logger
  ) throws -> Controller {
    let broker = try configuration.makeBroker()
    let ledger = try KioskLedger(path: configuration.ledgerPath)
    let state = try ledger.state()
    let settings = KioskSettings(configuration, retainedTopics: state.topics, stock: state.stock)
    return try Controller(
      settings: settings, broker: broker, ledger: ledger, uplinkProgress: uplinkProgress,
      clock: .system(wallClock: settings.wallClock, evidence: SystemClock.evidence()),
      logger: logger)
  }
}

extension Uplink {
  /// Creates the uplink of a configuration. Returns `nil` if the configuration has no uplink.
  ///
  /// - Parameters:
  ///   - uplinkProgress: The progress, shared with the controller of the same ledger.
  ///   - menus: The mailbox for the menus that the chain publishes.
  static func build(
    _ configuration: KioskConfiguration, uplinkProgress: UplinkProgress, menus: MenuMailbox,
    logger: Logger
  ) throws -> Uplink? {
    guard let uplink = configuration.uplink else { return nil }
    let broker = try uplink.broker.makeBroker()
    let settings = UplinkSettings(
      topics: KioskTopics(root: uplink.root, kiosk: configuration.kiosk.id),
      clientID: uplink.broker.clientID, pace: uplink.entriesPerSecond)
    return try Uplink(
      settings: settings, broker: broker,
      ledger: KioskLedger(path: configuration.ledgerPath, readOnly: true),
      uplinkProgress: uplinkProgress,
      menus: menus, clock: .system(wallClock: configuration.kiosk.timeZone),
      logger: logger)
  }
}

extension KioskSettings {
  /// Creates the settings of a configuration.
  ///
  /// - Parameters:
  ///   - retainedTopics: The retained topics that the ledger lists.
  ///   - held: The stock in the ledger.
  init(
    _ configuration: KioskConfiguration, retainedTopics: Set<String> = [],
    stock held: FruitAmounts = [:]
  ) {
    self.init(
      topics: configuration.topics, language: configuration.kiosk.language,
      wallClock: configuration.kiosk.timeZone, menu: configuration.menu,
      stock: configuration.stock, orders: configuration.orders, version: Release.version)
    menuVersion = configuration.desiredMenu?.version
    menuProblem = configuration.menuProblem
    hours = configuration.hours
    settingsReport = configuration.settingsReport
    name = configuration.kiosk.name
    place = configuration.kiosk.place
    region = configuration.kiosk.region
    notice = configuration.kiosk.notice
    panels = configuration.panels
    machines = configuration.machines
    payment = configuration.payment
    sensors = configuration.sensors
    displays = configuration.displays
    if var discovery = Discovery(
      configuration, retainedTopics: retainedTopics, stock: held)
    {
      func messages() -> [Message] {
        discovery.messages.map { Message(topic: $0.topic, payload: $0.payload, retain: true) }
      }
      announcements = messages()
      discovery.hasDates = true
      announcementsWithDates = messages()
      births.append(Birth(topic: discovery.birth.topic, payload: discovery.birth.payload))
    }
  }
}

extension Discovery {
  /// Creates the discovery messages, or returns `nil` if Home Assistant discovery is disabled.
  fileprivate init?(
    _ configuration: KioskConfiguration, retainedTopics: Set<String>, stock: FruitAmounts
  ) {
    let homeAssistant = configuration.homeAssistant
    guard homeAssistant.isEnabled else { return nil }
    self.init(
      prefix: homeAssistant.prefix, form: homeAssistant.form == .device ? .device : .components,
      account: homeAssistant.account.text, topics: configuration.topics,
      name: configuration.kiosk.name, language: configuration.kiosk.language,
      menu: configuration.menu, capacities: configuration.stock.capacities, stock: stock,
      machines: configuration.machines.map(\.name),
      programs: configuration.machines.flatMap { machine in
        machine.programs.keys.map { ProgramID(machine: machine.name, program: $0) }
      }.sorted { $0.description < $1.description },
      paymentDevices: configuration.payment?.devices.map(\.name) ?? [],
      sensors: Dictionary(
        configuration.sensors.map { ($0.name, $0.unit) }, uniquingKeysWith: { first, _ in first }),
      retainedTopics: retainedTopics, version: Release.version)
  }
}

extension KioskConfiguration {
  /// The report to the chain about the menu in use; version 0 is the configuration's own menu.
  var menuReport: DesiredMenuReport {
    .taken(version: desiredMenu?.version ?? 0, detail: menuProblem)
  }

  var topics: KioskTopics { KioskTopics(root: kiosk.root, kiosk: kiosk.id) }

  func makeBroker() throws(Failure) -> any BrokerClient { try broker.makeBroker() }
}
