import Fleet
import JuiceDomain
import KioskProtocol

// The form of a kiosk's settings as an edit.
extension SettingsEdit {
  /// The reason why a form contains no valid values.
  enum Problem: Error {
    case price(Juice, Currency)
    case currency
    case amount(Fruit)
    case low(Fruit)
    /// The day, or `nil` for the row of each day.
    case hours(OpeningHours.Day?)
    case noHours

    func text(_ language: Language) -> String {
      switch self {
      case .price(let juice, let currency):
        language(
          "\(juice.name[language]): the price is not an amount such as \(currency.example).",
          "\(juice.name[language]): 가격을 \(currency.example)처럼 적어 주세요.")
      case .currency:
        language(
          "A price needs a currency of three capital letters, such as EUR.",
          "가격에는 KRW처럼 대문자 세 글자의 통화가 필요해요.")
      case .amount(let fruit):
        language(
          "\(fruit.name[language]): write whole numbers from 0.",
          "\(fruit.name[language]): 0 이상의 정수를 적어 주세요.")
      case .low(let fruit):
        language(
          "\(fruit.name[language]) would be low above its capacity.",
          "\(fruit.name[language]): 부족 기준이 최대 수량보다 커요.")
      case .hours(let day):
        language(
          "\(day.map { language.name(of: $0) } ?? "Each"): write both times, and different ones.",
          "\(day.map { "\(language.name(of: $0))요일" } ?? "매일"): 서로 다른 시작과 종료를 모두 적어 주세요.")
      case .noHours:
        language(
          "Write the times of at least one day, or close the kiosk on its page.",
          "적어도 하루의 시간을 적어 주세요. 계속 닫으려면 키오스크 페이지에서 영업을 종료하세요.")
      }
    }
  }

  /// Returns the edit with all prices in force at a kiosk, if the form gives them to other kiosks.
  func withPrices(_ form: Form, of kiosk: KioskState) -> Self {
    guard form["all_prices"] != nil else { return self }
    var edit = self
    for juice in kiosk.baseMenu?.menu.juices ?? [] where edit.prices[juice.id] == nil {
      edit.prices[juice.id] = kiosk.price(of: juice.id)
    }
    return edit
  }

  /// Reads the values that the user has changed; the times of all days are one value. The edit
  /// omits unchanged values, even if the kiosk's values have changed since the page was loaded.
  init(_ form: Form, at kiosk: KioskState) throws(Problem) {
    self.init()
    guard let base = kiosk.baseMenu?.menu else { return }
    for juice in base.juices {
      if form.isChanged("price.\(juice.id)"),
        let text = form["price.\(juice.id)"]?.filter({ !$0.isWhitespace })
      {
        guard let currency = kiosk.currency ?? form["currency"].flatMap({ Currency($0) }) else {
          throw .currency
        }
        guard let price = Money(text.decimal(currency), currency),
          price.units <= JSON.maximumUnits
        else { throw .price(juice, currency) }
        prices[juice.id] = price
        if kiosk.currency == nil { currencyChosen = kiosk.id }
      }
      if form.isChanged("disabled.\(juice.id)") {
        sold[juice.id] = form["disabled.\(juice.id)"] == nil
      }
    }
    for fruit in base.fruits {
      capacities[fruit.id] = try Self.amount(form, "capacity", fruit)
      lowMarks[fruit.id] = try Self.amount(form, "low", fruit)
      if let capacity = capacities[fruit.id] ?? kiosk.menu?.capacities[fruit.id],
        let low = lowMarks[fruit.id] ?? kiosk.menu?.lowMarks[fruit.id], low > capacity
      {
        throw .low(fruit)
      }
    }
    let areTimesChanged = OpeningHours.Day.allCases.contains { day in
      form.isChanged("from.\(day)") || form.isChanged("to.\(day)")
    }
    let isEachDay = [form["from.each"], form["to.each"]].contains { !($0 ?? "").isEmpty }
    // Times that were typed count, also if the choice is still the file's hours.
    if areTimesChanged || isEachDay || form["hours"] == "own" && form.isChanged("hours") {
      hours = .own(try Self.hours(form, isEachDay: isEachDay))
    } else if form["hours"] == "file", form.isChanged("hours") {
      hours = .file
    }
  }

  private static func amount(
    _ form: Form, _ kind: String, _ fruit: Fruit
  ) throws(Problem) -> Int? {
    let name = "\(kind).\(fruit.id)"
    guard form.isChanged(name), let text = form[name], !text.isEmpty else { return nil }
    guard let amount = form.value(name), amount >= 0 else {
      throw .amount(fruit)
    }
    return amount
  }

  /// Reads the times of the days. Times for each day do not replace those of a day that the user has
  /// changed.
  private static func hours(
    _ form: Form, isEachDay: Bool
  ) throws(Problem) -> OpeningHours {
    var intervals: [OpeningHours.Day: OpeningHours.Interval] = [:]
    for day in OpeningHours.Day.allCases {
      let isTyped = form.isChanged("from.\(day)") || form.isChanged("to.\(day)")
      let isEach = isEachDay && !isTyped
      let name = isEach ? "each" : day.rawValue
      let from = form["from.\(name)"] ?? ""
      var to = form["to.\(name)"] ?? ""
      if from.isEmpty, to.isEmpty { continue }
      // A time field of HTML cannot contain 24:00, so 00:00 means the end of the day.
      if to == "00:00" { to = "24:00" }
      guard let interval = OpeningHours.Interval("\(from)-\(to)") else {
        throw .hours(isEach ? nil : day)
      }
      intervals[day] = interval
    }
    guard let hours = OpeningHours(intervals) else { throw .noHours }
    return hours
  }
}

extension String {
  /// Returns the amount as `Money` reads it: `3,500` without the comma if the currency has no
  /// decimals, otherwise `3,50` with a decimal point.
  func decimal(_ currency: Currency) -> String {
    if currency.decimals == 0 { return replacing(",", with: "") }
    return contains(".") ? self : replacing(",", with: ".")
  }
}

extension Currency {
  /// An amount with the decimals of the currency.
  var example: String { Money(units: decimals == 0 ? 3_500 : 350, self).text }
}
