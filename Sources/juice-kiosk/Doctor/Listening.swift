import ConfigurationFiles
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
      case .confirmed, .updated, .refused, .sessionBegan: continue
      case nil:
        await connection.disconnect(grace: .zero)
        throw .unavailable("the broker has not granted the subscriptions in time")
      }
    }
    broker = connection
  }

  /// What comes of a message.
  enum Echo {
    case all, nothing
    /// The broker has not taken it, and says so.
    case refusal
  }

  /// Publishes, not retained, and waits for it to come round. Whatever the broker had to deliver
  /// before is here when it has.
  mutating func hears(on topic: String, saying text: String) async -> Echo {
    let message = Message(topic: topic, text: text)
    guard let serial = try? await broker.publish([message]) else { return .nothing }
    await broker.settle()
    var deadline: ContinuousClock.Instant?
    while true {
      let now = ContinuousClock.now
      // Long enough for a broker that is slow to answer at all.
      let timeout = deadline.map { $0 - now } ?? .seconds(10)
      guard let event = await broker.nextEvent(timeout: timeout) else { return .nothing }
      switch event {
      case .deliveries(let deliveries):
        heard.note(deliveries)
        await broker.settle()
        let isHeard = deliveries.contains {
          $0.message.topic == topic && $0.message.payload == message.payload
        }
        if isHeard { return .all }
      case .refused(let topics): if topics[topic] != nil { return .refusal }
      case .confirmed, .online, .updated, .sessionBegan: break
      case .offline: return .nothing
      }
      if deadline == nil, await broker.confirmed >= serial { deadline = .now + Self.patience }
    }
  }

  /// Lets somebody else publish, not retained, and waits for it to arrive.
  ///
  /// - Returns: what came of it, on each topic.
  mutating func hears(
    _ sender: KioskConfiguration, on topics: [String], saying text: String, timeout: Duration
  ) async throws(Failure) -> [Echo] {
    let voice = try sender.makeBroker()
    await voice.connect(.forCommand("doctor-sender", hearing: []))
    let refused: Set<String>
    do throws(Failure) {
      refused = try await Self.say(text, on: topics, by: voice, timeout: timeout)
    } catch {
      await voice.disconnect(grace: .zero)
      throw error
    }
    await voice.disconnect(grace: timeout)
    let deadline = ContinuousClock.now + Self.patience
    while !heard.topics.union(refused).isSuperset(of: topics) {
      guard let event = await broker.nextEvent(timeout: deadline - .now) else { break }
      if case .deliveries(let deliveries) = event { heard.note(deliveries) }
      await broker.settle()
    }
    return topics.map {
      heard.topics.contains($0) ? .all : refused.contains($0) ? .refusal : .nothing
    }
  }

  /// Returns when the broker has answered for everything.
  ///
  /// - Returns: the topics on which it has taken nothing.
  private static func say(
    _ text: String, on topics: [String], by voice: any BrokerClient, timeout: Duration
  ) async throws(Failure) -> Set<String> {
    let deadline = ContinuousClock.now + timeout
    var refused: Set<String> = []
    var serial: UInt64?
    while true {
      if let serial, await voice.confirmed >= serial {
        if case .refused(let topics) = await voice.nextEvent(timeout: .zero) {
          refused.formUnion(topics.keys)
        }
        return refused
      }
      switch await voice.nextEvent(timeout: deadline - .now) {
      case .online:
        serial = try? await voice.publish(topics.map { Message(topic: $0, text: text) })
        await voice.settle()
      case .refused(let topics): refused.formUnion(topics.keys)
      case .deliveries, .confirmed, .updated, .sessionBegan: await voice.settle()
      case .offline(let error): throw Failure(error)
      case nil: throw .unavailable("the broker has not answered in time")
      }
    }
  }

  func end() async { await broker.disconnect(grace: .seconds(1)) }
}

extension Listening.Heard {
  /// What the kiosk says of itself.
  func health(_ topics: KioskTopics) -> (at: Timestamp, refused: [String: String])? {
    guard let payload = retained[topics.health], let health = try? JSON.parse(payload),
      case .string(let text) = health["at"], let at = Timestamp(text)
    else { return nil }
    var refused: [String: String] = [:]
    if case .object(let members) = health["refused"] {
      for member in members {
        if case .string(let reason) = member.value { refused[member.key] = reason }
      }
    }
    return (at, refused)
  }
}
