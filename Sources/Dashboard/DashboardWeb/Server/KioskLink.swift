package import Fleet
package import JuiceDomain
package import KioskProtocol
package import Logging
package import MessageBroker
import ServiceLifecycle
import Synchronization

/// The connection to the kiosks: receives their messages and sends them commands.
package final class KioskLink: Service {
  fileprivate struct Key: Hashable {
    let topic: String
    let id: Request.ID
  }

  fileprivate struct Pending {
    let message: Message
    /// Receives each payload that arrives on the topic of the key and contains the id of the key.
    let answer: AsyncStream<[UInt8]>.Continuation
  }

  fileprivate struct State: Sendable {
    var fleet: KioskFleet
    var offline: BrokerError?
    var isOnline = false
    /// The time since which the broker is not connected, or `nil` if it is connected.
    var offlineSince: Timestamp?
    var pending: [Key: [Int: Pending]] = [:]
    var calls = 0
  }

  /// The error thrown if the broker is not connected. The message is not sent later, either.
  package struct NotSent: Error {}

  /// The sender of requests for sales, for charges and for the record of food safety.
  private static let reader: Request.ID = "dashboard"

  private let broker: any BrokerClient
  private let root: String
  private let now: @Sendable () -> Timestamp
  let answerTimeout: Duration
  let logger: Logger
  private let state: Mutex<State>
  let updates = LiveUpdates()
  let sales = SalesCache()

  /// Creates a link, which connects when `run()` is called.
  ///
  /// - Parameters:
  ///   - root: The topic levels before the id of a kiosk.
  ///   - answerTimeout: Maximum time to wait for the result of a command.
  package init(
    broker: any BrokerClient, root: String, now: @escaping @Sendable () -> Timestamp,
    answerTimeout: Duration = .seconds(5), logger: Logger
  ) {
    self.broker = broker
    self.root = root
    self.now = now
    self.answerTimeout = answerTimeout
    self.logger = logger
    state = Mutex(State(fleet: KioskFleet(root: root), offlineSince: now()))
  }

  package var fleet: KioskFleet { state.withLock { $0.fleet } }

  /// The reason why the broker is not connected, or `nil` if it is connected.
  var connectionError: BrokerError? {
    state.withLock { state in
      state.isOnline ? nil : state.offline ?? .unreachable("no answer yet")
    }
  }

  var time: Timestamp { now() }

  /// Time without a connection after which a display shows that the kiosk is out of service. Pages
  /// are updated at least every 15 seconds, so the display changes after 30 seconds at most.
  private static let displayTimeout = Duration.seconds(15)

  /// Returns whether the kiosk's stock is unknown, or its state is out of date: the outage of the
  /// broker or of the kiosk has lasted for `displayTimeout`, or that of the kiosk began at an unknown
  /// time.
  func isOutOfService(_ kiosk: KioskState) -> Bool {
    func isLong(_ since: Timestamp) -> Bool { now().since(since) >= Self.displayTimeout }
    if let since = state.withLock({ $0.offlineSince }), isLong(since) { return true }
    if kiosk.stock == nil { return true }
    return !kiosk.isOnline && kiosk.offlineSince.map(isLong) ?? true
  }

  package func run() async {
    let filters =
      KioskFleet.filters(root: root)
      + [
        "restock/+", "service/+", "settings/+", "job/+", "program/+", "\(Source.virtualPanel)",
        "\(Source.tablet)",
        "report/\(Self.reader.text)",
      ]
      .map { "\(root)/+/\($0)/result" }
    await broker.connect(
      SessionOptions(
        clientID: "juice-dashboard-\(UInt32.random(in: 0 ... .max))",
        subscriptions: filters.map(TopicFilter.init(unchecked:))))
    await cancelWhenGracefulShutdown {
      while let event = await self.broker.nextEvent(timeout: nil) { await self.handle(event) }
    }
    await broker.disconnect(grace: .seconds(1))
  }

  private func handle(_ event: BrokerEvent) async {
    switch event {
    case .online:
      logger.notice("online")
      let again = state.withLock { state in
        (state.isOnline, state.offline, state.offlineSince) = (true, nil, nil)
        return state.pending.values.flatMap(\.values).map(\.message)
      }
      // If publishing fails, the next `.online` event publishes the pending messages again.
      _ = try? await broker.publish(again)
      updates.everythingChanged()
    case .offline(let error):
      logger.warning("\(error); waiting for it")
      let now = now()
      state.withLock { state in
        (state.isOnline, state.offline) = (false, error)
        state.offlineSince = state.offlineSince ?? now
        state.fleet.disconnected()
      }
      updates.everythingChanged()
    case .deliveries(let deliveries):
      receive(deliveries.map(\.message))
    case .refused(let error): logger.warning("\(error)")
    case .confirmed, .updated, .sessionBegan: break
    }
    await broker.acknowledge()
  }

  private func receive(_ messages: [Message]) {
    let now = now()
    var changed: Set<KioskID> = []
    for message in messages {
      // Locks for each message, so that a page waits for one, not for all of them.
      state.withLock { state in
        if message.topic.hasSuffix("/result") {
          state.answer(message)
        } else if let id = state.fleet.receive(
          topic: message.topic, payload: message.payload, isRetained: message.retain, at: now)
        {
          changed.insert(id)
        }
      }
    }
    if !changed.isEmpty { updates.changed(changed) }
  }

  /// Sends a command and waits for its result.
  ///
  /// - Parameters:
  ///   - id: An id that is equal for every attempt of one command, so that the kiosk executes it once.
  ///   - sentAt: The time of the command, or `nil` for now.
  /// - Returns: The result, or `nil` if none arrived in time. The kiosk may still execute the
  ///   command, or may have executed it.
  /// - Throws: `NotSent` at once if the broker is not connected.
  package func send(
    _ command: Command, to kiosk: KioskID, as source: Source, id: Request.ID,
    sentAt: Timestamp? = nil
  ) async throws(NotSent) -> CommandResult? {
    let topics = KioskTopics(root: root, kiosk: kiosk)
    let message = Message(
      topic: topics.command(from: source),
      payload: Request(id: id, sentAt: sentAt ?? now(), command: command).payload)
    return try await send(message, answeredOn: topics.result(for: source), id: id) {
      try? CommandResult(payload: $0)
    }
  }

  /// Requests a page of the sales in a kiosk's ledger.
  ///
  /// - Returns: The page, or `nil` if none arrived in time.
  /// - Throws: `NotSent` at once if the broker is not connected.
  func ask(_ request: SalesRequest, of kiosk: KioskID) async throws(NotSent) -> SalesExtract? {
    try await ask(request.payload, request.id, of: kiosk) { try? SalesExtract(payload: $0) }
  }

  /// Requests a day of a kiosk's record of food safety; see `ask(_:of:)`.
  func ask(_ request: SafetyRequest, of kiosk: KioskID) async throws(NotSent) -> SafetyDay? {
    try await ask(request.payload, request.id, of: kiosk) { try? SafetyDay(payload: $0) }
  }

  /// Requests a page of the charges in a kiosk's ledger; see `ask(_:of:)`.
  func ask(_ request: ChargesRequest, of kiosk: KioskID) async throws(NotSent) -> ChargePage? {
    try await ask(request.payload, request.id, of: kiosk) { try? ChargePage(payload: $0) }
  }

  /// Publishes a request for a report, and waits for the first answer that `read` decodes.
  private func ask<Answer: Sendable>(
    _ request: [UInt8], _ id: Request.ID, of kiosk: KioskID,
    read: @escaping @Sendable ([UInt8]) -> Answer?
  ) async throws(NotSent) -> Answer? {
    let topics = KioskTopics(root: root, kiosk: kiosk)
    return try await send(
      Message(topic: topics.report(for: Self.reader), payload: request, qos: .atMostOnce),
      answeredOn: topics.reportResult(for: Self.reader), id: id, read: read)
  }

  /// Publishes a message and waits for the first answer that `read` decodes.
  private func send<Answer: Sendable>(
    _ message: Message, answeredOn topic: String, id: Request.ID,
    read: @escaping @Sendable ([UInt8]) -> Answer?
  ) async throws(NotSent) -> Answer? {
    let key = Key(topic: topic, id: id)
    let (answers, continuation) = AsyncStream<[UInt8]>.makeStream()
    let sent: Int? = state.withLock { state in
      guard state.isOnline else { return nil }
      state.calls += 1
      state.pending[key, default: [:]][state.calls] = Pending(
        message: message, answer: continuation)
      return state.calls
    }
    guard let call = sent else { throw NotSent() }
    defer {
      state.withLock { state in
        state.pending[key]?[call] = nil
        if state.pending[key]?.isEmpty == true { state.pending[key] = nil }
      }
    }
    // If the connection is lost meanwhile, `handle` publishes the message again on `.online`.
    // Only `handle` acknowledges a batch: see `BrokerClient.publish(_:)`.
    _ = try? await broker.publish([message])
    return await withTaskGroup(of: Answer?.self) { group in
      group.addTask {
        for await payload in answers { if let answer = read(payload) { return answer } }
        return nil
      }
      group.addTask {
        // Throws only if the task is cancelled, usually because the answer has arrived.
        try? await Task.sleep(for: self.answerTimeout)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }
}

extension KioskLink.State {
  fileprivate func answer(_ message: Message) {
    guard let json = try? JSON.parse(message.payload),
      let id = json.text("id").flatMap({ Request.ID($0) })
    else { return }
    for pending in (pending[KioskLink.Key(topic: message.topic, id: id)] ?? [:]).values {
      pending.answer.yield(message.payload)
    }
  }
}
