import Fleet
import JuiceDomain
import KioskMessages

/// A restock before it is sent, and what became of it.
struct RestockPage {
  let kiosk: KioskState
  let visit: PageContext

  private var language: Language { visit.language }

  /// Everything that would change, to be confirmed as one.
  ///
  /// - Parameter id: of the command; the same when it is sent again.
  func review(_ restock: Restock, id: CommandID, notice: HTML? = nil) -> Page {
    let changes = changes(restock)
    let problems = changes.compactMap { problem(with: $0) }
    let title = language("Review", "확인하기")
    let confirm: HTML =
      !problems.isEmpty || changes.isEmpty
      ? ""
      : """
      <form method="post" action="/kiosks/\(kiosk.id)/restock">
      <input type="hidden" name="proof" value="\(visit.proof)">
      <input type="hidden" name="id" value="\(id)">
      \(fields("add", restock.add))\(fields("set", restock.set))\(fields("expect", restock.expect))
      <button class="primary" autofocus>\(language("Restock", "재고 채우기"))</button>
      </form>
      """
    let nothing: HTML? =
      changes.isEmpty
      ? "<p class=\"empty\">\(language("There is nothing to change.", "바꿀 것이 없어요."))</p>" : nil
    let offline: HTML? =
      kiosk.isOnline
      ? nil
      : """
      <p class="notice warn">\(language(
        "This kiosk is offline: it cannot answer before it is back.",
        "이 키오스크는 오프라인이라 돌아올 때까지 응답할 수 없어요."))</p>
      """
    return page(
      title,
      """
      \(notice)\(offline)
      \(problems.map { "<p class=\"notice bad\" role=\"alert\">\($0)</p>" as HTML })
      \(nothing)\(changes.isEmpty ? .empty : table(changes))
      <div class="actions">\(confirm)\(back(language("Back", "뒤로")))</div>
      """)
  }

  /// Whether somebody has to look at it before it is sent.
  func isDoubtful(_ restock: Restock) -> Bool {
    !kiosk.isOnline || changes(restock).contains { problem(with: $0) != nil }
  }

  /// What the kiosk has answered.
  func outcome(_ result: CommandResult?, of restock: Restock, id: CommandID) -> Page {
    guard let result else {
      let notice: HTML = """
        <p class="notice warn" role="alert"><strong>\(language("No answer yet.", "아직 응답이 없어요."))</strong>
        \(language(
          "The kiosk may have done it or not. Sending it again is safe: it is done once.",
          "처리됐는지 아직 알 수 없어요. 다시 보내도 한 번만 처리되니 안심하세요."))</p>
        """
      return review(restock, id: id, notice: notice)
    }
    switch (result.status, result.reason) {
    case (.applied, _):
      return page(
        language("Restocked", "재고를 채웠어요"),
        """
        <p class="notice good" role="status">\(language("Done. The stock now:", "완료! 지금 재고예요."))</p>
        \(stock(result.stock ?? [:]))
        <div class="actions">\(back(language("To the kiosk", "키오스크로"), isPrimary: true))</div>
        """)
    case (.rejected, .conflict):
      return conflict(result, restock)
    default:
      let reason = result.reason?.words(language) ?? ""
      let notice: HTML = """
        <p class="notice bad" role="alert"><strong>\(language(
          "Nothing was changed:", "아무것도 바뀌지 않았어요:"))</strong> \(reason).
        <span class="muted">\(result.detail ?? "")</span></p>
        """
      return review(restock, id: .random, notice: notice)
    }
  }

  /// Offers the same numbers again, over what is there now.
  private func conflict(_ result: CommandResult, _ restock: Restock) -> Page {
    var (expect, moved) = (restock.expect, [HTML]())
    for (fruit, expected) in restock.expect {
      let actual = result.stock?[fruit] ?? kiosk.stock?.fruits[fruit] ?? expected
      expect[fruit] = actual
      if actual != expected {
        moved.append("<li>\(name(fruit)): \(expected) → <strong>\(actual)</strong></li>")
      }
    }
    return review(
      Restock(add: restock.add, set: restock.set, expect: expect), id: .random,
      notice: """
        <div class="notice warn" role="alert"><strong>\(language(
          "The stock has moved on since you looked. Nothing was changed.",
          "그사이 재고가 바뀌어서 아무것도 변경하지 않았어요."))</strong>
        <ul>\(moved)</ul>
        \(language("Set your numbers all the same?", "그래도 이 수량으로 맞출까요?"))</div>
        """)
  }

  private struct Change {
    let fruit: Fruit.ID
    let before: Int
    let after: Int
    /// The number was counted, and stands whatever was there.
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
      // Both are at most a billion.
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
      "\(name): there is room for \(capacity).", "\(name): 최대 \(capacity)개까지 넣을 수 있어요.")
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
    return """
      <table class="review"><thead><tr><th scope="col">\(language("Fruit", "과일"))</th>
      <th scope="col">\(language("Now", "지금"))</th><th scope="col">\(language("Change", "변경"))</th>
      <th scope="col">\(language("Then", "변경 후"))</th></tr></thead><tbody>\(rows)</tbody></table>
      """
  }

  private func stock(_ stock: FruitAmounts) -> HTML {
    let rows: [HTML] = stock.map { fruit, amount in
      "<tr><th scope=\"row\">\(name(fruit))</th><td><strong>\(amount)</strong></td></tr>"
    }
    return "<table class=\"review\"><tbody>\(rows)</tbody></table>"
  }

  private func fields(_ kind: String, _ amounts: FruitAmounts) -> [HTML] {
    amounts.map { fruit, amount in
      "<input type=\"hidden\" name=\"\(kind).\(fruit)\" value=\"\(amount)\">"
    }
  }

  private func name(_ fruit: Fruit.ID) -> String { kiosk.name(of: fruit, language) }

  private func back(_ text: String, isPrimary: Bool = false) -> HTML {
    "<a class=\"button\(isPrimary ? " primary" : .empty)\" href=\"/kiosks/\(kiosk.id)\">\(text)</a>"
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
