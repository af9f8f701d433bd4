import Fleet
import JuiceDomain
import KioskProtocol

/// A comparison of two reports about one stop: the report that was sent first, and the user's own
/// report. Its links correct the difference.
struct ReportComparison {
  let stop: Route.Stop
  /// The report that was sent, which applies.
  let sent: Route.StopReport
  /// The user's report, which was not sent because the stop already had a report.
  let own: Route.StopReport
  let context: PageContext

  private var language: Language { context.language }

  var html: HTML {
    let rows: [HTML] = stop.lines.compactMap { line in
      let (theirs, mine) = (words(sent, line.fruit.id), words(own, line.fruit.id))
      guard theirs != mine else { return nil }
      return """
        <tr><th scope="row">\(line.fruit.name[language])</th><td>\(theirs)</td><td>\(mine)</td>\
        <td>\(signed(difference(line.fruit.id)))</td></tr>

        """
    }
    let heads = [
      language("Fruit", "과일"), language("Sent by \(sent.user)", "\(sent.user) 님이 보냄"),
      language("Yours", "내 수량"), language("Difference", "차이"),
    ]
    let text = language(
      "This stop was already sent with other numbers or dates, which apply. Yours were not sent.",
      "이 방문지는 이미 다른 수량이나 날짜로 보냈어요. 그 내용이 유효하고, 내 것은 보내지 않았어요.")
    return .notice(
      .warn,
      html: """
        <strong>\(text)</strong>
        <div class="wide">\(HTML.table(heads, rows, id: "comparison"))</div>
        <div class="actions">
        <a class="button" data-discard href="?">\(language("Theirs are right", "보낸 수량이 맞아요"))</a>
        \(sent.isDone ? correct : nil)\(context.isOperator ? addition : nil)
        </div>
        \(isAboutDates && sent.isDone ? dates : nil)
        """, tag: "div")
  }

  /// Whether both reports have the same numbers, so that only dates differ.
  private var isAboutDates: Bool {
    stop.lines.map(\.fruit.id).allSatisfy {
      sent.entered[$0] == own.entered[$0] && sent.counted[$0] == own.counted[$0]
    }
  }

  private var dates: HTML {
    let text = language(
      "Only the date differs. The kiosk keeps the date of fruit that is in it: correct the sent amount to 0, and then to your amount with your date.",
      "날짜만 달라요. 이미 넣은 과일의 날짜는 바뀌지 않으니, 보낸 수량을 0으로 고친 뒤 내 수량과 날짜로 다시 고쳐 주세요.")
    return "<p>\(text)</p>"
  }

  /// The link to the form that corrects the sent report, filled in with the user's own numbers, which
  /// the browser keeps until the user sends the correction; of dates, which need a second correction, until
  /// that one. The form has counts only of fruits that the sent report has counted, so the amount of another
  /// fruit contains the difference of its count.
  private var correct: HTML {
    let values = stop.lines.flatMap { line -> [String] in
      let fruit = line.fruit.id
      guard words(sent, fruit) != words(own, fruit) else { return [] }
      let old = sent.counted[fruit]
      let count = old.map { own.counted[fruit] ?? sent.ledger[fruit] ?? $0 }
      let change = difference(fruit) - (count ?? 0) + (old ?? 0)
      let brought = isAboutDates ? 0 : (sent.brought[fruit] ?? 0) + change
      var fields = ["brought.\(fruit)=\(brought)"]
      if let count { fields.append("counted.\(fruit)=\(count)") }
      let day = own.bestBefore[fruit]?.description
      if day != nil || sent.bestBefore[fruit] != nil { fields.append("best.\(fruit)=\(day ?? "")") }
      return fields
    }
    let query = ([isAboutDates ? "correct=dates" : "correct=1"] + values).joined(separator: "&")
    return """
      <a class="button" href="?\(query)">\(language("Mine are right: correct it", "내 수량이 맞아요: 고치기"))</a>

      """
  }

  /// The link to the kiosk's restock form, filled in with the user's own amounts, or `nil` if there are
  /// none, or none that were brought besides those of the sent report. The user reviews the restock
  /// before sending it.
  private var addition: HTML? {
    guard !own.entered.isEmpty, !own.isCorrection, !isAboutDates else { return nil }
    let query = own.entered.map { "add.\($0.fruit)=\($0.amount)" }.joined(separator: "&")
    return """
      <a class="button" data-discard href="/kiosks/\(stop.kiosk)?\(query)">\(language("Both were put in: add mine", "둘 다 채웠어요: 내 수량 더하기"))</a>
      """
  }

  /// Returns a text such as `+5, 3 counted, best before 2026-12-01`.
  private func words(_ report: Route.StopReport, _ fruit: Fruit.ID) -> String {
    let (added, counted) = (report.entered[fruit] ?? 0, report.counted[fruit])
    let day = added > 0 ? report.bestBefore[fruit] : nil
    return [
      signed(added), counted.map { language("\($0) counted", "\($0) 셈") },
      day.map { language("best before \($0)", "유통기한 \($0)") },
    ].compactMap(\.self).joined(separator: ", ")
  }

  /// Returns the stock according to the user's report minus the stock according to the sent report;
  /// 0 if both have the same numbers, of which not all may have fitted.
  private func difference(_ fruit: Fruit.ID) -> Int {
    if sent.entered[fruit] == own.entered[fruit], sent.counted[fruit] == own.counted[fruit] {
      return 0
    }
    // A fruit that was not counted has the recorded stock.
    let ledger = own.ledger[fruit] ?? sent.ledger[fruit] ?? own.counted[fruit] ?? 0
    func stock(_ report: Route.StopReport, _ brought: FruitAmounts) -> Int {
      (report.counted[fruit] ?? ledger) + (brought[fruit] ?? 0)
    }
    return stock(own, own.entered) - stock(sent, sent.brought)
  }
}
