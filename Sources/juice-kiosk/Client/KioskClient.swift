import KioskConfiguration
import KioskMessages
import MessageBroker

/// A panel or an operator for the length of one command: sends requests, waits for the results.
struct KioskClient {
  private let broker: any MessageBroker
  private let topics: KioskTopics
  private let source: Source

  /// Connects and waits until it can send.
  ///
  /// - Parameter deadline: how long to wait for the broker.
  init(
    _ configuration: KioskConfiguration, as source: Source, timeout: Duration
  ) async throws(Failure) {
    broker = try configuration.makeBroker()
    topics = configuration.topics
    self.source = source
    await broker.connect(
      SessionOptions(
        clientID: "juice-kiosk-\(source.kind.rawValue)-\(UInt32.random(in: 0 ... .max))",
        subscriptions: [topics.result(for: source)].compactMap { try? TopicFilter($0) }))
    let deadline = ContinuousClock.now + timeout
    while true {
      switch await broker.nextEvent(timeout: deadline - .now) {
      case .online: return
      case .offline(let error): throw Failure(error)
      case .deliveries, .confirmed: await broker.settle()
      case nil:
        if Task.isCancelled { throw .tryAgain("interrupted") }
        throw .unavailable("the broker has not answered in time")
      }
    }
  }

  /// Sends a request and waits for its result; sends it again, under the same id, if the connection
  /// is lost in between.
  func send(_ request: Request, timeout: Duration) async throws(Failure) -> CommandResult {
    let deadline = ContinuousClock.now + timeout
    await publish(request)
    while true {
      switch await broker.nextEvent(timeout: deadline - .now) {
      case .deliveries(let deliveries):
        await broker.settle()
        let results = deliveries.compactMap { try? CommandResult(payload: $0.message.payload) }
        if let result = results.first(where: { $0.id == request.id }) { return result }
      case .online: await publish(request)
      case .offline, .confirmed: continue
      case nil:
        throw .tryAgain("the kiosk has not answered in time: is it running, and under this id?")
      }
    }
  }

  func disconnect() async { await broker.disconnect(grace: .seconds(1)) }

  private func publish(_ request: Request) async {
    _ = try? await broker.publish([
      Message(topic: topics.command(from: source), payload: request.payload)
    ])
    await broker.settle()
  }
}
