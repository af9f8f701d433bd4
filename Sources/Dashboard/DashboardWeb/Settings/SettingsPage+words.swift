import Fleet
import JuiceDomain
import KioskProtocol

extension SettingsPage {
  /// Returns the new value, or `OLD → NEW` if the old value differs.
  private static func step(_ old: String?, _ new: String) -> String {
    guard let old, old != new else { return new }
    return "\(old) → \(new)"
  }

  /// Returns the values of a change, separated by commas.
  func words(_ change: SettingsChange) -> String {
    let base = kiosk.baseMenu(with: change)?.menu
    var words = change.fruits.map { fruit in
      language("new fruit: \(fruit.name[language])", "새 과일: \(fruit.name[language])")
    }
    words += change.juices.map { juice in
      let text = "\(juice.name[language]) (\(juice.recipe.text(on: base, language)))"
      return kiosk.fileMenu?.menu.juice(juice.id) == nil
        ? language("new juice: \(text)", "새 쥬스: \(text)") : text
    }
    for juice in base?.juices ?? [] {
      let name = juice.name[language]
      if let price = change.prices[juice.id] {
        words.append("\(name) \(Self.step(juice.price?.text(language), price.text(language)))")
      }
      if change.disabled.contains(juice.id) {
        words.append(language("\(name) not sold", "\(name) 판매하지 않음"))
      }
    }
    for fruit in base?.fruits ?? [] {
      let name = fruit.name[language]
      if let amount = change.capacities[fruit.id] {
        words.append(language("\(name): capacity \(amount)", "\(name): 최대 \(amount)"))
      }
      if let amount = change.lowMarks[fruit.id] {
        words.append(language("\(name): low at \(amount)", "\(name): 부족 기준 \(amount)"))
      }
    }
    if let hours = change.hours { words.append(language.text(hours)) }
    return words.isEmpty
      ? language("the file's values", "파일의 값") : words.joined(separator: ", ")
  }

  /// Returns the values that another change gives a kiosk, such as `Kiwi juice ₩3,500 → ₩3,000`.
  static func words(from kiosk: KioskState, to new: SettingsChange, _ language: Language) -> String
  {
    let (old, file) = (kiosk.change, kiosk.fileMenu)
    var edit = SettingsEdit()
    edit.fruits = new.fruits.filter { !old.fruits.contains($0) }
    edit.juices = new.juices.filter { !old.juices.contains($0) }
    edit.removedFruits = Set(old.fruits.map(\.id)).subtracting(new.fruits.map(\.id))
    edit.removedJuices = Set(old.juices.map(\.id)).subtracting(new.juices.map(\.id))
    let repriced = Set(old.prices.keys).union(new.prices.keys).filter { juice in
      old.prices[juice] != new.prices[juice] && !edit.removedJuices.contains(juice)
    }
    for juice in repriced {
      edit.prices[juice] = new.prices[juice] ?? file?.menu.juice(juice)?.price
    }
    for juice in old.disabled.symmetricDifference(new.disabled) {
      edit.sold[juice] = !new.disabled.contains(juice)
    }
    func amounts(
      _ old: FruitAmounts, _ new: FruitAmounts, _ file: FruitAmounts?
    ) -> FruitAmounts {
      let fruits = Set(old.map(\.fruit)).union(new.map(\.fruit)).sorted().filter {
        old[$0] != new[$0]
      }
      return FruitAmounts(
        fruits.compactMap { fruit in (new[fruit] ?? file?[fruit]).map { (fruit, $0) } })
    }
    edit.capacities = amounts(old.capacities, new.capacities, file?.capacities)
    edit.lowMarks = amounts(old.lowMarks, new.lowMarks, file?.lowMarks)
    if old.hours != new.hours { edit.hours = new.hours.map { .own($0) } ?? .file }
    let unpriced = repriced.filter { edit.prices[$0] == nil }.sorted().compactMap { juice in
      kiosk.price(of: juice).map { price in
        "\(kiosk.name(of: juice, language)) \(price.text(language)) → –"
      }
    }
    let words = edit.menuWords(at: kiosk, language) + [Self.words(edit, at: kiosk, language)]
    return (words + unpriced).filter { !$0.isEmpty }.joined(separator: ", ")
  }

  /// Returns the changes of numbers to more than their double or to less than their half, the largest
  /// first: `Kiwi juice ₩3,000 → ₩30,000`. The first price of a juice is compared with the nearest
  /// price of the other juices on the menu.
  private static func largeSteps(
    of edit: SettingsEdit, at kiosks: [KioskState], _ language: Language
  ) -> [String] {
    // Several kiosks can have the same change.
    var steps: [String: Double] = [:]
    func compare(_ old: Int?, _ new: Int, _ text: (Int) -> String) {
      guard let old, old > 0, new > 2 * old || 2 * new < old else { return }
      let ratio = Double(max(new, 1)) / Double(old)
      steps[text(old)] = max(ratio, 1 / ratio)
    }
    func compareAmounts(_ name: String, _ old: Int?, _ new: Int) {
      compare(old, new) { "\(name) \(Self.step("\($0)", "\(new)"))" }
    }
    for kiosk in kiosks {
      let base = kiosk.baseMenu?.menu
      let juices = kiosk.baseMenu(with: kiosk.change(by: edit))?.menu.juices ?? []
      for juice in juices {
        guard let price = edit.prices[juice.id] else { continue }
        func units(_ juice: Juice.ID) -> Int? {
          kiosk.price(of: juice).flatMap { $0.currency == price.currency ? $0.units : nil }
        }
        func text(_ units: Int) -> String { Money(units: units, price.currency).text(language) }
        let (name, new) = (juice.name[language], text(price.units))
        let old = units(juice.id)
        compare(old, price.units) { "\(name) \(Self.step(text($0), new))" }
        let others = juices.compactMap { units($0.id) }
        guard old == nil, let lowest = others.min(), let highest = others.max() else { continue }
        compare(min(max(price.units, lowest), highest), price.units) { other in
          language(
            "\(name) \(new) (the nearest price of another juice is \(text(other)))",
            "\(name) \(new) (가장 가까운 다른 쥬스 가격은 \(text(other)))")
        }
      }
      for (fruit, amount) in edit.capacities {
        let name = kiosk.name(of: fruit, language)
        compareAmounts(
          language("\(name): capacity", "\(name): 최대"), kiosk.menu?.capacities[fruit], amount)
      }
      for (fruit, amount) in edit.lowMarks {
        let name = kiosk.name(of: fruit, language)
        compareAmounts(
          language("\(name): low at", "\(name): 부족 기준"), kiosk.menu?.lowMarks[fruit], amount)
      }
      for juice in edit.juices {
        let old = base?.juice(juice.id)?.recipe.amounts
        for (fruit, amount) in juice.recipe.amounts {
          compareAmounts(
            "\(juice.name[language]): \(kiosk.name(of: fruit, language))", old?[fruit], amount)
        }
      }
    }
    return steps.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
  }

  /// Maximum number of changes that a question names.
  private static let maximumSteps = 10

  /// Returns the question about numbers that change much, or `nil` if none does.
  static func question(
    about edit: SettingsEdit, at kiosks: [KioskState], _ language: Language
  ) -> HTML? {
    let steps = largeSteps(of: edit, at: kiosks, language)
    guard !steps.isEmpty else { return nil }
    let rest = steps.count - maximumSteps
    let more = rest > 0 ? language(", and \(rest) more", " 외 \(rest)개") : ""
    let list = steps.prefix(maximumSteps).joined(separator: ", ") + more
    return language.notice(
      .warn,
      "Nothing was changed yet. More than double or less than half: \(list). If that is right, tick it at the button and save again.",
      "아직 바꾸지 않았어요. 두 배를 넘거나 절반보다 작아요: \(list). 맞다면 버튼 옆에 표시하고 다시 저장해 주세요.")
  }

  /// Returns the changed values of a kiosk, such as `Kiwi juice ₩3,000 → ₩3,500`.
  static func words(_ edit: SettingsEdit, at kiosk: KioskState, _ language: Language) -> String {
    let base = kiosk.baseMenu(with: kiosk.change(by: edit))?.menu
    var words: [String] = []
    for juice in base?.juices ?? [] {
      let name = juice.name[language]
      if let price = edit.prices[juice.id] {
        let old = kiosk.price(of: juice.id)?.text(language)
        words.append("\(name) \(step(old, price.text(language)))")
      }
      if let isSold = edit.sold[juice.id] {
        words.append(
          isSold
            ? language("\(name) sold", "\(name) 판매함")
            : language("\(name) not sold", "\(name) 판매하지 않음"))
      }
    }
    for fruit in base?.fruits ?? [] {
      let name = fruit.name[language]
      if let amount = edit.capacities[fruit.id] {
        let amounts = step(kiosk.menu?.capacities[fruit.id].map { "\($0)" }, "\(amount)")
        words.append(language("\(name): capacity \(amounts)", "\(name): 최대 \(amounts)"))
      }
      if let amount = edit.lowMarks[fruit.id] {
        let amounts = step(kiosk.menu?.lowMarks[fruit.id].map { "\($0)" }, "\(amount)")
        words.append(language("\(name): low at \(amounts)", "\(name): 부족 기준 \(amounts)"))
      }
    }
    let always = language("always open", "항상 영업")
    let old = kiosk.settings?.hours.map(language.text) ?? always
    switch edit.hours {
    case .file:
      let new = kiosk.settings?.fileHours.map(language.text) ?? always
      words.append(language("hours as in the file: ", "영업시간은 파일대로: ") + step(old, new))
    case .own(let hours): words.append(step(old, language.text(hours)))
    case nil: break
    }
    return words.joined(separator: ", ")
  }
}

extension Language {
  func name(of day: OpeningHours.Day) -> String {
    switch day {
    case .mon: self("Mon", "월")
    case .tue: self("Tue", "화")
    case .wed: self("Wed", "수")
    case .thu: self("Thu", "목")
    case .fri: self("Fri", "금")
    case .sat: self("Sat", "토")
    case .sun: self("Sun", "일")
    }
  }

  /// Returns the opening hours as text. Consecutive days with the same hours are one range.
  func text(_ hours: OpeningHours) -> String {
    var ranges: [(days: [OpeningHours.Day], text: String)] = []
    for day in OpeningHours.Day.allCases {
      let text = hours.intervals[day]?.text.replacing("-", with: "–") ?? ""
      if ranges.last?.text == text {
        ranges[ranges.count - 1].days.append(day)
      } else {
        ranges.append(([day], text))
      }
    }
    return ranges.compactMap { days, text -> String? in
      guard !text.isEmpty, let first = days.first, let last = days.last else { return nil }
      let span = first == last ? name(of: first) : "\(name(of: first))–\(name(of: last))"
      return "\(span) \(text)"
    }.joined(separator: ", ")
  }
}
