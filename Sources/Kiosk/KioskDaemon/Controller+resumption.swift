import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

// What earlier connections have left behind: published again, or known if it comes again.
extension Controller {
  /// So many entries at most are published again. More do not stay unconfirmed where a broker
  /// confirms at all, and all at once they would be more than may be on their way.
  private static let resumed = 10_000

  /// Publishes again what the broker has not confirmed on earlier connections.
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
      log.warn("the broker confirms nothing: entries up to #\(published) are not published again")
    }
    // guard: what was not confirmed is published again
    while published < core.seq {
      let page = try ledger.rows(after: published)
      guard let last = page.last else { break }
      let messages = page.flatMap { row, reply in
        [
          settings.topics.answer(row, to: reply, isRepeated: true),
          settings.topics.event(row.entry),
        ].compactMap(\.self)
      }
      await publish(messages, through: last.row.entry.seq)
      published = last.row.entry.seq
    }
    tracker.caughtUp()
  }

  /// Asks the ledger what may come again on a new connection.
  private func readLedger() throws(LedgerError) {
    if failure != nil {
      core = Kiosk(settings: settings, state: try ledger.state(), counters: core.counters)
      // A full disk can still be read: who cannot write is not online.
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

  /// Publishes the first entry under suspicion, and nothing else until it is confirmed.
  private func republishSingly(_ poisonMessageStep: DeliveryTracker.PoisonMessageStep)
    async throws(LedgerError)
  {
    guard !tracker.hasEntriesInFlight,
      let (row, reply) = try ledger.rows(after: tracker.confirmed, limit: 1).first
    else { return }
    let seq = row.entry.seq
    var answer: Message?
    switch poisonMessageStep {
    case .asRequested:
      answer = settings.topics.answer(row, to: reply, isRepeated: true)
    case .onDefaultTopic:
      let plain = reply.map { Reply(topic: nil, correlationData: $0.correlationData) }
      answer = settings.topics.answer(row, to: plain, isRepeated: true)
    case .withoutAnswer(let isFirst):
      guard isFirst, row.entry.source != nil else { break }
      log.warn("the answer to #\(seq) is given up: it ends each connection it is sent on")
    }
    await publish([answer, settings.topics.event(row.entry)].compactMap(\.self), through: seq)
  }
}
