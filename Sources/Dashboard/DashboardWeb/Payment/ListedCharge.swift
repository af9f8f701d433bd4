import Fleet
import JuiceDomain
import KioskProtocol

/// A charge with its entries in the ledger, also if nothing was captured.
struct ListedCharge {
  let number: Int
  /// The order, if the charge has no capture, and the steps; the newest first.
  let entries: [LedgerEntry]
  /// The end of the order if the juice was not made, or not completely, or `nil` if it is unknown.
  let end: LedgerEntry?

  /// Returns the charges of entries, in the order of their first entries.
  static func charges(in entries: [LedgerEntry]) -> [ListedCharge] {
    let groups = Dictionary(grouping: entries) { $0.charge }
    var ends: [Int: LedgerEntry] = [:]
    for entry in entries where [.failed, .returned].contains(entry.status) {
      if let job = entry.outcome.end?.job { ends[job] = entry }
    }
    var seen: Set<Int> = []
    return entries.compactMap(\.charge).filter { seen.insert($0).inserted }.map { number in
      let steps = groups[number] ?? []
      // An entry of a charge that is no step is its order.
      let orders = steps.lazy.compactMap { $0.outcome.payment == nil ? $0.seq : $0.outcome.job }
      return ListedCharge(
        number: number, entries: steps, end: orders.compactMap { ends[$0] }.first)
    }
  }

  /// The capture, or `nil` if the customer was not charged.
  var capture: LedgerEntry? { entries.first { $0.status == .captured } }

  /// The ticket of the order, or `nil` if it is unknown.
  var ticket: Ticket? { entries.lazy.compactMap(\.ticket).first }

  /// The latest entry about a refund; see `LedgerEntry.refund(in:)`.
  var refund: LedgerEntry? { LedgerEntry.refund(in: entries) }
}
