import Fleet
import JuiceDomain
import KioskProtocol

/// The forms of a stop: report, the same report again, correction.
struct StopForms {
  let stop: Route.Stop
  /// The path of the stop's page.
  let path: String
  /// The current state of the kiosk, or `nil` if the fleet does not contain it.
  let kiosk: KioskState?
  /// The stock in the kiosk's answer, which is newer than the published stock.
  let answeredStock: FruitAmounts
  let context: PageContext

  private var language: Language { context.language }

  /// Returns the form that reports the stop.
  ///
  /// - Parameters:
  ///   - filled: The values of the fields, if the query has none. If `nil`, those of the plan, and none for fruit that a sensor blocks.
  ///   - asOf: The time of the numbers on the page.
  func report(_ filled: Route.StopReport?, asOf: HTML) -> HTML {
    """
    <form method="post" action="\(path)" data-fill="\(stop.title(language))">
    \(context.fields(id: stop.command))\(isFilled ? CommonNotices.notSentYet(language) : nil)
    \(asOf)\(stop.lines.map { row($0, filled) })\(dates(filled))
    <p class="muted">\(language(
      "Leave “counted” empty where you have not counted. A negative number removes fruit.",
      "세지 않은 과일은 ‘센 수량’을 비워 두세요. 빼낸 과일은 음수로 적어 주세요."))</p>
    <label class="choice"><input type="checkbox" name="fit" value="1" checked> \(language(
      "Fill up: if less fits than was brought, only what fits counts.",
      "가득 채움: 채운 수량보다 적게 들어가면 들어간 만큼만 기록해요."))</label>
    <div class="actions"><button class="primary">\(language("Confirm", "확인"))</button></div>
    </form>
    """
  }

  /// Returns the fields for the dates on the packages.
  ///
  /// - Parameters:
  ///   - keepsOthers: Whether the dates that the query does not contain are those of `filled`.
  ///   - isFixed: Whether the user can change no date.
  private func dates(
    _ filled: Route.StopReport?, keepsOthers: Bool = false, isFixed: Bool = false
  ) -> HTML {
    let days = stop.lines.map { line -> (name: String, fruit: Fruit.ID, day: String) in
      let fruit = line.fruit.id
      let own = isFixed ? nil : context.filled["best.\(fruit)"]
      let other = isFilled && !keepsOthers ? nil : filled?.bestBefore[fruit]?.description
      return (line.fruit.name[language], fruit, own ?? other ?? "")
    }
    let fields: [HTML] = days.map { name, fruit, day in
      """
      <label>\(name) <input type="date" name="best.\(fruit)" value="\(day)"\(isFixed ? " readonly" : .empty)></label>

      """
    }
    return CommonNotices.bestBefore(fields, isOpen: days.contains { !$0.day.isEmpty }, language)
  }

  private func row(_ line: Route.Line, _ filled: Route.StopReport?) -> HTML {
    let fruit = line.fruit.id
    let name = line.fruit.name[language]
    let address = isFilled ? context.filled : nil
    let isBlocked = line.bring > 0 && kiosk?.reports.blockedFruits.contains(fruit) == true
    // What did not fit at a rejected attempt may fit at the next one.
    let brought =
      address.map { $0.numberText("brought.\(fruit)") ?? "0" }
      ?? filled.map { String($0.entered[fruit] ?? 0) } ?? (isBlocked ? "" : String(line.bring))
    let blocked: HTML? =
      brought.isEmpty
      ? """
       · <b class="short">\(language("blocked by a sensor: enter the amount, or 0", "센서가 차단함: 수량을 적고, 없으면 0"))</b>
      """ : nil
    let counted =
      address.map { $0.numberText("counted.\(fruit)") ?? "" }
      ?? filled?.counted[fruit].map { String($0) } ?? ""
    // A count is compared with the ledger at the time of counting.
    let ledger = address?.value("ledger.\(fruit)").flatMap { counted.isEmpty ? nil : String($0) }
    return """
      <fieldset class="line"\((kiosk?.menu?.capacities[fruit]).map { " data-capacity=\"\($0)\"" as HTML })><legend>\(name)</legend>
      <span class="muted">\(language("planned", "계획")) \(line.bring) · \(self.ledger(line).html)\(blocked)</span>
      \(HTML.hidden("ledger.\(fruit)", ledger ?? stock(of: fruit)))
      <label><span>\(language("Counted", "센 수량"))</span>
      <input type="number" inputmode="numeric" min="0" name="counted.\(fruit)" value="\(counted)"></label>
      <label><span>\(language("Brought", "채운 수량"))</span>
      <input type="number" inputmode="numeric" name="brought.\(fruit)" value="\(brought)"\(line.bring > 0 ? " required" : .empty)></label>
      <p class="fits" role="status" hidden>\(language("Only this many fit:", "들어가는 수량:")) <b></b>
      <button type="button">\(language("Use this number", "이 수량으로 바꾸기"))</button></p>
      </fieldset>

      """
  }

  /// Returns the current recorded stock, and the amount that fits.
  func ledger(_ line: Route.Line) -> LivePart {
    let stock = stock(of: line.fruit.id)
    let room: HTML? = room(for: line).map { room in
      let text = language("room for \(room)", "\(room)개 더 넣을 수 있음")
      return room < line.bring ? " · <b class=\"short\">\(text)</b>" : " · \(text)"
    }
    return LivePart(
      "ledger-\(line.fruit.id)", tag: "span",
      """
      \(language("ledger", "장부")) <b data-ledger="\(stock)">\(stock.isEmpty ? "?" : stock)</b>\(room)
      """)
  }

  /// Returns the amount that fits now, or `nil` if the stock or the capacity is unknown.
  private func room(for line: Route.Line) -> Int? {
    kiosk?.room(for: line.fruit.id, counted: answeredStock[line.fruit.id])
  }

  /// Returns the stock, or an empty text if the stock is unknown.
  private func stock(of fruit: Fruit.ID) -> String {
    (answeredStock[fruit] ?? kiosk?.stock?.fruits[fruit]).map { String($0) } ?? ""
  }

  /// A form that sends the same numbers again, with the same command id.
  var again: HTML {
    let same = stop.report.map { report in
      report.entered.fields("brought") + report.counted.fields("counted")
        + report.ledger.fields("ledger")
        + report.bestBefore.map { HTML.hidden("best.\($0.key)", $0.value.description) }
    }
    return """
      <form method="post" action="\(path)" data-fill="\(stop.title(language))">
      \(context.fields(id: stop.report?.command))\(same ?? [])
      <div class="actions"><button class="primary">\(language("Send again", "다시 보내기"))</button></div>
      </form>
      """
  }

  /// The form that corrects the applied report. While a correction has no answer, the form sends
  /// the same correction again.
  var correction: HTML {
    let sent = stop.correction
    let shown = sent ?? stop.report
    let isUnanswered = sent?.outcome == .unknown
    let rows: [HTML] = stop.lines.map { line in
      let fruit = line.fruit.id
      func field(_ kind: String, _ label: String, _ amount: Int, _ limit: HTML) -> HTML {
        let own = isUnanswered ? nil : context.filled.numberText("\(kind).\(fruit)")
        return """
          <label><span>\(label)</span>
          <input type="number" inputmode="numeric"\(limit) name="\(kind).\(fruit)" value="\(own ?? String(amount))"\
          \(isUnanswered ? " readonly" : .empty)></label>

          """
      }
      let count = stop.report?.counted[fruit].map { old in
        field("counted", language("Counted", "센 수량"), shown?.counted[fruit] ?? old, " min=\"0\"")
      }
      return """
        <fieldset class="line"><legend>\(line.fruit.name[language])</legend>\(count)\
        \(field("brought", language("Brought", "채운 수량"), shown?.brought[fruit] ?? 0, .empty))</fieldset>

        """
    }
    return """
      <form method="post" action="\(path)/correct">\(context.fields(id: isUnanswered ? sent?.command : .correction(of: stop.report?.entry)))\
      \(HTML.hidden("correct", context.filled["correct"] ?? "dates"))
      <p class="muted">\(language(
        "Enter the right numbers. The difference is recorded now; the stop report and the sums of the route have the right ones.",
        "맞는 수량을 적어 주세요. 차이를 지금 기록하고, 방문 기록과 합계도 고쳐요."))</p>
      \(rows)\(dates(shown, keepsOthers: true, isFixed: isUnanswered))
      <p class="muted">\(language(
        "A date is recorded only of fruit that you add now. To change the date of other fruit, correct its amount to 0, and then add it with its date.",
        "날짜는 지금 더하는 과일에만 기록돼요. 이미 넣은 과일의 날짜를 바꾸려면 수량을 0으로 고친 뒤 날짜와 함께 다시 더해 주세요."))</p>
      <div class="actions"><button class="primary"\(context.filled["correct"] == "1" ? " data-discard" : .empty)>\(isUnanswered
        ? language("Send again", "다시 보내기") : language("Correct", "고치기"))</button></div></form>
      """
  }

  /// The report with the values in the query, if a report with others was sent before and not
  /// rejected; otherwise `nil`.
  var addressed: Route.StopReport? {
    guard isFilled, context.filled["correct"] == nil, let report = stop.report, !stop.isOpen
    else { return nil }
    func amounts(_ kind: String) -> FruitAmounts {
      FruitAmounts(
        stop.lines.compactMap { line in
          context.filled.value("\(kind).\(line.fruit.id)").map { (line.fruit.id, $0) }
        })
    }
    let own = Route.StopReport(
      command: report.command, user: context.user?.name.text ?? "", at: report.at,
      brought: FruitAmounts(amounts("brought").filter { $0.amount != 0 }),
      counted: amounts("counted"), ledger: amounts("ledger"),
      bestBefore: Dictionary(
        stop.lines.compactMap { line in
          context.filled["best.\(line.fruit.id)"].flatMap { CivilDate($0) }
            .map { (line.fruit.id, $0) }
        }, uniquingKeysWith: { first, _ in first }))
    return own.isSame(as: report) ? nil : own
  }

  /// Whether the query of the address fills in numbers.
  private var isFilled: Bool {
    stop.lines.contains {
      context.filled.numberText("brought.\($0.fruit.id)") != nil
        || context.filled.numberText("counted.\($0.fruit.id)") != nil
    }
  }
}
