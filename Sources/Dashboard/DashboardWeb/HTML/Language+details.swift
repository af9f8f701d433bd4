import Fleet
import JuiceDomain

extension Language {
  /// Returns the kiosk's explanation of a rejection in this language and with the names of the kiosk's
  /// menu. In English, an unknown explanation is returned as it is; in Korean, `nil` is.
  func detail(_ text: String?, at kiosk: KioskState?) -> String? {
    guard let text else { return nil }
    for form in Self.details {
      guard let values = Self.values(in: text, of: form.pattern) else { continue }
      var words = self(form.english, form.korean)
      for value in values {
        let name = Fruit.ID(value).flatMap { kiosk?.name(of: $0, self) } ?? value
        guard let place = words.firstRange(of: "{}") else { break }
        words.replaceSubrange(place, with: name)
      }
      return words
    }
    return self == .english ? text : nil
  }

  /// The explanations that forms of the dashboard can cause; `{}` is a value, in the same order in all
  /// three texts.
  private static let details: [(pattern: String, english: String, korean: String)] = [
    (
      "best_before of {} is in the past", "{}: the date is in the past.", "{}: 이미 지난 날짜예요."
    ),
    (
      "best_before of {} is more than two years ahead: check it, and the kiosk's clock",
      "{}: the date is more than two years ahead. Check it, and the kiosk's clock.",
      "{}: 2년보다 먼 날짜예요. 날짜와 키오스크의 시계를 확인해 주세요."
    ),
    (
      "best_before names {}, of which the restock adds nothing",
      "{}: it has a date, and nothing is added.", "{}: 날짜가 있지만 채우는 수량이 없어요."
    ),
    (
      "the capacity for {} is {}, and its stock is {}",
      "{}: the capacity is {}, and the stock is {}.", "{}: 최대 {}개이고 지금 {}개 있어요."
    ),
    (
      "{} of entry {} has expired, or was used", "{} of entry {} has expired, or was used.",
      "{}: 기록 #{}의 과일은 만료됐거나 쓰였어요."
    ),
    ("there are only {} of {}", "Only {}: {}.", "{}개밖에 없어요: {}."),
    ("there are {} expired of {}", "{} expired: {}.", "만료된 과일 {}개: {}."),
    (
      "{} is not a fruit of this kiosk", "{} is not a fruit of this kiosk.", "{}: 이 키오스크에 없는 과일이에요."
    ),
    (
      "charge {} is not open: a refund is possible on the same day, once",
      "Charge {}: a refund is possible on the same day, and once.",
      "결제 {}: 환불은 당일에 한 번만 할 수 있어요."
    ),
    (
      "job {} is now job {}: decide about that", "Job {} is now job {}: decide about that.",
      "작업 {}의 번호는 이제 {}이에요. 그 작업을 정해 주세요."
    ),
    (
      "machine {} has a program already: job {}", "Machine {} runs a program already, job {}.",
      "기계 {}: 다른 작업이 진행 중이에요 ({})."
    ),
    (
      "machine {} cannot run a program now", "Machine {} cannot run a program now.",
      "기계 {}: 지금은 작업을 할 수 없어요."
    ),
    (
      "sent {} seconds ago; the limit is {}", "Sent {} seconds ago; the limit is {}.",
      "{}초 전에 보낸 명령이에요. 한도는 {}초예요."
    ),
  ]

  /// Returns the values in a text that has the form of a pattern, or `nil` if it does not.
  private static func values(in text: String, of pattern: String) -> [String]? {
    var parts = pattern.split(separator: "{}", omittingEmptySubsequences: false)[...]
    guard let start = parts.popFirst(), text.hasPrefix(start) else { return nil }
    var (rest, values) = (text.dropFirst(start.count), [String]())
    while let part = parts.popFirst() {
      let end = part.isEmpty ? rest.endIndex..<rest.endIndex : rest.firstRange(of: part)
      guard let end else { return nil }
      values.append(String(rest[..<end.lowerBound]))
      rest = rest[end.upperBound...]
    }
    return rest.isEmpty ? values : nil
  }
}
