import Fleet
import JuiceDomain
import KioskProtocol

/// The stock as bars, each with buttons that change an amount. Viewers see only the bars.
struct StockForm {
  let kiosk: KioskState
  let now: Timestamp
  let context: PageContext
  /// The fruits to restock. Their fields are filled in, so that one tap sends the restock. The
  /// first field gets the focus.
  var preselected: [Fruit.ID] = []

  private var language: Language { context.language }

  /// Whether the query of the address fills in numbers, which the user must always review.
  private var isFilled: Bool {
    (kiosk.menu?.menu.fruits ?? []).contains {
      context.filled.numberText("add.\($0.id)") != nil
        || context.filled.numberText("set.\($0.id)") != nil
    }
  }

  private var shown: [Fruit.ID] { isFilled ? [] : preselected }

  var html: HTML {
    let title = language("Stock", "재고")
    guard let fruits = kiosk.menu?.menu.fruits, kiosk.stock != nil else {
      return """
        <section class="card"><h2>\(title)</h2>
        <p class="empty">\(language("The kiosk has not sent its stock yet.", "아직 재고를 받지 못했어요."))</p>
        </section>
        """
    }
    guard context.isOperator else {
      return """
        <section class="card"><h2>\(title)</h2>\(age.html)
        <div class="fruits">\(liveParts.map(\.html))</div></section>
        """
    }
    let rows: [HTML] = zip(fruits, liveParts).map { fruit, part in
      let style: HTML = shown.contains(fruit.id) ? " preselected" : ""
      return "<div class=\"fruit\(style)\">\(part.html)\(stepper(fruit))</div>\n"
    }
    return """
      <section class="card">
      <h2>\(title)</h2>\(age.html)
      <form method="post" action="/kiosks/\(kiosk.id)/review" class="restock" data-restock>
      \(context.fields())\(isFilled ? CommonNotices.notSentYet(language) : nil)
      <div class="fruits">\(rows)</div>
      <details\(fruits.contains { context.filled.numberText("set.\($0.id)") != nil } ? " open" : .empty)><summary>\(language("Set counted numbers", "직접 센 수량으로 맞추기"))</summary>
      <div class="counts">\(fruits.map(counter))</div></details>
      <div class="actions">
      <button class="primary" name="do" value="review">\(language("Review", "확인하기"))</button>
      <button name="do" value="fill">\(language("Fill all", "모두 채우기"))</button>
      </div>
      </form>
      </section>
      """
  }

  /// The time of the stock if the kiosk is offline, otherwise an empty part.
  var age: LivePart {
    LivePart("age", CommonNotices.age(kiosk, kiosk.stock?.at, now, language) ?? .empty)
  }

  /// The live part of each fruit: its bar, number, forecast and next expiry.
  var liveParts: [LivePart] {
    guard let fruits = kiosk.menu?.menu.fruits else { return [] }
    return fruits.map { fruit in
      LivePart("fruit-\(fruit.id)", class: "level", level(fruit))
    }
  }

  private func level(_ fruit: Fruit) -> HTML {
    let level = StockLevel(of: fruit.id, in: kiosk)
    let shortage = kiosk.shortage(of: fruit.id, language)
    let (style, word) = (shortage?.style ?? "good", shortage.map { " · \($0.word)" } ?? "")
    let room: HTML? = level.capacity.map { " <span class=\"muted\">/ \($0)</span>" }
    return """
      <span class="name">\(fruit.name[language])</span>
      <span class="number \(style)"><b data-stock="\(level.stock)">\(level.stock)</b>\(room)\(word)</span>
      \(level.bar(" \(style)"))
      <span class="muted outlook">\(outlook(fruit.id))\(expiry(fruit.id))</span>
      \(context.isOperator ? seen(fruit.id, level.stock) : .empty)
      """
  }

  /// Returns a hidden field with the shown stock. A restock without a review expects this stock.
  private func seen(_ fruit: Fruit.ID, _ stock: Int) -> HTML {
    .hidden("expect.\(fruit)", "\(stock)")
  }

  private func outlook(_ fruit: Fruit.ID) -> String {
    guard let outlook = kiosk.forecast?.fruits[fruit], outlook.stock > 0 else { return "" }
    if let emptyAt = outlook.emptyAt {
      let distance = LocalTime(nil, now: now, language).expectation(emptyAt)
      return language("runs out \(distance)", "\(distance) 품절 예상")
    }
    guard outlook.perHour != nil else {
      return language("too little history for a forecast", "예측하기에는 기록이 부족해요")
    }
    return language("lasts for more than a week", "일주일 넘게 충분해요")
  }

  private func expiry(_ fruit: Fruit.ID) -> HTML? {
    kiosk.expiry(of: fruit, now: now, language).map { " · \($0)" }
  }

  private func stepper(_ fruit: Fruit) -> HTML {
    let name = fruit.name[language]
    let capacity = kiosk.menu?.capacities[fruit.id]
    let room: HTML? = capacity.map { " data-capacity=\"\($0)\"" }
    let proposed = shown.contains(fruit.id) ? kiosk.room(for: fruit.id) ?? 0 : 0
    let amount = context.filled.numberText("add.\(fruit.id)") ?? "\(proposed)"
    let focus: HTML = shown.first == fruit.id ? " autofocus" : ""
    return """
      <div class="stepper"\(room)>
      <button type="button" data-step="-1" aria-label="\(language("One \(name) less", "\(name) 하나 빼기"))" hidden>−</button>
      <input type="number" inputmode="numeric" name="add.\(fruit.id)" value="\(amount)"\(focus) \
      aria-label="\(language("\(name) to add", "\(name) 추가 수량"))">
      <button type="button" data-step="1" aria-label="\(language("One \(name) more", "\(name) 하나 더하기"))" hidden>+</button>
      <output class="after" aria-live="polite"></output>
      </div>\(shown.first == fruit.id ? restock : .empty)
      """
  }

  /// The button that restocks without a review. Each rendered page has one command id, so two taps
  /// cause one restock.
  private var restock: HTML {
    """
    <div class="actions">
    <input type="hidden" name="id" value="\(CommandID.random)" autocomplete="off">
    <button class="primary" name="do" value="now">\(language("Restock", "재고 채우기"))</button>
    </div>
    """
  }

  private func counter(_ fruit: Fruit) -> HTML {
    """
    <label>\(fruit.name[language])
    <input type="number" inputmode="numeric" min="0" name="set.\(fruit.id)"\
    \(context.filled.numberText("set.\(fruit.id)").map { " value=\"\($0)\"" as HTML })></label>

    """
  }
}

extension KioskState {
  /// Maximum number of times that `expiry` names.
  private static let maximumTimes = 3

  /// Returns a phrase with the amounts of a fruit that expire next and the times at which they expire, from
  /// 24 hours on the days, or `nil` if no batch has a date.
  func expiry(of fruit: Fruit.ID, now: Timestamp, _ language: Language) -> String? {
    guard let next = reports.stock?.expires[fruit] else { return nil }
    let localTime = LocalTime(timeZone, now: now, language)
    let batches = forecast?.fruits[fruit]?.expires ?? []
    // The forecast may be older than the stock.
    guard batches.count > 1, batches.first?.at == next else {
      let distance = localTime.expectation(next)
      return language("next expires \(distance)", "\(distance) 만료")
    }
    var parts: [(time: String, amount: Int)] = []
    for batch in batches {
      let day = localTime.lastDay(batch.at)
      let time =
        batch.at.since(now) < .seconds(24 * 3600)
        ? localTime.expectation(batch.at) : language("on \(day)", day)
      if let last = parts.last, last.time == time {
        parts[parts.count - 1].amount = last.amount + batch.amount
      } else {
        parts.append((time, batch.amount))
      }
    }
    let verb = parts.first?.amount == 1 ? "expires" : "expire"
    let list = parts.prefix(Self.maximumTimes).enumerated().map { index, part in
      let word = index == 0 ? " \(verb)" : ""
      return language("\(part.amount)\(word) \(part.time)", "\(part.time) \(part.amount)개")
    }.joined(separator: ", ")
    return language(list, "만료: \(list)")
  }
}
