import KioskCore
import KioskMessages
import Ledger
import MessageBroker

// What earlier connections have left behind: published again, or known if it comes again.
extension Controller {
  /// So many entries at most are published again. More do not stay unconfirmed where a broker
  /// confirms at all, and all at once they would be more than may be on their way.
  private static let resumed = 10_000

  /// Publishes again what the broker has not confirmed on earlier connections.
  func resume() async throws(LedgerError) {
    try forgetDeliveries()
    switch settlement.stage {
    case .fresh: try lookBack()
    case .lookedBack: break
    case .caughtUp: return
    }
    if let trial = settlement.trial { return try await resumeAlone(trial) }
    var published = max(settlement.confirmed, core.seq - Self.resumed)
    if published > settlement.confirmed {
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
    settlement.caughtUp()
  }

  /// Asks the ledger what may come again on a new connection.
  private func lookBack() throws(LedgerError) {
    if failure != nil {
      core = Kiosk(settings: settings, state: try ledger.state(), counters: core.counters)
      // A full disk can still be read: who cannot write is not online.
      try ledger.probe()
    }
    try rememberTopics()
    settlement.lookedBack(
      unacknowledged: try ledger.deliveries(after: settlement.acknowledged))
  }

  func forgetDeliveries() throws(LedgerError) {
    guard let seq = settlement.forgettable else { return }
    try ledger.forgetDeliveries(through: seq)
    settlement.hasForgotten()
  }

  /// Publishes the first entry under suspicion, and nothing else until it is confirmed.
  private func resumeAlone(_ trial: Settlement.Trial) async throws(LedgerError) {
    guard !settlement.isWaiting,
      let (row, reply) = try ledger.rows(after: settlement.confirmed, limit: 1).first
    else { return }
    let seq = row.entry.seq
    var answer: Message?
    switch trial {
    case .asAsked:
      answer = settings.topics.answer(row, to: reply, isRepeated: true)
    case .onUsualTopic:
      let plain = reply.map { Reply(topic: nil, correlationData: $0.correlationData) }
      answer = settings.topics.answer(row, to: plain, isRepeated: true)
    case .withoutAnswer(let isFirst):
      guard isFirst, row.entry.source != nil else { break }
      log.warn("the answer to #\(seq) is given up: it ends each connection it is sent on")
    }
    await publish([answer, settings.topics.event(row.entry)].compactMap(\.self), through: seq)
  }
}
