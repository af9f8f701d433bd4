import CommandLineSupport
import KioskDaemon
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// A connection of the doctor's own, with the kiosk's account and the kiosk's subscriptions. It collects the
/// retained messages, and shows which of the doctor's own messages come back.
struct Listening {
  /// Subscriptions that the broker refused.
  private(set) var refused: [TopicFilter] = []
  private(set) var heard = Heard()
  private let broker: any BrokerClient

  struct Heard {
    /// The retained messages, by topic.
    var retained: [String: [UInt8]] = [:]
    /// All topics on which a message came.
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

  /// Connects and subscribes; a subscription that the broker refuses is left out.
  ///
  /// - Parameter broker: makes a new connection.
  init(
    to filters: [TopicFilter], timeout: Duration,
    _ makeBroker: () throws(Failure) -> any BrokerClient
  ) async throws(Failure) {
    let deadline = ContinuousClock.now + timeout
    var filters = filters
    var connection = try makeBroker()
    await connection.connect(.forCommand("doctor", subscribingTo: filters.map(\.text)))
    waiting: while true {
      switch await connection.nextEvent(timeout: deadline - .now) {
      case .online: break waiting
      case .offline(.subscriptionRefused(let text)):
        await connection.disconnect(grace: .zero)
        refused += filters.filter { $0.text == text }
        filters.removeAll { $0.text == text }
        connection = try makeBroker()
        await connection.connect(.forCommand("doctor", subscribingTo: filters.map(\.text)))
      case .offline(let error):
        await connection.disconnect(grace: .zero)
        throw error.failure
      case .deliveries(let deliveries):
        heard.note(deliveries)
        await connection.acknowledge()
      case .confirmed, .updated, .refused, .sessionBegan: continue
      case nil:
        await connection.disconnect(grace: .zero)
        throw .unavailable("the broker has not granted the subscriptions in time")
      }
    }
    broker = connection
  }

  /// What became of a message that the doctor has published.
  enum Echo {
    case all, nothing
    /// The broker has said that it does not take the message.
    case refusal
  }

  /// Publishes a message, not retained, and waits until it comes back. By then everything has come that
  /// the broker had to deliver before.
  mutating func hears(on topic: String, saying text: String) async -> Echo {
    let message = Message(topic: topic, text: text)
    guard let serial = try? await broker.publish([message]) else { return .nothing }
    await broker.acknowledge()
    var deadline: ContinuousClock.Instant?
    while true {
      let now = ContinuousClock.now
      // Until the broker has confirmed the message, it has ten seconds: some answer slowly.
      let timeout = deadline.map { $0 - now } ?? .seconds(10)
      guard let event = await broker.nextEvent(timeout: timeout) else { return .nothing }
      switch event {
      case .deliveries(let deliveries):
        heard.note(deliveries)
        await broker.acknowledge()
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

  /// Publishes with another account, not retained, and waits until the messages arrive.
  ///
  /// - Returns: what became of the message on each topic.
  mutating func hears(
    _ sender: KioskConfiguration, on topics: [String], saying text: String, timeout: Duration
  ) async throws(Failure) -> [Echo] {
    let voice = try sender.makeBroker()
    await voice.connect(.forCommand("doctor-sender", subscribingTo: []))
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
      await broker.acknowledge()
    }
    return topics.map {
      heard.topics.contains($0) ? .all : refused.contains($0) ? .refusal : .nothing
    }
  }

  /// Publishes on all topics, and waits until the broker has answered for each.
  ///
  /// - Returns: the topics on which the broker has refused the message.
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
        await voice.acknowledge()
      case .refused(let topics): refused.formUnion(topics.keys)
      case .deliveries, .confirmed, .updated, .sessionBegan: await voice.acknowledge()
      case .offline(let error): throw error.failure
      case nil: throw .unavailable("the broker has not answered in time")
      }
    }
  }

  func end() async { await broker.disconnect(grace: .seconds(1)) }
}

extension Listening.Heard {
  /// The kiosk's health, as far as the doctor needs it.
  struct Health {
    let at: Timestamp
    /// Why the broker has refused what was published, by topic.
    var refused: [String: String] = [:]
    var reconnects = 0
    /// In seconds.
    var uptime = 0
  }

  func health(_ topics: KioskTopics) -> Health? {
    guard let payload = retained[topics.health], let json = try? JSON.parse(payload),
      let at = json.text("at").flatMap({ Timestamp($0) })
    else { return nil }
    var health = Health(at: at)
    if case .object(let members) = json["refused"] {
      for member in members {
        if case .string(let reason) = member.value { health.refused[member.key] = reason }
      }
    }
    health.reconnects = json.integer("reconnects") ?? 0
    health.uptime = json.integer("uptime") ?? .max
    return health
  }
}
