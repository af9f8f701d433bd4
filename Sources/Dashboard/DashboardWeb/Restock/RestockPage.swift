import Fleet
import JuiceDomain
import KioskProtocol

/// The page that reviews a restock before it is sent, and the page that shows its result.
struct RestockPage {
  let kiosk: KioskState
  let now: Timestamp
  let context: PageContext

  private var language: Language { context.language }

  /// Returns a page with all changes of the restock, to confirm them together.
  ///
  /// - Parameters:
  ///   - id: The id of the command, which is equal for each attempt to send it.
  ///   - isRepeat: Whether the command was sent already. Then nothing in it may change: the kiosk
  ///     executes only the first command with an id.
  ///   - button: The label of the button that sends the restock, or `nil` for the usual one.
  func review(
    _ restock: Restock, id: CommandID, notice: HTML? = nil, isRepeat: Bool = false,
    button: String? = nil
  ) -> Page {
    let changes = changes(restock)
    let problems = changes.compactMap { problem(with: $0) }
    let title = language("Review", "확인하기")
    let confirm: HTML =
      !problems.isEmpty || changes.isEmpty
      ? ""
      : """
      <form method="post" action="/kiosks/\(kiosk.id)/restock">
      \(context.fields(id: id))
      \(restock.add.fields("add"))\(restock.set.fields("set"))\(restock.expect.fields("expect"))
      \(dates(of: restock, isRepeat: isRepeat))
      <button class="primary" autofocus>\(button ?? language("Restock", "재고 채우기"))</button>
      </form>
      """
    // The kiosk may have applied a repeated command: its numbers are not entered again.
    let numbers: [String] =
      isRepeat
      ? []
      : restock.add.map { "add.\($0.fruit)=\($0.amount)" }
        + restock.set.map { "set.\($0.fruit)=\($0.amount)" }
    let form = "/kiosks/\(kiosk.id)" + (numbers.isEmpty ? "" : "?") + numbers.joined(separator: "&")
    let nothing: HTML? =
      changes.isEmpty
      ? "<p class=\"empty\">\(language("There is nothing to change.", "바꿀 것이 없어요."))</p>" : nil
    return page(
      title,
      """
      \(notice)\(kiosk.isOnline ? nil : CommonNotices.offline(language))
      \(problems.map { HTML.notice(.bad, $0) })
      \(nothing)\(changes.isEmpty ? .empty : table(changes))
      <div class="actions">\(confirm)\(back(language("Back", "뒤로"), to: form))</div>
      """)
  }

  /// Returns the fields for the dates on the packages of the added fruits, or `nil` if the restock
  /// adds no fruit. The dates of a repeated command are hidden.
  private func dates(of restock: Restock, isRepeat: Bool) -> HTML? {
    let fields: [HTML] = kiosk.inMenuOrder(restock.add).filter { $0.amount > 0 }.map { fruit, _ in
      let time = restock.bestBefore[fruit].map {
        LocalTime(kiosk.timeZone, now: Timestamp(milliseconds: $0), language)
          .field(Timestamp(milliseconds: $0))
      }
      let day = restock.bestBeforeDay[fruit].map { CivilDate(daysSinceEpoch: $0).description }
      let value = time ?? day ?? ""
      if isRepeat { return .hidden("best.\(fruit)", value) }
      let type: HTML = time == nil ? "date" : "datetime-local"
      let held: HTML? = kiosk.expiry(of: fruit, now: now, language).map {
        " <small class=\"muted\">(\(language("in the kiosk:", "키오스크 안:")) \($0))</small>"
      }
      return """
        <label>\(name(fruit))\(held) <input type="\(type)" name="best.\(fruit)" value="\(value)"></label>

        """
    }
    if fields.isEmpty { return nil }
    if isRepeat { return "\(fields)" }
    let hasDates = !restock.bestBefore.isEmpty || !restock.bestBeforeDay.isEmpty
    return CommonNotices.bestBefore(fields, isOpen: hasDates, language)
  }

  /// Returns whether a restock needs a review before it is sent.
  func isDoubtful(_ restock: Restock) -> Bool {
    !kiosk.isOnline || changes(restock).contains { problem(with: $0) != nil }
  }

  /// Returns a page with the kiosk's answer.
  func outcome(_ result: CommandResult?, of restock: Restock, id: CommandID) -> Page {
    // After `rateLimited`, the kiosk may have executed an earlier copy of the command.
    guard let result, result.reason != .rateLimited else {
      return review(
        restock, id: id, notice: CommonNotices.noAnswer(language), isRepeat: true,
        button: language("Send again", "다시 보내기"))
    }
    switch (result.status, result.reason) {
    case (.applied, _):
      return page(
        language("Restocked", "재고를 채웠어요"),
        """
        \(language.notice(
          .good, "Done.\n\(sentence(restock)) The stock now:", "완료!\n\(sentence(restock)) 지금 재고예요."))
        \(stock(result.stock ?? [:]))
        <div class="actions">\(back(language("To the kiosk", "키오스크로"), to: "/kiosks/\(kiosk.id)", isPrimary: true))
        \(result.seq.map(undo))</div>
        """)
    case (.rejected, .conflict):
      return conflict(result, restock)
    default:
      let notice = CommonNotices.rejected(
        result.reason?.text(language) ?? "",
        language.detail(result.detail, at: kiosk) ?? "", language)
      return review(restock, id: .random, notice: notice)
    }
  }

  /// Returns a sentence with the changes, such as `+98 Strawberry (best before 2026-12-03), −2 Kiwi.`
  private func sentence(_ restock: Restock) -> String {
    let changes = changes(restock).filter { $0.after != $0.before }
    guard !changes.isEmpty else { return "" }
    return changes.map { change in
      let amount = language.amount(
        signed(change.after - change.before), of: name(change.fruit))
      let date = date(of: change.fruit, in: restock)
      return date.map { "\(amount) (\(language("best before", "유통기한")) \($0))" } ?? amount
    }.joined(separator: ", ") + "."
  }

  /// Returns the date that was entered for an added fruit, or `nil` if there is none.
  private func date(of fruit: Fruit.ID, in restock: Restock) -> String? {
    if let day = restock.bestBeforeDay[fruit] { return "\(CivilDate(daysSinceEpoch: day))" }
    return restock.bestBefore[fruit].map {
      LocalTime(kiosk.timeZone, now: now, language).full(Timestamp(milliseconds: $0))
    }
  }

  /// Returns the form that undoes the entry.
  private func undo(_ seq: Int) -> HTML {
    """
    <form method="post" action="/kiosks/\(kiosk.id)/undo">\(context.fields())
    <button name="undo" value="\(seq)">\(language("Undo", "되돌리기"))</button></form>
    """
  }

  /// Returns a review of the same numbers next to the current stock.
  private func conflict(_ result: CommandResult, _ restock: Restock) -> Page {
    let stock = FruitAmounts(
      restock.expect.map { fruit, expected in
        (fruit, result.stock?[fruit] ?? kiosk.stock?.fruits[fruit] ?? expected)
      })
    return review(
      Restock(
        add: restock.add, set: restock.set, expect: stock, bestBefore: restock.bestBefore,
        bestBeforeDay: restock.bestBeforeDay),
      id: .random,
      notice: CommonNotices.conflict(
        expected: restock.expect, stock: stock,
        advice: language("Set your numbers anyway?", "그래도 이 수량으로 맞출까요?"), language,
        name: name), button: language("Set anyway", "그래도 맞추기"))
  }

  private struct Change {
    let fruit: Fruit.ID
    let before: Int
    let after: Int
    /// Whether the number was counted and replaces the stock.
    let isCounted: Bool
  }

  private func changes(_ restock: Restock) -> [Change] {
    let fruits = kiosk.menu?.menu.fruits.map(\.id) ?? []
    let others = (restock.add.map(\.fruit) + restock.set.map(\.fruit)).filter {
      !fruits.contains($0)
    }
    return (fruits + others).compactMap { fruit in
      guard restock.add[fruit] != nil || restock.set[fruit] != nil else { return nil }
      let before = restock.expect[fruit] ?? kiosk.stock?.fruits[fruit] ?? 0
      // Does not overflow: no number exceeds `JSON.maximumAmount`.
      let after = (restock.set[fruit] ?? before) + (restock.add[fruit] ?? 0)
      return Change(
        fruit: fruit, before: before, after: after, isCounted: restock.set[fruit] != nil)
    }
  }

  private func problem(with change: Change) -> String? {
    let name = name(change.fruit)
    if change.after < 0 {
      return language(
        "\(name): there are only \(change.before).", "\(name): \(change.before)개밖에 없어요.")
    }
    guard let capacity = kiosk.menu?.capacities[change.fruit],
      change.after > max(capacity, change.before)
    else { return nil }
    return language(
      "\(name): the capacity is \(capacity).", "\(name): 최대 \(capacity)개까지 넣을 수 있어요.")
  }

  private func table(_ changes: [Change]) -> HTML {
    let rows: [HTML] = changes.map { change in
      let difference = change.after - change.before
      return """
        <tr><th scope="row">\(name(change.fruit))</th><td>\(change.before)</td>
        <td class="change">\(difference > 0 ? "+" : "")\(difference)\
        \(change.isCounted ? " <small>\(language("counted", "직접 셈"))</small>" : .empty)</td>
        <td><strong>\(change.after)</strong></td></tr>

        """
    }
    return .table(
      [
        language("Fruit", "과일"), language("Now", "지금"), language("Change", "변경"),
        language("Then", "변경 후"),
      ], rows)
  }

  private func stock(_ stock: FruitAmounts) -> HTML {
    let rows: [HTML] = kiosk.inMenuOrder(stock).map { fruit, amount in
      "<tr><th scope=\"row\">\(name(fruit))</th><td><strong>\(amount)</strong></td></tr>"
    }
    return "<table class=\"review\"><tbody>\(rows)</tbody></table>"
  }

  private func name(_ fruit: Fruit.ID) -> String { kiosk.name(of: fruit, language) }

  private func back(_ text: String, to target: String, isPrimary: Bool = false) -> HTML {
    "<a class=\"button\(isPrimary ? " primary" : .empty)\" href=\"\(target)\"\(isPrimary ? " autofocus" : .empty)>\(text)</a>"
  }

  private func page(_ title: String, _ content: HTML) -> Page {
    Page(
      title: "\(title) · \(kiosk.title(language))",
      body: """
        <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.title(language))</a></p>
        <section class="card narrow"><h1>\(title)</h1>
        \(content)
        </section>
        """)
  }
}
