import KioskMessages
package import MessageBroker

/// Where deliveries come in: what is no command is turned away before the ledger is asked.
///
/// Apart from the core, because what it remembers (who has sent how much in this second) is large,
/// and not worth taking back when a decision cannot be committed.
package struct KioskDoor: Sendable {
  /// Messages that were no command and get no answer.
  package private(set) var dropped = 0
  /// What may come again on this connection.
  package var redeliveries = Redeliveries()
  private let topics: KioskTopics
  private let birthTopics: Set<String>
  private var rate: RateLimit<Source>
  /// Of all senders together, and for each kind of command, so that the desk is told what is wrong
  /// with a restock whatever the panels do.
  private var refusals = RateLimit<Command.Kind>(perSecond: Self.refusalsPerSecond)

  /// So many refusals are told, whoever asks: one for each message would double a flood. The others
  /// are only counted.
  static let refusalsPerSecond = 100

  package init(settings: KioskSettings) {
    topics = settings.topics
    birthTopics = Set(settings.births.map(\.topic))
    rate = RateLimit(perSecond: settings.orders.maximumPerSecond)
  }

  package mutating func admit(_ deliveries: [Delivery], at now: Moment) -> [Admission] {
    var admissions: [Admission] = []
    admissions.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      guard let source = topics.source(ofCommandOn: delivery.message.topic) else {
        if !birthTopics.contains(delivery.message.topic) { dropped += 1 }
        continue
      }
      let original = redeliveries.original(of: delivery)
      // What comes again after a crash was let in once.
      let isWithinRate = delivery.isRedelivery || rate.admit(source, at: now.timestamp)
      var admission = Admission(
        delivery, from: source, repeating: original, topics: topics, isWithinRate: isWithinRate)
      if case .failure = admission.request {
        admission.isAnswered = refusals.admit(source.kind, at: now.timestamp)
      }
      admissions.append(admission)
    }
    return admissions
  }
}
