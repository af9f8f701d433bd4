import CommandLineSupport
import KioskDaemon
import KioskProtocol
import MessageBroker

/// The retained messages that an account can read, and the subscriptions that the broker refuses to
/// the account.
struct RetainedMessages {
  /// The payloads, by topic.
  private(set) var payloads: [String: [UInt8]] = [:]
  private(set) var refused: [TopicFilter] = []

  /// Time without a retained message after which `init` stops reading.
  private static let silence = Duration.seconds(1)

  /// Connects, subscribes, reads and disconnects.
  ///
  /// - Parameters:
  ///   - timeout: Maximum time for the connection and the subscriptions.
  ///   - makeBroker: Returns a new client, for the first connection and for one more after each
  ///     refused subscription.
  /// - Throws: `Failure` if the connection fails, or the broker does not answer in time.
  init(
    of filters: [TopicFilter], timeout: Duration,
    _ makeBroker: () throws(Failure) -> any BrokerClient
  ) async throws(Failure) {
    var deadline = ContinuousClock.now + timeout
    var filters = filters
    var connection = try makeBroker()
    var isOnline = false
    await connection.connect(.forCommand("doctor", subscribingTo: filters.map(\.text)))
    reading: while !isOnline || .now < deadline {
      switch await connection.nextEvent(timeout: max(.zero, deadline - .now)) {
      case .online:
        isOnline = true
        deadline = .now + Self.silence
      case .deliveries(let deliveries):
        for message in deliveries.map(\.message) where message.retain {
          payloads[message.topic] = message.payload
          // Other messages do not extend the deadline, because they may arrive without end.
          if isOnline { deadline = .now + Self.silence }
        }
        await connection.acknowledge()
      case .offline(.subscriptionRefused(let text)):
        await connection.disconnect(grace: .zero)
        refused += filters.filter { $0.text == text }
        filters.removeAll { $0.text == text }
        connection = try makeBroker()
        await connection.connect(.forCommand("doctor", subscribingTo: filters.map(\.text)))
      case .offline(let error):
        await connection.disconnect(grace: .zero)
        throw error.failure
      case .confirmed, .updated, .refused, .sessionBegan: continue
      case nil: break reading
      }
    }
    await connection.disconnect(grace: .zero)
    guard isOnline else {
      throw .unavailable("the broker has not confirmed the subscriptions in time")
    }
  }
}

extension RetainedMessages {
  func health(_ topics: KioskTopics) -> KioskHealth? {
    // A report that cannot be read counts as no report, which is a finding.
    payloads[topics.health].flatMap { try? KioskHealth(payload: $0) }
  }
}
