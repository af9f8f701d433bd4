import ArgumentParser
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Logging
import MessageBroker
import MosquittoBroker
import TimeZones

/// A kiosk with its own ledger and its own broker. The controller and the uplink are the real ones;
/// only the local broker is in memory, and the panel is a client of it.
final class CrowdKiosk {
  let id: String
  private let broker = MemoryBroker()
  private let executor: ManualExecutor
  private let topics: KioskTopics
  private let uplinkProgress = UplinkProgress()
  private let controller: Controller
  private let uplink: Uplink
  private let panel: MemoryClient
  private var tasks: [Task<Void, Never>] = []
  private var going: Task<Void, Never>?
  private(set) var sent = 0

  /// - Parameter executor: The executor of everything except the uplink.
  init(_ kiosk: Roster.Kiosk, of roster: Roster, on executor: ManualExecutor) throws {
    guard let name = KioskID(kiosk.id) else {
      throw ValidationError("\"\(kiosk.id)\" is no id of a kiosk")
    }
    id = kiosk.id
    self.executor = executor
    topics = KioskTopics(root: "kiosk", kiosk: name)
    let path = "\(roster.folder)/\(id).sqlite"
    let clock = KioskClock.system(wallClock: .utc)
    var log = Logger(label: id) { CrowdLog(kiosk: $0) }
    log.logLevel = .warning
    controller = try Controller(
      settings: Self.settings(topics), broker: broker.client(on: executor),
      ledger: KioskLedger(path: path), uplinkProgress: uplinkProgress, clock: clock, logger: log)
    log.logLevel = .notice
    uplink = try Uplink(
      settings: UplinkSettings(topics: topics, clientID: "juice-kiosk-\(id)-uplink"),
      broker: try MosquittoClient(Self.connection(kiosk, roster)),
      ledger: KioskLedger(path: path, readOnly: true), uplinkProgress: uplinkProgress,
      menus: MenuMailbox(version: 0), clock: clock, logger: log)
    panel = broker.client(on: executor)
  }

  /// The last entry of the ledger, and the entry up to which all are confirmed upstream.
  var cursors: [Int] { [uplinkProgress.recorded, uplinkProgress.unsaved(from: 0) ?? 0] }

  func start() {
    tasks.append(
      Task(executorPreference: executor) { [controller] in
        await controller.run(clientID: "kiosk")
      })
    tasks.append(
      Task(executorPreference: executor) { [panel] in
        await panel.connect(SessionOptions(clientID: "panel"))
        while await panel.nextEvent(timeout: nil) != nil {}
      })
    going = Task { [uplink] in await uplink.run() }
  }

  /// Advances the time of the kiosk and its broker.
  func advance(to now: Duration) {
    let passed = now - broker.now
    if passed > .zero { broker.advance(by: passed) }
  }

  func order(_ juice: Juice.ID, quantity: Int) {
    sent += 1
    publish(
      #"{"id":"\#(sent)","juice":"\#(juice)","quantity":\#(quantity)}"#,
      to: topics.base + "/order/p1")
    if sent.isMultiple(of: 25) {
      publish(
        #"{"id":"\#(sent)","add":{"strawberry":40}}"#, to: topics.base + "/restock/van")
    }
  }

  private func publish(_ payload: String, to topic: String) {
    let message = Message(topic: topic, payload: Array(payload.utf8))
    Task(executorPreference: executor) { [panel] in
      _ = try? await panel.publish([message])
      await panel.acknowledge()
    }
  }

  func stop() {
    for task in tasks { task.cancel() }
    going?.cancel()
  }

  func end() async { await going?.value }

  private static func settings(_ topics: KioskTopics) throws -> KioskSettings {
    func all(_ amount: Int) -> FruitAmounts {
      FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: amount) })
    }
    // All other fruits never run out.
    var initial = all(1_000_000)
    initial["strawberry"] = 100
    var settings = KioskSettings(
      topics: topics,
      stock: KioskSettings.Stock(
        initial: initial, capacities: all(2_000_000), lowMarks: all(5)),
      version: "crowd")
    settings.orders.maximumPerSecond = 0
    return settings
  }

  private static func connection(
    _ kiosk: Roster.Kiosk, _ roster: Roster
  ) throws -> MosquittoClient.Configuration {
    let addresses = kiosk.addresses.map { text in
      let parts = text.split(separator: ":")
      return BrokerAddress(
        host: String(parts.first ?? ""), port: parts.last.flatMap { UInt16($0) } ?? 8883)
    }
    // RabbitMQ before 3.13 supports no later version.
    var connection = MosquittoClient.Configuration(
      host: "", protocolVersion: .v311, username: kiosk.username, password: kiosk.password,
      tls: MosquittoClient.Configuration.TLS(caFile: roster.caFile))
    connection.addresses = addresses
    return connection
  }
}
