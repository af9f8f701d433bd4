import Foundation
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import Logging
import MessageBroker
import Synchronization

extension Operation {
  private static let now = Moment(
    timestamp: Timestamp(milliseconds: 1_795_251_600_000), day: 20_778, uptime: .zero)

  private static let settings: KioskSettings = {
    let fruits = Menu.standard.fruits
    func each(_ amount: Int) -> FruitAmounts {
      FruitAmounts(fruits.map { (fruit: $0.id, amount: amount) })
    }
    var settings = KioskSettings(
      topics: KioskTopics(root: "kiosk", kiosk: "k1"),
      stock: .init(initial: each(1_000_000), capacities: each(1_000_000), lowMarks: each(5)),
      version: "1")
    settings.orders.maximumPerSecond = 0
    return settings
  }()

  /// Orders of eight panels for all juices, as the broker delivers them.
  private static func deliveries(_ count: Int, from first: Int = 1) -> [Delivery] {
    let juices = Menu.standard.juices
    return (first..<first + count).map { number in
      Delivery(
        message: Message(
          topic: "kiosk/k1/order/panel\(number % 8)",
          text: #"{"id":"p\#(1_000_000 + number)","juice":"\#(juices[number % juices.count].id)"}"#),
        packetID: UInt16(truncatingIfNeeded: number))
    }
  }

  /// Decides on a batch: from the deliveries to the transaction and the messages.
  static func decision(on count: Int) -> Operation {
    var state = LedgerState()
    state.stock = settings.stock.initial
    let core = Kiosk(settings: settings, state: state)
    let commandFilter = CommandFilter(settings: settings)
    let batch = deliveries(count)
    return Operation(name: "decide-\(count)", units: count) {
      var core = core.copy()
      var (commandFilter, tracker) = (commandFilter, DeliveryTracker())
      _ = core.decide(
        commandFilter.admit(batch, tracker: &tracker, at: now), repeats: [:], at: now)
    }
  }

  /// Rejects a batch of one panel that has exceeded its rate limit.
  static func rejection(of count: Int) -> Operation {
    var settings = settings
    settings.orders.maximumPerSecond = 1
    let core = Kiosk(settings: settings, state: LedgerState())
    var commandFilter = CommandFilter(settings: settings)
    func flood(_ numbers: ClosedRange<Int>) -> [Delivery] {
      numbers.map { number in
        Delivery(
          message: Message(
            topic: "kiosk/k1/order/flood",
            text: #"{"id":"\#(number)","juice":"kiwi"}"#),
          packetID: UInt16(truncatingIfNeeded: number))
      }
    }
    var tracker = DeliveryTracker()
    _ = commandFilter.admit(flood(1...1000), tracker: &tracker, at: now)
    let batch = flood(1001...1000 + count)
    return Operation(name: "reject-\(count)", units: count) {
      var core = core.copy()
      var (commandFilter, tracker) = (commandFilter, tracker)
      _ = core.decide(
        commandFilter.admit(batch, tracker: &tracker, at: now), repeats: [:], at: now)
    }
  }

  /// Commits a decision to the ledger, without the instructions of the kernel.
  static func commit(of count: Int) throws -> Operation {
    let ledger = try newLedger()
    if let opening = Kiosk.opening(settings: settings, state: try ledger.state(), at: now) {
      try ledger.commit(opening)
    }
    var core = Kiosk(settings: settings, state: try ledger.state())
    var (commandFilter, tracker) = (CommandFilter(settings: settings), DeliveryTracker())
    let transactions = (0..<2).map { run in
      let batch = deliveries(count, from: 1 + run * count)
      let parsedDeliveries = commandFilter.admit(batch, tracker: &tracker, at: now)
      return core.decide(parsedDeliveries, repeats: [:], at: now).transaction
    }
    var next = transactions[...]
    return Operation(name: "commit-\(count)", units: count) {
      if let transaction = next.popFirst() { _ = try? ledger.commit(transaction) }
    }
  }

  /// Decides and commits orders that a machine makes: for each the order, `started` and `done`.
  static func jobs(_ count: Int) throws -> Operation {
    var settings = settings
    settings.machines = [.init(name: "bar")]
    let ledger = try newLedger()
    if let opening = Kiosk.opening(settings: settings, state: try ledger.state(), at: now) {
      try ledger.commit(opening)
    }
    var core = Kiosk(settings: settings, state: try ledger.state())
    var (commandFilter, tracker) = (CommandFilter(settings: settings), DeliveryTracker())
    func receive(_ topic: String, _ text: String) {
      let message = Message(topic: "kiosk/k1/\(topic)", text: text)
      let parsed = commandFilter.admit(
        [Delivery(message: message, packetID: 1)], tracker: &tracker, at: now)
      let decision = core.decide(parsed, repeats: [:], at: now)
      do { try ledger.commit(decision.transaction) } catch { preconditionFailure("\(error)") }
    }
    receive("machine/bar/status", "online")
    return Operation(name: "job", units: count) {
      for _ in 0..<count {
        let order = core.seq + 1
        receive("order/panel1", #"{"id":"p\#(1_000_000 + order)","juice":"kiwi"}"#)
        receive("made/bar", #"{"job":\#(order),"status":"started"}"#)
        receive("made/bar", #"{"job":\#(order),"status":"done"}"#)
        precondition(core.jobs.open.isEmpty && core.seq == order + 1, "orders that are not made")
      }
    }
  }

  /// Makes orders one after another with a running kiosk. The count includes the panel, and the
  /// broker, which is in memory.
  static func orders(_ count: Int) throws -> Operation {
    let (broker, executor) = (MemoryBroker(), ManualExecutor())
    let clock = KioskClock {
      Moment(
        timestamp: Timestamp(
          milliseconds: now.timestamp.milliseconds + broker.now.milliseconds), day: now.day,
        uptime: broker.now)
    }
    let controller = try Controller(
      settings: settings, broker: broker.client(on: executor), ledger: newLedger(), clock: clock,
      logger: Logger(label: "kiosk") { _ in SwiftLogNoOpLogHandler() })
    let panel = broker.client(on: executor)
    let answers = Answers()
    Task(executorPreference: executor) { await controller.run(clientID: "kiosk") }
    Task(executorPreference: executor) {
      let results = TopicFilter(unchecked: "kiosk/k1/order/+/result")
      await panel.connect(SessionOptions(clientID: "panel", subscriptions: [results]))
      while let event = await panel.nextEvent(timeout: nil) {
        guard case .deliveries(let deliveries) = event else { continue }
        answers.count.withLock { $0 += deliveries.count }
        await panel.acknowledge()
      }
    }
    executor.run()
    var batch = deliveries(2 * count)[...]
    var sent = 0
    return Operation(name: "order", units: count) {
      for order in batch.prefix(count) {
        Task(executorPreference: executor) { _ = try? await panel.publish([order.message]) }
        executor.run()
        broker.advance(by: .milliseconds(10))
        executor.run()
      }
      batch = batch.dropFirst(count)
      sent += count
      precondition(answers.count.withLock(\.self) == sent, "orders without an answer")
    }
  }

  private final class Answers: Sendable {
    let count = Mutex(0)
  }

  /// The folders of the ledgers.
  private static let folders = Mutex<[URL]>([])

  static func removeLedgers() {
    for folder in folders.withLock(\.self) { try? FileManager.default.removeItem(at: folder) }
  }

  private static func newLedger() throws -> KioskLedger {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "juice-instructions-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The kiosk takes no orders if its ledger is removed.
    folders.withLock { $0.append(folder) }
    return try KioskLedger(path: folder.appending(path: "ledger.sqlite").path)
  }
}
