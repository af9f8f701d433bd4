import JuiceMaker
import KioskMessages

/// Whether records are a ledger: in their order, without a gap, and with sums that are right.
struct RecordAudit {
  private(set) var seq = 0
  /// Of every fruit that there has been.
  private(set) var stock: FruitAmounts = [:]
  /// The first entry that may be there.
  private(set) var first: Int?
  private(set) var isComplete = false
  private var archived = 0
  private var confirmed = 0
  private var deliveries = 0

  mutating func add(_ record: LedgerRecord) throws(RecordError) {
    guard !isComplete else { throw RecordError("record", "nothing may follow the record end") }
    switch (record, first) {
    case (.ledger(let after, let amounts), nil):
      guard after == 0 || !amounts.isEmpty else {
        throw RecordError("stock", "it is missing: what the entries up to \(after) add up to")
      }
      (seq, stock, first) = (after, amounts, after + 1)
    case (_, nil):
      throw RecordError("record", "the first one is not ledger: it is no export made with --full")
    case (.ledger, _): throw RecordError("record", "ledger stands there a second time")
    case (.kiosk(_, let confirmed), _): self.confirmed = confirmed
    case (.archive(let entries), _):
      guard entries.first == archived + 1, entries.last < first ?? 0 else {
        throw RecordError("first", "the archive has a gap, or goes on in the ledger")
      }
      archived = entries.last
    case (.entry(let entry, _), _): try add(entry)
    case (.delivery(_, let seq), let first?):
      deliveries += 1
      guard (first...max(first, self.seq)).contains(seq), self.seq > 0 else {
        throw RecordError("seq", "there is no entry \(seq) before this line")
      }
      guard deliveries <= Ledger.fingerprintCount else {
        throw RecordError("record", "there are more than \(Ledger.fingerprintCount) deliveries")
      }
    case (.end(let last, let amounts), _): try end(last, amounts)
    case (.ticket, _), (.topic, _), (.mark, _): break
    }
  }

  /// To be called behind the last one.
  func finish() throws(RecordError) {
    guard isComplete else {
      throw RecordError("record", "it ends early: the record end is missing")
    }
  }

  private mutating func add(_ entry: LedgerEntry) throws(RecordError) {
    guard entry.seq == seq + 1 else {
      throw RecordError("seq", "it is \(entry.seq), but \(seq + 1) is the next entry")
    }
    seq = entry.seq
    if case .opened(let amounts) = entry.outcome {
      for (fruit, amount) in amounts {
        guard stock[fruit] == nil else {
          throw RecordError("changes", "there has been \(fruit) before")
        }
        stock[fruit] = amount
      }
      return
    }
    for (fruit, amount) in entry.changes {
      guard let before = stock[fruit] else {
        throw RecordError("changes", "no entry before has opened \(fruit)")
      }
      let after = before + amount
      guard after >= 0 else {
        throw RecordError("changes", "the stock of \(fruit) would be \(after)")
      }
      guard after <= LedgerRecord.most else {
        throw RecordError("changes", "the stock of \(fruit) would be too large")
      }
      stock[fruit] = after
    }
  }

  private mutating func end(_ last: Int, _ amounts: FruitAmounts) throws(RecordError) {
    guard last == seq else {
      throw RecordError("seq", "it is \(last), but the last entry is \(seq)")
    }
    for fruit in Set(stock.map(\.fruit)).union(amounts.map(\.fruit)).sorted()
    where stock[fruit] != amounts[fruit] {
      let (told, sum) = (amounts[fruit] ?? 0, stock[fruit] ?? 0)
      throw RecordError(
        "stock", "it is \(told) of \(fruit), but the entries add up to \(sum)")
    }
    guard confirmed <= seq else {
      throw RecordError("confirmed", "it is \(confirmed), but the last entry is \(seq)")
    }
    isComplete = true
  }
}
