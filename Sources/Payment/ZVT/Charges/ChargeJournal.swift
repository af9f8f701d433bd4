import JuiceDomain
package import KioskProtocol

/// The device's journal: the records of its charges and its ends of day.
///
/// A value that entries change. The file contains one entry a line; the entries in their order are
/// the journal.
package struct ChargeJournal: Sendable {
  package enum Entry: Hashable, Sendable {
    case charge(ChargeRecord)
    /// A result that the terminal has shown, and that belongs to no charge.
    case seen(ResultID)
    /// The end of day of this number was asked for.
    case closing(Int)
    case total(DayTotal)
    /// The first line of a shortened file: the day's sums, the last number and the last total of
    /// the lines that were left out.
    case summary(last: Int, Day, DayTotal?)
  }

  /// The identity of a terminal's result.
  package struct ResultID: Hashable, Sendable {
    package var receipt: Int?
    package var trace: Int?

    init?(_ fields: Fields) {
      guard fields.receipt != nil || fields.trace != nil else { return nil }
      (receipt, trace) = (fields.receipt, fields.trace)
    }

    init(receipt: Int?, trace: Int?) { (self.receipt, self.trace) = (receipt, trace) }
  }

  /// The amount booked since the last end of day, in the currency's smallest unit.
  package struct Day: Hashable, Sendable {
    package var captured = 0
    package var refunded = 0
    package var count = 0

    package init() {}
  }

  /// The number of records that are kept apart from those that are not final.
  private static let maximumFinal = 2_000
  private static let maximumSeen = 500

  /// The records by number; older final ones are left out.
  package private(set) var records: [Int: ChargeRecord] = [:]
  /// The highest number.
  package private(set) var last = 0
  package private(set) var day = Day()
  package private(set) var total: DayTotal?
  /// The number of an end of day that was asked for and has no result.
  package private(set) var closing: Int?
  /// The latest results, the oldest first.
  private var seen: [ResultID] = []
  private var finalNumbers: [Int] = []

  package init() {}

  /// Applies an entry.
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

  /// Whether the terminal has shown this result before.
  func hasSeen(_ id: ResultID) -> Bool { seen.contains(id) }

  /// The records that are not final, by number.
  package var open: [ChargeRecord] {
    records.values.filter { !$0.state.isFinal }.sorted { $0.charge < $1.charge }
  }

  /// Entries that make an equal journal.
  package var shortened: [Entry] {
    // The sums of the records are in the summary, which comes after them.
    records.values.sorted { $0.charge < $1.charge }.map(Entry.charge) + seen.map(Entry.seen)
      + [.summary(last: last, day, total)] + (closing.map { [.closing($0)] } ?? [])
  }
}

/// An end of day: the payload of `payment/<device>/total`.
package struct DayTotal: Hashable, Sendable {
  package let sums: PaymentTotal
  /// The sum that the terminal has booked, less its cancellations, or `nil` if it does not say.
  package let terminalNet: Int?

  /// Whether the terminal's sum differs from the device's own.
  package var isDifferent: Bool {
    terminalNet.map { $0 != sums.captured.units - sums.refunded.units } ?? false
  }
}
