import Foundation
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// A kiosk without a broker. It decides and commits deliveries as `Controller` does.
final class TestKiosk {
  /// 2026-11-21T09:00:00Z
  static let start = Timestamp(milliseconds: 1_795_251_600_000)

  private(set) var settings: KioskSettings
  private(set) var now = Moment(timestamp: TestKiosk.start, day: 20_778, uptime: .zero)
  /// The part of a millisecond that the timestamp omits.
  private var sinceTimestamp = Duration.zero
  private(set) var core: Kiosk
  private(set) var commandFilter: CommandFilter
  private(set) var tracker = DeliveryTracker()
  private(set) var ledger: KioskLedger
  /// The retained messages that the last batch has changed.
  private(set) var changes: [Message] = []
  private let folder: URL
  /// Milliseconds by which the clock is behind, because it stood still without power.
  private var standstill: Int64 = 0

  init(
    settings: KioskSettings = .test(), stock: FruitAmounts? = nil
  ) throws {
    self.settings = settings
    folder = FileManager.default.temporaryDirectory
      .appending(path: "core-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    ledger = try KioskLedger(path: folder.appending(path: "ledger.sqlite").path)
    var opening = settings
    if let stock { opening.stock.initial = stock }
    try ledger.createIndexes(ofCharges: settings.payment != nil)
    let state = try ledger.state()
    if let transaction = Kiosk.opening(settings: opening, state: state, at: now) {
      try ledger.commit(transaction)
    }
    core = Kiosk(settings: settings, state: try ledger.state())
    core.begin(at: now)
    commandFilter = CommandFilter(settings: settings)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Decides on a batch and commits it.
  @discardableResult
  func receive(_ deliveries: Delivery...) throws -> Decision { try receive(deliveries) }

  @discardableResult
  func receive(_ deliveries: [Delivery]) throws -> Decision {
    let parsedDeliveries = commandFilter.admit(deliveries, tracker: &tracker, at: now)
    let repeats = try ledger.repeats(of: parsedDeliveries.flatMap(\.repeatKeys))
    let before = core.copy()
    var decision = core.decide(parsedDeliveries, repeats: repeats, at: now)
    decision.transaction.deliveries = deliveries.count { $0.packetID > 0 && !$0.isRedelivery }
    try ledger.commit(decision.transaction)
    changes = settings.topics.changes(from: before, to: core, at: now.timestamp)
    return decision
  }

  /// Whether a timer has expired, or the opening hours have begun or ended.
  var isDue: Bool { core.isDue(at: now) }

  /// Returns the requests to machines that are due.
  func messagesForMachines() -> [Message] { core.messagesForMachines(at: now) }

  /// Returns the requests to payment devices that are due.
  func messagesForPaymentDevices() -> [Message] { core.messagesForPaymentDevices(at: now) }

  /// Records that the connection to the broker is lost.
  func loseConnection() { core.connectionLost() }

  /// Restarts the kiosk after a crash.
  ///
  /// - Parameters:
  ///   - acknowledged: The entry up to which the broker has received the acknowledgements.
  ///   - late: Whether the kiosk was away for longer than the maximum age of an order.
  func restart(acknowledged: Int = 0, late: Bool = false) throws {
    core = Kiosk(settings: settings, state: try ledger.state())
    core.begin(at: now)
    commandFilter = CommandFilter(settings: settings)
    tracker = DeliveryTracker()
    tracker.ledgerRead(unacknowledged: try ledger.deliveries(after: acknowledged))
    if late { core.reconnected(at: now) }
  }

  /// Restarts the kiosk with the same ledger in a new epoch, as after a restore from a backup.
  func restartInNewEpoch() throws {
    var state = try ledger.state()
    state.epoch += 1
    core = Kiosk(settings: settings, state: state)
    core.begin(at: now)
  }

  /// Reads the ledger again, as after an error of the disk.
  func recover() throws { core.recover(try ledger.state()) }

  /// Reloads the settings.
  ///
  /// - Parameter new: The new settings, or `nil` to keep the current ones.
  func reload(_ new: KioskSettings? = nil) throws {
    settings = new ?? settings
    if let transaction = Kiosk.opening(settings: settings, state: try ledger.state(), at: now) {
      try ledger.commit(transaction)
    }
    core.adopt(settings, state: try ledger.state())
    commandFilter.adopt(settings)
  }

  func pass(_ duration: Duration, day: Int? = nil) {
    sinceTimestamp += duration
    let milliseconds = sinceTimestamp.milliseconds
    sinceTimestamp -= .milliseconds(milliseconds)
    now = Moment(
      timestamp: Timestamp(milliseconds: now.timestamp.milliseconds + milliseconds),
      day: day ?? now.day, uptime: now.uptime + duration, evidence: now.evidence)
  }

  /// Cuts the power of the computer, and starts the computer and the kiosk after a time.
  ///
  /// - Parameters:
  ///   - hasClock: Whether the computer has a hardware clock. Otherwise its clock has stood still,
  ///     and nothing confirms it.
  ///   - behind: The seconds by which its clock is set back at the start.
  func cutPower(for time: Duration, hasClock: Bool, behind: Int64 = 0) throws {
    let step = (hasClock ? time.milliseconds : 0) - behind * 1_000
    standstill += time.milliseconds - step
    now = Moment(
      timestamp: Timestamp(milliseconds: now.timestamp.milliseconds + step),
      day: now.day, uptime: .zero,
      evidence: ClockEvidence(boot: (now.evidence.boot ?? 0) + 1, isConfirmed: hasClock))
    try restart()
  }

  /// Makes the clock one that nothing confirms.
  ///
  /// - Parameter boot: The number of this start of the computer, or `nil` to keep it.
  func losesItsClock(boot: Int? = nil) {
    now = Moment(
      timestamp: now.timestamp, day: now.day, uptime: now.uptime,
      evidence: ClockEvidence(boot: boot ?? now.evidence.boot, isConfirmed: false))
  }

  /// Compares the clocks, as the controller does between batches.
  func updateClock() { core.updateClock(at: now) }

  /// Sets the clock right by the time of the network.
  func receiveNetworkTime() {
    now = Moment(
      timestamp: Timestamp(milliseconds: now.timestamp.milliseconds + standstill),
      day: now.day, uptime: now.uptime,
      evidence: ClockEvidence(boot: now.evidence.boot, isConfirmed: true))
    standstill = 0
  }

  /// Sends a person's statement that the clock is right.
  func releaseClock() throws {
    try receive(
      .message(#"{"sensor":"clock","decision":"release","word":"a watch"}"#, on: "job/anna"))
  }

  /// Sets the clock.
  func setClock(ahead seconds: Int64) {
    now = Moment(
      timestamp: Timestamp(milliseconds: now.timestamp.milliseconds + seconds * 1000),
      day: now.day, uptime: now.uptime, evidence: now.evidence)
  }

  var stock: FruitAmounts { core.juiceMaker.stock }

  /// The changed retained topics of the last batch with their payloads, in order.
  var reports: [String] {
    changes.map {
      "\($0.topic.dropFirst("kiosk/k1/".count)) \(String(decoding: $0.payload, as: UTF8.self))"
    }
  }
}

extension KioskSettings {
  static func test(
    language: Language = .english, orders: Orders = Orders(), menu: Menu = .standard,
    low: Int = 5
  ) -> KioskSettings {
    func all(_ amount: Int) -> FruitAmounts {
      FruitAmounts(menu.fruits.map { (fruit: $0.id, amount: amount) })
    }
    return KioskSettings(
      topics: KioskTopics(root: "kiosk", kiosk: "k1"), language: language, menu: menu,
      stock: Stock(initial: all(10), capacities: all(100), lowMarks: all(low)), orders: orders,
      version: "test")
  }
}

extension Delivery {
  static func order(
    _ payload: String, panel: String = "p1", packetID: UInt16 = 0, redelivered: Bool = false,
    retain: Bool = false, responseTopic: String? = nil, correlationData: [UInt8]? = nil
  ) -> Delivery {
    Delivery(
      message: Message(
        topic: "kiosk/k1/order/\(panel)", payload: Array(payload.utf8), retain: retain,
        responseTopic: responseTopic, correlationData: correlationData),
      packetID: packetID, isRedelivery: redelivered)
  }

  static func restock(_ payload: String, packetID: UInt16 = 0, retain: Bool = false) -> Delivery {
    message(payload, on: "restock/dashboard", packetID: packetID, retain: retain)
  }

  static func service(_ payload: String, packetID: UInt16 = 0, retain: Bool = false) -> Delivery {
    message(payload, on: "service/dashboard", packetID: packetID, retain: retain)
  }

  /// - Parameter topic: A topic below the kiosk's, such as `job/anna`.
  static func message(
    _ payload: String, on topic: String, packetID: UInt16 = 0, retain: Bool = false
  ) -> Delivery {
    Delivery(
      message: Message(topic: "kiosk/k1/\(topic)", payload: Array(payload.utf8), retain: retain),
      packetID: packetID)
  }
}

extension Decision {
  /// The answers to senders, in order.
  var results: [CommandResult] {
    get throws {
      try answers.map { try CommandResult(payload: $0.payload) }
    }
  }

  var statuses: [CommandResult.Status] { get throws { try results.map(\.status) } }
  var reasons: [RejectionReason?] { get throws { try results.map(\.reason) } }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
