import JuiceDomain
package import KioskProtocol

/// The journal of the device: the states of charges, the sums of the day, and the last end of day.
///
/// The value is the result of applying the entries of the file in their order.
package struct ChargeJournal: Sendable {
  package enum Entry: Hashable, Sendable {
    case charge(ChargeRecord)
    /// A result of the terminal, stored so that no later review attributes it to another command.
    case seen(ResultID)
    /// The device requested the end of day with this number.
    case closing(Int)
    case total(PaymentTotal)
    /// The highest charge number, the sums of the day, and the last end of day. A new file begins
    /// with a summary; a shortened file contains one after the records.
    case summary(last: Int, Day, PaymentTotal?)
  }

  /// The receipt number and the trace number that identify a result of the terminal.
  package struct ResultID: Hashable, Sendable {
    package var receipt: Int?
    package var trace: Int?

    init?(_ fields: Fields) {
      guard fields.receipt != nil || fields.trace != nil else { return nil }
      (receipt, trace) = (fields.receipt, fields.trace)
    }

    init(receipt: Int?, trace: Int?) { (self.receipt, self.trace) = (receipt, trace) }
  }

  /// The sums since the last end of day: amounts in the smallest unit of the currency, and the
  /// number of captures.
  package struct Day: Hashable, Sendable {
    package var captured = 0
    package var refunded = 0
    package var count = 0

    package init() {}
  }

  /// Maximum number of final records in the journal, besides all records that are not final.
  private static let maximumFinal = 2_000
  private static let maximumSeen = 500

  /// The records by charge number, without the oldest final ones.
  package private(set) var records: [Int: ChargeRecord] = [:]
  /// The highest charge number.
  package private(set) var last = 0
  package private(set) var day = Day()
  package private(set) var total: PaymentTotal?
  /// The number of the requested end of day that has no total yet, or `nil` if there is none.
  package private(set) var closing: Int?
  /// The latest results of the terminal, the oldest first.
  private var seen: [ResultID] = []
  private var finalNumbers: [Int] = []

  package init() {}

  /// Updates the journal with an entry.
  package mutating func apply(_ entry: Entry) {
    switch entry {
    case .charge(let record):
      let old = records[record.charge]
      records[record.charge] = record
      last = max(last, record.charge)
      if record.booked != nil, old?.booked == nil {
        day.captured += record.booked ?? 0
        day.count += 1
      }
      if record.state == .refunded, old?.state != .refunded { day.refunded += record.booked ?? 0 }
      if record.receipt != nil || record.trace != nil {
        note(ResultID(receipt: record.receipt, trace: record.trace))
      }
      if record.state.isFinal, !(old?.state.isFinal ?? false) {
        finalNumbers.append(record.charge)
        if finalNumbers.count > Self.maximumFinal {
          let oldest = finalNumbers.removeFirst()
          if records[oldest]?.state.isFinal ?? false { records[oldest] = nil }
        }
      }
    case .seen(let id): note(id)
    case .closing(let number): closing = number
    case .total(let new): (total, day, closing) = (new, Day(), nil)
    case .summary(let last, let day, let total):
      (self.last, self.day, self.total) = (last, day, total)
    }
  }

  private mutating func note(_ id: ResultID) {
    guard !seen.contains(id) else { return }
    seen.append(id)
    if seen.count > Self.maximumSeen { seen.removeFirst() }
  }

  /// Returns whether the journal contains this result of the terminal.
  func hasSeen(_ id: ResultID) -> Bool { seen.contains(id) }

  /// The records that are not final, sorted by charge number.
  package var open: [ChargeRecord] {
    records.values.filter { !$0.state.isFinal }.sorted { $0.charge < $1.charge }
  }

  /// The entries that, applied to an empty journal, result in this journal.
  package var shortened: [Entry] {
    // The summary follows the records, because it replaces the sums that result from them.
    records.values.sorted { $0.charge < $1.charge }.map(Entry.charge) + seen.map(Entry.seen)
      + [.summary(last: last, day, total)] + (closing.map { [.closing($0)] } ?? [])
  }
}

extension PaymentTotal {
  /// Whether the terminal has reported a sum that differs from the captured less the refunded amount.
  package var isDifferent: Bool {
    terminalNet.map { $0 != captured.units - refunded.units } ?? false
  }
}
