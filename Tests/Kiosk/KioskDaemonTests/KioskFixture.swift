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

/// A kiosk with its broker and its clients, all on one executor and one clock, so that the same
/// calls produce the same schedule.
final class KioskFixture {
  let broker: MemoryBroker
  let executor = ManualExecutor()
  var settings: KioskSettings
  /// The maximum number of deliveries per batch of the next kiosk.
  var batchLimit: Int?
  let topics: KioskTopics
  /// The error of the kiosk's wall clock.
  private let clockError = ClockError()
  private let folder: URL
  private var kiosk: (client: MemoryClient, controller: Controller, task: Task<Void, Never>)?
  private var crashTrigger: TestClient?
  private let observed = Observer()

  init(
    behavior: MemoryBroker.Behavior = .mosquitto, _ adjust: (inout KioskSettings) -> Void = { _ in }
  ) throws {
    broker = MemoryBroker(behavior: behavior)
    topics = KioskTopics(root: "kiosk", kiosk: "k1")
    func all(_ amount: Int) -> FruitAmounts {
      FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: amount) })
    }
    settings = KioskSettings(
      topics: topics,
      stock: KioskSettings.Stock(initial: all(10), capacities: all(100), lowMarks: all(5)),
      version: "test")
    adjust(&settings)
    folder = FileManager.default.temporaryDirectory
      .appending(path: "juice-kiosk-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    kiosk?.task.cancel()
    executor.run()
    try? FileManager.default.removeItem(at: folder)
  }

  var ledgerPath: String { folder.appending(path: "ledger.sqlite").path() }

  /// Returns the wall clock time: 2026-11-21T09:00:00Z plus the time of the broker's clock.
  static func now(_ broker: MemoryBroker) -> Timestamp {
    Timestamp(milliseconds: 1_795_251_600_000 + broker.now.milliseconds)
  }

  // MARK: The kiosk

  var controller: Controller? { kiosk?.controller }

  /// The task of the running kiosk. Cancelling it has the effect of SIGTERM.
  var task: Task<Void, Never>? { kiosk?.task }

  /// The conditions reported after each turn of the cycle.
  var conditions: [KioskCondition] { observed.conditions.withLock(\.self) }

  /// Starts a kiosk.
  ///
  /// - Parameter topic: The process crashes as soon as a client receives a message on this topic.
  func startKiosk(crashingOn topic: String? = nil) throws {
    let client = broker.client(on: executor, batchLimit: batchLimit)
    let process = Mutex<Task<Void, Never>?>(nil)
    if let topic {
      crashTrigger = try testClient("witness", subscribedTo: [topic], on: ImmediateExecutor()) {
        [broker] in
        broker.kill(client)
        process.withLock { $0?.cancel() }
      }
    }
    let clock = KioskClock { [broker, clockError] in
      let error = clockError.seconds.withLock(\.self) * 1000
      let now = Timestamp(milliseconds: Self.now(broker).milliseconds + error)
      return Moment(
        timestamp: now, day: Int(now.milliseconds / 86_400_000), uptime: broker.now)
    }
    let controller = try Controller(
      settings: settings, broker: client, ledger: KioskLedger(path: ledgerPath), clock: clock,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task(executorPreference: executor) { [observed] in
      await controller.run(clientID: "kiosk") { condition in
        observed.conditions.withLock { $0.append(condition) }
      }
    }
    kiosk = (client, controller, task)
    process.withLock { $0 = task }
    executor.run()
  }

  /// Reloads the settings, as SIGHUP does.
  ///
  /// - Returns: The outcome, which is set when the reload has ended.
  @discardableResult
  func reload(_ adjust: (inout KioskSettings) throws -> Void) rethrows -> Outcome {
    try adjust(&settings)
    let outcome = Outcome()
    if let controller = kiosk?.controller {
      Task(executorPreference: executor) { [settings] in
        let result = await controller.reload(settings)
        outcome.result.withLock { $0 = result }
      }
    }
    return outcome
  }

  /// Stops the kiosk, as SIGTERM does.
  func stopKiosk() {
    kiosk?.task.cancel()
    executor.run()
    // The disconnect has a time limit.
    broker.advance(by: .seconds(2))
    executor.run()
    kiosk = nil
  }

  /// Crashes the kiosk, as `kill -9` does: the process has no effect afterwards.
  func crashKiosk() {
    if let kiosk {
      broker.kill(kiosk.client)
      kiosk.task.cancel()
    }
    kiosk = nil
    executor.run()
  }

  /// Breaks the kiosk's connection, and prevents a new one for the given time.
  func crashConnection(for duration: Duration = .zero) {
    broker.cut("kiosk")
    executor.run()
    if duration > .zero {
      broker.refuseLogins()
      advance(by: duration)
      broker.refuseLogins(false)
    }
  }

  /// Sets the kiosk's wall clock.
  func setClock(ahead seconds: Int64) { clockError.seconds.withLock { $0 = seconds } }

  func advance(by duration: Duration) {
    let end = broker.now + duration
    while let next = broker.nextDeadline, next <= end {
      broker.advance(by: max(next - broker.now, .zero))
      executor.run()
    }
    broker.advance(by: end - broker.now)
    executor.run()
  }

  // MARK: The clients

  func testClient(
    _ name: String, subscribedTo filters: [String] = [],
    on executor: (any SerialExecutor & TaskExecutor)? = nil,
    then react: @escaping @Sendable () -> Void = {}
  ) throws -> TestClient {
    let executor: any SerialExecutor & TaskExecutor = executor ?? self.executor
    let testClient = TestClient(client: broker.client(on: executor))
    let options = SessionOptions(
      clientID: name, subscriptions: try filters.map { try TopicFilter($0) })
    testClient.task = Task(executorPreference: executor) {
      [client = testClient.client, inbox = testClient.inbox] in
      await client.connect(options)
      while let event = await client.nextEvent(timeout: nil) {
        if case .deliveries(let deliveries) = event {
          inbox.withLock { $0 += deliveries.map(\.message) }
          react()
        }
        await client.acknowledge()
      }
    }
    self.executor.run()
    return testClient
  }

  /// Returns a panel that receives its own results.
  func panel(_ name: String = "p1") throws -> TestClient {
    try testClient(name, subscribedTo: ["kiosk/k1/order/\(name)/result"])
  }

  func publish(
    _ payload: String, to topic: String, by testClient: TestClient, retain: Bool = false,
    responseTopic: String? = nil, correlationData: [UInt8]? = nil
  ) {
    let message = Message(
      topic: topic, payload: Array(payload.utf8), retain: retain, responseTopic: responseTopic,
      correlationData: correlationData)
    Task(executorPreference: executor) { [client = testClient.client] in
      _ = try await client.publish([message])
      await client.acknowledge()
    }
    executor.run()
  }

  /// Returns the payload that a display reads on a retained topic.
  func retained(_ topic: String) -> String? {
    broker.retained("kiosk/k1/\(topic)").map { String(decoding: $0.payload, as: UTF8.self) }
  }

  /// Reads the ledger, as another process may.
  func ledger<Value>(_ read: (KioskLedger) throws -> Value) throws -> Value {
    try read(try KioskLedger(path: ledgerPath, readOnly: true))
  }
}

/// Runs each job in the call that enqueues it. The caller continues when the job has ended.
final class ImmediateExecutor: SerialExecutor, TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    UnownedJob(job).runSynchronously(
      isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(self) }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(self) }
}

final class Outcome: Sendable {
  fileprivate let result = Mutex<Controller.ReloadOutcome?>(nil)

  /// The outcome, or `nil` if the reload has not ended.
  var now: Controller.ReloadOutcome? { result.withLock(\.self) }
}

private final class ClockError: Sendable {
  let seconds = Mutex<Int64>(0)
}

private final class Observer: Sendable {
  let conditions = Mutex<[KioskCondition]>([])
}

/// A client of the broker, with all messages that it has received.
final class TestClient {
  let client: MemoryClient
  let inbox = SharedInbox()
  var task: Task<Void, Never>?

  init(client: MemoryClient) { self.client = client }

  deinit { task?.cancel() }

  var messages: [Message] { inbox.withLock(\.self) }

  /// Returns the messages received since the last call.
  func take() -> [Message] {
    inbox.withLock { inbox in
      defer { inbox = [] }
      return inbox
    }
  }

  func takeResults() throws -> [CommandResult] {
    try take().map { try CommandResult(payload: $0.payload) }
  }
}

/// A list of messages that the executor appends to and the test reads.
final class SharedInbox: Sendable {
  private let messages = Mutex<[Message]>([])

  func withLock<Result>(_ body: (inout sending [Message]) -> sending Result) -> Result {
    messages.withLock(body)
  }
}
