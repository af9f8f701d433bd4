import JuiceDomain
import KioskProtocol

// New entries of the ledger.
extension Kiosk {
  /// Creates the next entry.
  ///
  /// - Parameters:
  ///   - source: The sender of the command or of the earlier order, or `nil` if there is none.
  ///   - id: The id that the sender gave.
  mutating func nextEntry(
    _ outcome: LedgerEntry.Outcome, amount: Money? = nil, from source: Source? = nil,
    id: Request.ID? = nil, at now: Moment
  ) -> LedgerEntry {
    seq += 1
    return LedgerEntry(
      seq: seq, epoch: epoch, at: now.timestamp, source: source, id: id, outcome: outcome,
      amount: amount)
  }

  /// Records an entry without a sender.
  @discardableResult
  mutating func record(
    _ outcome: LedgerEntry.Outcome, amount: Money? = nil, batches: [BatchChange] = [],
    at now: Moment, in decision: inout Decision
  ) -> LedgerEntry {
    var entry = nextEntry(outcome, amount: amount, at: now)
    entry.batches = batches
    decision.record(LedgerRow(entry), answering: nil, under: settings)
    return entry
  }

  /// Records the end of an order, returns its unused fruit, and answers its sender.
  mutating func recordEnd(
    _ outcome: LedgerEntry.Outcome, amount: Money?, from source: Source?, id: Request.ID?,
    answering reply: Reply?, detail: String? = nil, message: String?, at now: Moment,
    in decision: inout Decision
  ) {
    juiceMaker.giveBack(outcome.changes)
    let row = LedgerRow(
      nextEntry(outcome, amount: amount, from: source, id: id, at: now), stock: juiceMaker.stock,
      detail: detail, message: message)
    count(outcome)
    decision.record(row, answering: reply, under: settings)
    appendFeedback(of: row, in: &decision)
  }
}
