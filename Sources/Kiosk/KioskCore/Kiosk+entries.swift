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
    in decision: inout Decision
  ) -> LedgerEntry {
    var entry = nextEntry(outcome, amount: amount, at: decision.now)
    entry.batches = batches
    record(LedgerRow(entry), answering: nil, in: &decision)
    return entry
  }

  /// Records an entry that answers no delivery of this batch, and applies it to the batches of fruit.
  mutating func record(_ row: LedgerRow, answering reply: Reply?, in decision: inout Decision) {
    decision.record(row, answering: reply, under: settings)
    applyLastEntry(in: &decision)
  }

  /// Records the end of an order, returns its unused fruit, and answers its sender.
  mutating func recordEnd(
    _ outcome: LedgerEntry.Outcome, amount: Money?, from source: Source?, id: Request.ID?,
    answering reply: Reply?, detail: String? = nil, message: String?, in decision: inout Decision
  ) {
    juiceMaker.giveBack(outcome.changes)
    let row = LedgerRow(
      nextEntry(outcome, amount: amount, from: source, id: id, at: decision.now),
      stock: juiceMaker.stock,
      detail: detail, message: message)
    count(outcome)
    record(row, answering: reply, in: &decision)
    appendFeedback(of: row, in: &decision)
  }
}
