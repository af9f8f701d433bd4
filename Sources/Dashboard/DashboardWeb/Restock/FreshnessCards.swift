import Fleet
import JuiceDomain
import KioskProtocol

/// The card with the expired fruit that must be taken out of a kiosk, and the form for other
/// fruit that a person takes out.
struct FreshnessCards {
  let kiosk: KioskState
  let context: PageContext

  private var language: Language { context.language }

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
      <ul class="feed">\(kiosk.inMenuOrder(kiosk.expired).map { row($0.fruit, $0.amount) })</ul>\(all)
      """)
  }

  /// The button for all expired fruits, or `nil` if there is only one.
  private var all: HTML? {
    guard context.canReport, kiosk.expired.count > 1 else { return nil }
    let text = language("All of it thrown away", "모두 버림")
    return "<div class=\"actions\">\(context.button(.remove, ".spoiled", text))</div>"
  }

  private func row(_ fruit: Fruit.ID, _ amount: Int) -> HTML {
    let name = kiosk.name(of: fruit, language)
    let buttons: [HTML] = [Removal.Reason.spoiled, .givenAway].map { reason in
      let text = language.takenOut(reason)
      return context.button(.remove, "\(fruit).\(reason.rawValue)", text, label: "\(text): \(name)")
    }
    let actions: HTML? =
      context.canReport
      ? """
      <div class="actions"><input type="hidden" form="send-remove" name="amount.\(fruit)" value="\(amount)">\
      \(buttons)</div>
      """ : nil
    return "<li><span class=\"what\">\(name): <b>\(amount)</b></span>\(actions)</li>\n"
  }

  /// The form for fruit that has not expired.
  var removal: HTML {
    let fields: [HTML] = (kiosk.menu?.menu.fruits ?? []).map { fruit in
      """
      <label>\(fruit.name[language])
      <input type="number" inputmode="numeric" min="1" name="remove.\(fruit.id)"\
      \(context.filled.numberText("remove.\(fruit.id)").map { " value=\"\($0)\"" as HTML })></label>

      """
    }
    let reasons: [HTML] = Removal.Reason.allCases.map { reason in
      """
      <option value="\(reason.rawValue)"\(reason.rawValue == context.filled["reason"] ? " selected" : .empty as HTML)>\
      \(reason.text(language))</option>
      """
    }
    return """
      <section class="card">
      <details\(context.filled.names("remove.").isEmpty ? " class=\"fold\"" : " open" as HTML)><summary><h2>\(language("Take fruit out", "과일 꺼내기"))</h2></summary>
      <form method="post" action="/kiosks/\(kiosk.id)/remove">
      \(context.fields(id: .random))
      <div class="counts">\(fields)</div>
      <div class="actions"><label>\(language("Reason", "사유")) <select name="reason">\(reasons)</select></label>
      <button>\(language("Take out", "꺼내기"))</button></div></form></details>
      </section>
      """
  }
}

extension Language {
  fileprivate func takenOut(_ reason: Removal.Reason) -> String {
    reason == .givenAway ? self("Given away", "나눔") : self("Thrown away", "버림")
  }
}
