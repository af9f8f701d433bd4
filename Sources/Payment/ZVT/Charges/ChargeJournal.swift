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
    /// The terminal has made an end of day by itself: its receipt numbers begin anew.
    case closed
    /// The device requested the end of day with this number.
    case closing(Int)
    case total(PaymentTotal)
    /// The highest charge number, the sums of the day, and the last end of day. A new file begins
    /// with a summary; a shortened file contains one after the records.
    case summary(last: Int, Day, PaymentTotal?)
  }

  /// The data that identify a result of the terminal. Receipt numbers begin anew after an end of day
  /// and after 9999, and some terminals repeat a result with a new trace number.
  package struct ResultID: Hashable, Sendable {
    package var receipt: Int?
    package var trace: Int?
    /// See `Fields.moment`.
    package var moment: String?
    /// The number of ends of day before the result.
    package var closings = 0

    init?(_ fields: Fields) {
      self.init(receipt: fields.receipt, trace: fields.trace, moment: fields.moment, closings: 0)
      guard receipt != nil || trace != nil else { return nil }
    }

    init(receipt: Int?, trace: Int?, moment: String?, closings: Int) {
      (self.receipt, self.trace) = (receipt, trace)
      (self.moment, self.closings) = (moment, closings)
    }
  }

  /// The evidence that the terminal's last result gives about a command whose result was lost.
  enum Standing: Hashable {
    /// The journal contains the result: the lost command has no result.
    case known
    /// The result is later than all that the journal contains.
    case new
    /// The result may be either: for example its receipt number is known, and its time is not.
    case unclear
  }

  /// The sums since the last end of day of the device: amounts in the smallest unit of the currency,
  /// and the number of captures.
  package struct Day: Hashable, Sendable {
    package var captured = 0
    package var refunded = 0
    package var count = 0
    /// The number of ends of day before now, also of those that the terminal has made by itself.
    package var closings = 0
    /// Whether the terminal has made an end of day by itself since the last one of the device.
    package var isSplit = false

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
        note(
          ResultID(
            receipt: record.receipt, trace: record.trace, moment: record.moment,
            closings: record.closings))
      }
      if let reversal = record.reversal { note(reversal) }
      if record.state.isFinal, !(old?.state.isFinal ?? false) {
        finalNumbers.append(record.charge)
        if finalNumbers.count > Self.maximumFinal {
          let oldest = finalNumbers.removeFirst()
          if records[oldest]?.state.isFinal ?? false { records[oldest] = nil }
        }
      }
    case .seen(let id): note(id)
    case .closing(let number): closing = number
    case .closed: (day.closings, day.isSplit) = (day.closings + 1, true)
    case .total(let new):
      let closings = day.closings + 1
      (total, day, closing) = (new, Day(), nil)
      day.closings = closings
    case .summary(let last, let day, let total):
      (self.last, self.day, self.total) = (last, day, total)
    }
  }

  private mutating func note(_ id: ResultID) {
    guard !seen.contains(id) else { return }
    seen.append(id)
    if seen.count > Self.maximumSeen { seen.removeFirst() }
  }

  /// The highest receipt number since the last end of day and since 9999, or `nil` if there was none.
  var lastReceipt: Int? {
    seen.lazy.filter { $0.closings == day.closings }.compactMap(\.receipt).reduce(nil) {
      last, receipt in
      last.map { receipt > $0 || Self.isNext(receipt, after: $0) ? receipt : $0 } ?? receipt
    }
  }

  /// Returns whether a new payment with this receipt number shows that the terminal has made an end of
  /// day by itself.
  func isBeginning(_ receipt: Int) -> Bool {
    lastReceipt.map { receipt <= $0 && !Self.isNext(receipt, after: $0) } ?? false
  }

  /// Returns whether the numbers have begun anew after 9999, without an end of day.
  private static func isNext(_ receipt: Int, after last: Int) -> Bool {
    last > 9000 && receipt < 1000
  }

  /// Compares a result that the terminal repeats with the results that the journal contains. The trace
  /// number counts only without a receipt number, or without a time.
  func standing(of result: ResultID) -> Standing {
    let same = seen.filter {
      result.receipt == nil ? $0.trace == result.trace : $0.receipt == result.receipt
    }
    if same.contains(where: { $0.moment != nil && $0.moment == result.moment }) { return .known }
    let isEarlier = result.moment.map { moment in
      seen.contains { $0.moment.map { Self.isEarlier(moment, $0) } ?? false }
    }
    if same.isEmpty { return isEarlier == true ? .unclear : .new }
    // guard: the last result of the terminal may be that of another customer
    guard let isEarlier, same.allSatisfy({ $0.moment != nil }) else {
      // Without a time, an end of day that the device has not noticed may lie between two results with one
      // receipt number: only the trace number, which goes on, tells them apart.
      return same.contains { $0.trace == result.trace && $0.closings == day.closings }
        ? .known : .unclear
    }
    // The terminal repeats a known result with another time, or has used the number again.
    return !isEarlier && same.allSatisfy { $0.closings < day.closings } ? .new : .unclear
  }

  /// Returns whether a time without a year is before another one: December is before January.
  private static func isEarlier(_ moment: String, _ other: String) -> Bool {
    moment < other ? !(other >= "10" && moment < "04") : moment >= "10" && other < "04"
  }

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
