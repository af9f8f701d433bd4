import KioskConfiguration
import KioskMessages
import MessageBroker
import Program

/// A connection of the doctor's own, with the kiosk's account and everything that the kiosk
/// subscribes to: what is kept there, and what of its own words comes round.
struct Listening {
  /// Subscriptions that the broker refused.
  private(set) var refused: [TopicFilter] = []
  private(set) var heard = Heard()
  private let broker: any BrokerClient

  struct Heard {
    /// By topic, what the broker had kept.
    var retained: [String: [UInt8]] = [:]
    /// Topics on which anything came.
    var topics: Set<String> = []

    mutating func note(_ deliveries: [Delivery]) {
      for message in deliveries.map(\.message) {
        topics.insert(message.topic)
        if message.retain { retained[message.topic] = message.payload }
      }
    }
  }

  /// How long a broker that has confirmed a message may take to deliver it too.
  private static let patience = Duration.seconds(1)

  /// Connects and subscribes; what is refused is left out.
  ///
  /// - Parameter broker: makes a new connection.
  init(
    to filters: [TopicFilter], timeout: Duration,
    _ makeBroker: () throws(Failure) -> any BrokerClient
  ) async throws(Failure) {
    let deadline = ContinuousClock.now + timeout
    var filters = filters
    var connection = try makeBroker()
    await connection.connect(.forCommand("doctor", hearing: filters.map(\.text)))
    waiting: while true {
      switch await connection.nextEvent(timeout: deadline - .now) {
      case .online: break waiting
      case .offline(.subscriptionRefused(let text)):
        await connection.disconnect(grace: .zero)
        refused += filters.filter { $0.text == text }
        filters.removeAll { $0.text == text }
        connection = try makeBroker()
        await connection.connect(.forCommand("doctor", hearing: filters.map(\.text)))
      case .offline(let error):
        await connection.disconnect(grace: .zero)
        throw Failure(error)
      case .deliveries(let deliveries):
        heard.note(deliveries)
        await connection.settle()
      case .confirmed, .updated, .refused: continue
      case nil:
        await connection.disconnect(grace: .zero)
        throw .unavailable("the broker has not granted the subscriptions in time")
      }
    }
    broker = connection
  }

  /// Publishes, not retained, and waits for it to come round. Whatever the broker had to deliver
  /// before is here when it has.
  mutating func hearsItself(on topic: String, saying text: String) async -> Bool {
    let message = Message(topic: topic, text: text)
    guard let serial = try? await broker.publish([message]) else { return false }
    await broker.settle()
    var deadline: ContinuousClock.Instant?
    while true {
      let now = ContinuousClock.now
      // Long enough for a broker that is slow to answer at all.
      let timeout = deadline.map { $0 - now } ?? .seconds(10)
      guard let event = await broker.nextEvent(timeout: timeout) else { return false }
      switch event {
      case .deliveries(let deliveries):
        heard.note(deliveries)
        await broker.settle()
        let isHeard = deliveries.contains {
          $0.message.topic == topic && $0.message.payload == message.payload
        }
        if isHeard { return true }
      case .confirmed, .online, .updated, .refused: break
      case .offline: return false
      }
      if deadline == nil, await broker.confirmed >= serial { deadline = .now + Self.patience }
    }
  }

  /// Lets somebody else publish, not retained, and waits for it to arrive.
  mutating func hears(
    _ sender: KioskConfiguration, on topic: String, saying text: String, timeout: Duration
  ) async throws(Failure) -> Bool {
    let voice = try sender.makeBroker()
    await voice.connect(.forCommand("doctor-sender", hearing: []))
    switch await voice.nextEvent(timeout: timeout) {
    case .online: break
    case .offline(let error):
      await voice.disconnect(grace: .zero)
      throw Failure(error)
    default:
      await voice.disconnect(grace: .zero)
      throw .unavailable("the broker has not answered in time")
    }
    _ = try? await voice.publish([Message(topic: topic, text: text)])
    await voice.settle()
    // Returns when the broker has it.
    await voice.disconnect(grace: timeout)
    let deadline = ContinuousClock.now + Self.patience
    while !heard.topics.contains(topic) {
      guard let event = await broker.nextEvent(timeout: deadline - .now) else { return false }
      if case .deliveries(let deliveries) = event { heard.note(deliveries) }
      await broker.settle()
    }
    return true
  }

  func end() async { await broker.disconnect(grace: .seconds(1)) }
}
