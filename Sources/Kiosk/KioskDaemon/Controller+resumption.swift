import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

// Publishes unconfirmed entries of earlier connections again, and prepares the detection of
// redeliveries.
extension Controller {
  /// Maximum number of entries published again. Only a broker that confirms no messages leaves more
  /// entries unconfirmed; publishing them would exceed the limit of messages in flight.
  private static let resumed = 10_000

  /// Publishes the entries that the broker has not confirmed on earlier connections.
  func resume() async throws(LedgerError) {
    try deleteDeliveries()
    switch tracker.stage {
    case .initial: try readLedger()
    case .ledgerRead: break
    case .caughtUp: return
    }
    if let poisonMessageStep = tracker.poisonMessageStep {
      return try await republishSingly(poisonMessageStep)
    }
    var published = max(tracker.confirmed, core.seq - Self.resumed)
    if published > tracker.confirmed {
      log.warn(
        "the broker does not acknowledge messages: entries up to #\(published) are not repeated")
    }
    // guard: what was not confirmed is published again
    while published < core.seq {
      let page = try ledger.rows(after: published)
      guard let last = page.last else { break }
      let messages = page.flatMap { row, event, reply in
        [
          settings.answer(row, to: reply, isRepeated: true),
          settings.topics.event(event),
        ].compactMap(\.self)
      }
      await publish(messages, through: last.row.entry.seq)
      published = last.row.entry.seq
    }
    tracker.caughtUp()
  }

  /// Reads from the ledger which deliveries the broker may redeliver; after a failure, also the state.
  private func readLedger() throws(LedgerError) {
    if failure != nil {
      core.recover(try ledger.state())
      // A read also succeeds on a full disk. The kiosk goes online only if a commit works.
      try ledger.probe()
    }
    try storeTopics()
    tracker.ledgerRead(
      unacknowledged: try ledger.deliveries(after: tracker.acknowledged))
  }

  func deleteDeliveries() throws(LedgerError) {
    guard let seq = tracker.deletableThrough else { return }
    try ledger.deleteDeliveries(through: seq)
    tracker.deliveriesDeleted()
  }

  /// Publishes the first unconfirmed entry alone, because its messages may be poison messages. The
  /// next entry follows when the broker has confirmed the first.
  private func republishSingly(_ poisonMessageStep: DeliveryTracker.PoisonMessageStep)
    async throws(LedgerError)
  {
    guard !tracker.hasEntriesInFlight,
      let (row, event, reply) = try ledger.rows(after: tracker.confirmed, limit: 1).first
    else { return }
    let seq = row.entry.seq
    var answer: Message?
    switch poisonMessageStep {
    case .asRequested:
      answer = settings.answer(row, to: reply, isRepeated: true)
    case .onDefaultTopic:
      let plain = reply.map { Reply(topic: nil, correlationData: $0.correlationData) }
      answer = settings.answer(row, to: plain, isRepeated: true)
    case .withoutAnswer(let isFirst):
      guard isFirst, row.entry.source != nil else { break }
      log.warn("the answer to #\(seq) is given up: each connection that publishes it is lost")
    }
    await publish([answer, settings.topics.event(event)].compactMap(\.self), through: seq)
  }
}
