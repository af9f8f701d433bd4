import CommandLineSupport
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// A client for the duration of one command: sends requests and receives their results.
struct KioskClient {
  private let broker: any BrokerClient
  private let topics: KioskTopics
  private let source: Source

  /// Connects and waits until the connection is online.
  ///
  /// - Parameters:
  ///   - source: The sender of the requests, which determines their topic.
  ///   - timeout: Maximum time until the connection is online.
  init(
    _ configuration: KioskConfiguration, as source: Source, timeout: Duration
  ) async throws(Failure) {
    topics = configuration.topics
    self.source = source
    broker = try configuration.makeBroker()
    await broker.connect(
      .forCommand(source.kind.rawValue, subscribingTo: [topics.result(for: source)]))
    let deadline = ContinuousClock.now + timeout
    while true {
      switch await broker.nextEvent(timeout: deadline - .now) {
      case .online: return
      case .deliveries, .confirmed, .updated, .refused, .sessionBegan: await broker.acknowledge()
      case .offline(let error):
        await broker.disconnect(grace: .zero)
        throw error.failure
      case nil:
        await broker.disconnect(grace: .zero)
        // Some brokers without MQTT 5 do not answer.
        let hint =
          configuration.broker.protocol == .v5
          ? "; if it supports only MQTT 3.1.1, set broker.protocol: 3.1.1" : ""
        throw .unavailable("the broker has not answered in time\(hint)")
      }
    }
  }

  /// Sends a request and waits for its final result, also while the customer pays and a machine makes
  /// the juice. After a lost connection the client sends the request again with the same id.
  ///
  /// - Parameters:
  ///   - timeout: Maximum time until the result arrives.
  ///   - accepted: Receives the results before the last one: the customer must pay, or a machine
  ///     will make the juice.
  func send(
    _ request: Request, timeout: Duration, accepted: (CommandResult) -> Void = { _ in }
  ) async throws(Failure) -> CommandResult {
    var last: CommandResult.Status?
    let deadline = ContinuousClock.now + timeout
    await publish(request)
    while true {
      switch await broker.nextEvent(timeout: deadline - .now) {
      case .deliveries(let deliveries):
        await broker.acknowledge()
        // Other clients may publish other payloads on the topic of the results. The timeout reports
        // a missing result.
        let results = deliveries.compactMap { try? CommandResult(payload: $0.message.payload) }
        guard let result = results.last(where: { $0.id == request.id }) else { continue }
        guard result.status == .accepted || result.status == .awaitingPayment else {
          return result
        }
        if result.status != last { accepted(result) }
        last = result.status
      case .online: await publish(request)
      case .refused(let topics):
        guard let (topic, reason) = topics.first else { continue }
        throw BrokerError.publishRefused(topic: topic, reason: reason).failure
      case .offline, .confirmed, .updated, .sessionBegan: continue
      case nil where last != nil:
        // The same id would only be answered that the request is accepted.
        if case .charge = request.command {
          throw .tryAgain(
            "the payment device has not answered yet: see juice-kiosk report --charges")
        }
        let id = request.id.map { " --id \($0)" } ?? ""
        throw .tryAgain(
          "the \(last == .accepted ? "machine" : "payment") is not done yet: repeat the command "
            + "with\(id), or use a longer --timeout")
      case nil:
        throw .tryAgain("the kiosk has not answered in time: check that it runs, and its kiosk.id")
      }
    }
  }

  func disconnect() async { await broker.disconnect(grace: .seconds(1)) }

  /// Waits until the kiosk's status is `online`.
  static func waitForKiosk(
    _ configuration: KioskConfiguration, timeout: Duration
  ) async throws(Failure) {
    let broker = try configuration.makeBroker()
    await broker.connect(.forCommand("status", subscribingTo: [configuration.topics.status]))
    let deadline = ContinuousClock.now + timeout
    let online = Array(KioskStatus.online.rawValue.utf8)
    while let event = await broker.nextEvent(timeout: deadline - .now) {
      await broker.acknowledge()
      if case .deliveries(let deliveries) = event, deliveries.last?.message.payload == online {
        return await broker.disconnect(grace: .seconds(1))
      }
    }
    await broker.disconnect(grace: .zero)
    throw .tryAgain("the kiosk was not online in time")
  }

  private func publish(_ request: Request) async {
    // The request is valid. Without a connection the broker client drops it, and `send` publishes
    // it again when the connection is online.
    _ = try? await broker.publish([
      Message(topic: topics.command(from: source), payload: request.payload)
    ])
    await broker.acknowledge()
  }
}

extension SessionOptions {
  /// Returns the options of a session for the duration of one command.
  ///
  /// - Parameters:
  ///   - purpose: A word for the client identifier.
  ///   - topics: Topics or topic filters to subscribe to.
  static func forCommand(_ purpose: String, subscribingTo topics: [String]) -> SessionOptions {
    SessionOptions(
      clientID: "juice-kiosk-\(purpose)-\(UInt32.random(in: 0 ... .max))",
      subscriptions: topics.map(TopicFilter.init(unchecked:)))
  }
}
