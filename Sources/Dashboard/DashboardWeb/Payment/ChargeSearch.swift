import JuiceDomain
import KioskProtocol
import TimeZones

/// A search for a charge by what a customer knows: the ticket, the day, the time, the amount, the last
/// four digits of the card, its name, or the number of the receipt. Each word of the query must match,
/// except those that pages print before a number, such as "receipt"; a query without words matches all
/// charges.
struct ChargeSearch {
  /// Maximum difference between a time in the query and that of the charge, in minutes.
  static let tolerance: Int64 = 15

  /// The words before the numbers on the pages, in both languages.
  private static let labels: Set<String> = [
    "receipt", "ticket", "charge", "card", "영수증", "번호표", "결제", "카드", "#", "·",
  ]

  let words: [String]
  let localTime: LocalTime

  init(_ query: String, _ localTime: LocalTime) {
    let days = Self.days(localTime)
    var all: [String] = []
    for word in query.prefix(100).split(whereSeparator: \.isWhitespace).map(String.init) {
      if let day = days[word.lowercased()] {
        all.append(day)
      } else if let last = all.last, let day = days[(last + word).lowercased()] {
        all[all.count - 1] = day
      } else {
        all.append(word)
      }
    }
    let words = all.filter { !Self.labels.contains($0.lowercased().replacing(":", with: "")) }
    self.words = words.isEmpty ? all : words
    self.localTime = localTime
  }

  /// Returns the days of the last year, such as `2026-12-01`, by the texts of the pages in both
  /// languages, in lower case and without spaces: `dec1`, `12월1일`.
  private static func days(_ localTime: LocalTime) -> [String: String] {
    let texts = Language.allCases.map {
      LocalTime(localTime.clock.name, now: localTime.now, $0)
    }
    var days: [String: String] = [:]
    for age in 0..<Int64(365) {
      let day = CivilDate(daysSinceEpoch: localTime.today.daysSinceEpoch - age)
      for text in texts {
        days[text.day(day).lowercased().replacing(" ", with: "")] = day.description
      }
    }
    return days
  }

  /// The day that the query names, or `nil` if it names none.
  var day: CivilDate? { words.lazy.compactMap { CivilDate($0) }.first }

  /// The number of the charge if the query is only this number. It begins with a time in seconds since
  /// 1970; smaller numbers are tickets.
  var charge: Int? {
    guard words.count == 1, let charge = ChargeDecision.charge(words[0]) else { return nil }
    return charge >= 1_000_000_000 ? charge : nil
  }

  /// The time that the query names, as the minute of the day, or `nil` if it names none.
  private var minute: Int64? { words.lazy.compactMap(Self.minute).first }

  func matches(_ charge: ListedCharge) -> Bool {
    charge.entries.contains { entry in words.allSatisfy { matches($0, entry) } }
  }

  private func matches(_ word: String, _ entry: LedgerEntry) -> Bool {
    if CivilDate(word) != nil || Self.minute(word) != nil { return isNear(entry.at) }
    // The pages show a ticket as `42번`, and the digits of a card as `····1234`.
    func bare(_ text: String) -> Substring {
      (text.hasSuffix("번") ? text.dropLast() : text[...]).drop { "0#·".contains($0) }
    }
    let receipt = entry.outcome.payment?.receipt
    let numbers = [
      entry.ticket.map { "\($0.number)" }, receipt?.last4, receipt?.receipt, receipt?.trace,
      entry.charge.map { "\($0)" },
    ].compactMap(\.self)
    let card = receipt?.card?.lowercased().split(separator: " ") ?? []
    return numbers.contains { bare($0) == bare(word) } || card.contains { $0 == word.lowercased() }
      || entry.amount.map { Self.amount(word, $0.currency)?.units == $0.units } ?? false
  }

  /// Returns whether a time is on the day of the query and near its time, which may be across midnight.
  private func isNear(_ time: Timestamp) -> Bool {
    let days = day.map { localTime.date(of: time).daysSinceEpoch - $0.daysSinceEpoch }
    guard let minute else { return days == 0 }
    let difference = (Self.minute(String(localTime.field(time).suffix(5))) ?? 0) - minute
    guard let days else {
      return min(abs(difference), 1_440 - abs(difference)) <= Self.tolerance
    }
    // Limited, because a query can name any day.
    return abs(days) <= 1 && abs(days * 1_440 + difference) <= Self.tolerance
  }

  /// Returns the minute of the day of a time such as `18:28`, or `nil` for another text.
  private static func minute(_ text: String) -> Int64? {
    let parts = text.split(separator: ":").map { Int64($0) }
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
