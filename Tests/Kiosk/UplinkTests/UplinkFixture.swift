import Foundation
import GRDB
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import Logging
import MessageBroker
import Synchronization
import Testing

@testable import KioskDaemon

/// A ledger, an upstream broker and an archive, all on one executor and one clock.
final class UplinkFixture {
  let broker = MemoryBroker(reconnectDelays: .seconds(1) ... .seconds(4))
  let executor = ManualExecutor()
  let topics = KioskTopics(root: "chain", kiosk: "k1")
  let uplinkProgress = UplinkProgress()
  let menus = MenuMailbox(version: 0)
  let ledger: KioskLedger
  /// The messages received by the archive, in the order of their arrival.
  let received = MessageRecorder()
  let log = LogRecorder()
  private let folder: URL
  private var uplink: (client: MemoryClient, task: Task<Void, Never>)?
  private var archive: MemoryClient?
  private var seq = 0

  init() throws {
    folder = FileManager.default.temporaryDirectory
      .appending(path: "uplink-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    ledger = try KioskLedger(path: folder.appending(path: "ledger.sqlite").path())
    listen()
  }

  deinit {
    uplink?.task.cancel()
    executor.run()
    try? FileManager.default.removeItem(at: folder)
  }

  var epoch: Int { get throws { try ledger.state().epoch } }

  /// Commits entries without a notification of the uplink.
  func record(_ count: Int) throws {
    var transaction = LedgerTransaction()
    for _ in 0..<count {
      seq += 1
      transaction.append(
        .init(
          LedgerRow(
            LedgerEntry(
              seq: seq, epoch: try epoch, at: Timestamp(milliseconds: Int64(seq)), source: nil,
              id: nil, outcome: .service(.open)))))
    }
    transaction.uplinked = uplinkProgress.unsaved()
    try ledger.commit(transaction)
    if let uplinked = transaction.uplinked { uplinkProgress.saved(through: uplinked) }
    uplinkProgress.recorded(through: seq)
  }

  /// Renames the table of the entries, so that the uplink cannot read them.
  func hideEntries() throws {
    let database = try DatabaseQueue(path: folder.appending(path: "ledger.sqlite").path())
    try database.write { try $0.execute(sql: "ALTER TABLE entry RENAME TO hidden") }
    try database.close()
  }

  /// Starts the uplink.
  ///
  /// - Parameter random: Returns a number from 0 to 1. With 0 the client identifier is `uplink-0`.
  func start(pace: Int = 1000, random: @escaping @Sendable () -> Double = { 0 }) throws {
    let client = broker.client(on: executor)
    let clock = KioskClock { [broker] in
      Moment(timestamp: Timestamp(milliseconds: 0), day: 0, uptime: broker.now)
    }
    let path = folder.appending(path: "ledger.sqlite").path()
    let uplink = try Uplink(
      settings: UplinkSettings(topics: topics, clientID: "uplink", pace: pace), broker: client,
      ledger: KioskLedger(path: path, readOnly: true), uplinkProgress: uplinkProgress, menus: menus,
      clock: clock, random: random,
      logger: Logger(label: "test") { [log] _ in Recorder(recorder: log) })
    let task = Task(executorPreference: executor) { await uplink.run() }
    self.uplink = (client, task)
    executor.run()
  }

  /// Crashes the uplink, as `kill -9` does.
  func crash() {
    if let uplink {
      broker.kill(uplink.client)
      uplink.task.cancel()
    }
    uplink = nil
    executor.run()
  }

  /// Stops the uplink, as SIGTERM does.
  func stop() {
    uplink?.task.cancel()
    executor.run()
    advance(by: .seconds(1))
    uplink = nil
  }

  func advance(by duration: Duration) {
    let end = broker.now + duration
    while let next = broker.nextDeadline, next <= end {
      broker.advance(by: max(next - broker.now, .zero))
      executor.run()
    }
    broker.advance(by: max(end - broker.now, .zero))
    executor.run()
  }

  /// Advances the clock until a condition is true.
  ///
  /// - Returns: The time at which it became true.
  func advance(
    within limit: Duration = .seconds(120), until condition: () throws -> Bool
  ) throws -> Duration {
    let end = broker.now + limit
    while try !condition() {
      try #require(broker.now < end)
      advance(by: .milliseconds(100))
    }
    return broker.now
  }

  /// Connects an archive that receives all messages in a persistent session.
  private func listen() {
    let client = broker.client(on: executor)
    archive = client
    let options = SessionOptions(
      clientID: "archive", subscriptions: [TopicFilter(unchecked: "chain/#")],
      cleanStart: false, sessionExpiry: .seconds(1_000_000))
    Task(executorPreference: executor) { [received] in
      await client.connect(options)
      while let event = await client.nextEvent(timeout: nil) {
        if case .deliveries(let deliveries) = event { received.add(deliveries.map(\.message)) }
        await client.acknowledge()
      }
    }
    executor.run()
  }

  func ask(_ payload: [UInt8], as name: Request.ID = "archive", retain: Bool = false) {
    send(
      Message(topic: topics.replay(by: name), payload: payload, qos: .atMostOnce, retain: retain))
  }

  /// Publishes a message as the archive.
  func send(_ message: Message) { send([message]) }

  func send(_ messages: [Message]) {
    Task(executorPreference: executor) { [archive] in
      _ = try await archive?.publish(messages)
      await archive?.acknowledge()
    }
    executor.run()
    advance(by: .seconds(1))
  }

  /// The results that the archive has received.
  func results(for name: Request.ID = "archive") throws -> [ReplayResult] {
    try received.messages.filter { $0.topic == topics.replayResult(for: name) }
      .map { try ReplayResult(payload: $0.payload) }
  }

  /// The numbers of the received entries, in the order of their arrival.
  var entries: [Int] {
    get throws {
      try received.messages.filter { $0.topic == topics.events }
        .map { try LedgerEntry(payload: $0.payload).seq }
    }
  }
}

final class MessageRecorder: Sendable {
  private let all = Mutex<[Message]>([])

  var messages: [Message] { all.withLock(\.self) }
  func add(_ messages: [Message]) { all.withLock { $0 += messages } }
  func clear() { all.withLock { $0 = [] } }
}

final class LogRecorder: Sendable {
  private let all = Mutex<[String]>([])

  var lines: [String] { all.withLock(\.self) }
  func add(_ line: String) { all.withLock { $0.append(line) } }
}

private struct Recorder: LogHandler {
  let recorder: LogRecorder
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.notice

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { recorder.add("\(event.message)") }
}
