import JuiceDomain
import KioskProtocol

/// A search for a charge by what a customer knows: the ticket, the day, the time, the amount, the last
/// four digits of the card, or the number of the receipt. Each word of the query must match.
struct ChargeSearch {
  /// Maximum difference between a time in the query and that of the charge, in minutes.
  static let tolerance = 15

  let words: [String]
  let localTime: LocalTime

  init(_ query: String, _ localTime: LocalTime) {
    words = query.prefix(100).split(whereSeparator: \.isWhitespace).map(String.init)
    self.localTime = localTime
  }

  /// The day that the query names, or `nil` if it names none.
  var day: CivilDate? { words.lazy.compactMap { CivilDate($0) }.first }

  /// The number of the charge if the query is only this number. It begins with a time in seconds since
  /// 1970; smaller numbers are tickets.
  var charge: Int? {
    guard words.count == 1, let charge = ChargeDecision.charge(words[0]) else { return nil }
    return charge >= 1_000_000_000 ? charge : nil
  }

  func matches(_ charge: ListedCharge) -> Bool {
    !words.isEmpty
      && charge.entries.contains { entry in words.allSatisfy { matches($0, entry) } }
  }

  private func matches(_ word: String, _ entry: LedgerEntry) -> Bool {
    if let day = CivilDate(word) { return localTime.date(of: entry.at) == day }
    if let time = Self.minute(word) {
      let minute = Self.minute(String(localTime.field(entry.at).suffix(5))) ?? 0
      return abs(time - minute) <= Self.tolerance
    }
    func bare(_ text: String) -> Substring { text.drop { $0 == "0" || $0 == "#" } }
    var receipt = Receipt()
    if case .payment(let step) = entry.outcome { receipt = step.receipt }
    let numbers = [
      entry.ticket.map { "\($0.number)" }, receipt.last4, receipt.receipt, receipt.trace,
      entry.charge.map { "\($0)" },
    ].compactMap(\.self)
    return numbers.contains { bare($0) == bare(word) }
      || entry.amount.map { Self.amount(word, $0.currency)?.units == $0.units } ?? false
  }

  /// Returns the minute of the day of a time such as `18:28`, or `nil` for another text.
  private static func minute(_ text: String) -> Int? {
    let parts = text.split(separator: ":").map { Int($0) }
    guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0...23).contains(hour),
      (0...59).contains(minute)
    else { return nil }
    return hour * 60 + minute
  }

  /// Returns the amount of a text such as `€3.50`, `3,50` or `5,200`.
  private static func amount(_ text: String, _ currency: Currency) -> Money? {
    let digits = text.filter { $0.isNumber || $0 == "." || $0 == "," }
    return Money(digits.decimal(currency), currency)
  }
}
