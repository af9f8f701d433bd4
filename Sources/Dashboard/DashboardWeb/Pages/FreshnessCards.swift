import Fleet
import JuiceDomain
import KioskProtocol

/// The card with the expired fruit that must be taken out of a kiosk, and the form for other
/// fruit that a person takes out.
struct FreshnessCards {
  let kiosk: KioskState
  let context: PageContext

  private var language: Language { context.language }
  private var path: String { "/kiosks/\(kiosk.id)/remove" }

  /// The form of the buttons of `expired`, or `nil` for a viewer. The form is separate, because
  /// live updates replace the list.
  var form: HTML? {
    context.isOperator
      ? """
      <form id="take-out" method="post" action="\(path)">\(context.fields(id: .random))</form>
      """ : nil
  }

  /// The expired fruit, or an empty part if there is none.
  var expired: LivePart {
    if kiosk.expired.isEmpty { return LivePart("expired", .empty) }
    return LivePart(
      "expired", tag: "section", class: "card ask",
      """
      <h2>\(language("Expired: take it out", "유통기한이 지났어요: 꺼내 주세요"))</h2>
      <p class="muted">\(language(
        "None of it is sold. When you have taken it out of the kiosk, record what became of it.",
        "판매하지 않아요. 키오스크에서 꺼낸 뒤 어떻게 했는지 기록해 주세요."))</p>
      <ul class="feed">\(kiosk.expired.map { row($0.fruit, $0.amount) })</ul>
      """)
  }

  private func row(_ fruit: Fruit.ID, _ amount: Int) -> HTML {
    let name = kiosk.name(of: fruit, language)
    let buttons: [HTML] = [Removal.Reason.spoiled, .givenAway].map { reason in
      let text = language.takenOut(reason)
      return """
        <button id="\(reason.rawValue)-\(fruit)" form="take-out" name="expired" \
        value="\(fruit).\(reason.rawValue)" aria-label="\(text): \(name)">\(text)</button>

        """
    }
    let actions: HTML? =
      context.isOperator
      ? """
      <div class="actions"><input type="hidden" form="take-out" name="amount.\(fruit)" value="\(amount)">\
      \(buttons)</div>
      """ : nil
    return "<li><span class=\"what\">\(name): <b>\(amount)</b></span>\(actions)</li>\n"
  }

  /// The form for fruit that has not expired.
  var removal: HTML {
    let fields: [HTML] = (kiosk.menu?.menu.fruits ?? []).map { fruit in
      """
      <label>\(fruit.name[language])
      <input type="number" inputmode="numeric" min="1" name="remove.\(fruit.id)"></label>

      """
    }
    let reasons: [HTML] = Removal.Reason.allCases.map { reason in
      "<option value=\"\(reason.rawValue)\">\(reason.text(language))</option>"
    }
    return """
      <section class="card">
      <details class="fold"><summary><h2>\(language("Take fruit out", "과일 꺼내기"))</h2></summary>
      <form method="post" action="\(path)">\(context.fields(id: .random))
      <div class="counts">\(fields)</div>
      <div class="actions"><label>\(language("Reason", "사유")) <select name="reason">\(reasons)</select></label>
      <button>\(language("Take out", "꺼내기"))</button></div></form></details>
      </section>
      """
  }
}

extension Removal {
  /// Reads the form of `FreshnessCards`: a button such as `kiwi.spoiled`, or the fields of
  /// `removal`.
  init(_ form: Form) throws(RequestError) {
    if let button = form["expired"] {
      let parts = button.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let fruit = Fruit.ID(parts[0]),
        let reason = Reason(rawValue: parts[1]),
        let amount = try form.number("amount.\(fruit)"), amount > 0
      else { throw .badForm }
      self.init(expired: [fruit: amount], reason: reason)
    } else {
      guard let reason = form["reason"].flatMap(Reason.init(rawValue:)) else { throw .badForm }
      let stock = try form.amounts("remove.", isChange: true)
      guard stock.allSatisfy({ $0.amount > 0 }) else { throw .badForm }
      self.init(stock: stock, reason: reason)
    }
  }
}

extension Language {
  fileprivate func takenOut(_ reason: Removal.Reason) -> String {
    reason == .givenAway ? self("Given away", "나눔") : self("Thrown away", "버림")
  }
}

extension PageContext {
  /// Returns the notice with the answer to a removal.
  func notice(_ result: CommandResult?, of removal: Removal, at kiosk: KioskState) -> HTML {
    switch (result?.status, result?.reason) {
    case (.applied, _):
      let amounts = removal.amounts.map { "\($1) \(kiosk.name(of: $0, language))" }
        .joined(separator: ", ")
      return language.notice(
        .good, "Recorded as taken out: \(amounts).", "꺼낸 것으로 기록했어요: \(amounts).")
    case (_, .conflict):
      return language.notice(
        .warn, "Nothing was recorded: it was taken out already, or more has expired meanwhile.",
        "그사이 다른 사람이 꺼냈거나 더 만료돼서 기록하지 않았어요.")
    case (_, let reason?): return .notice(.bad, reason.text(language))
    default:
      return language.notice(
        .warn,
        "No answer yet. The kiosk may or may not have recorded it: look before you try again.",
        "아직 응답이 없어요. 다시 시도하기 전에 재고를 확인해 주세요.")
    }
  }
}
