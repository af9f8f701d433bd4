import Fleet
import JuiceDomain
import KioskProtocol

/// The page for a customer's tablet: the buttons of the menu, and the progress of the order.
struct TabletPage {
  let kiosk: KioskState
  /// Whether orders do not reach the kiosk, or its state is out of date.
  let isOut: Bool
  let now: Timestamp
  let language: Language
  let pictures: OwnPictures

  var answer: OrderAnswer {
    OrderAnswer(kiosk: kiosk, now: now, language: language, isForCustomer: true)
  }

  /// Returns the page with the result of the last press, or without a result for `nil`.
  func page(path: String, live: String, answer: HTML? = nil) -> ScreenPage {
    ScreenPage(
      screen: .tablet, title: kiosk.title(language),
      body: """
        <h1>\(language("What would you like?", "무엇을 드릴까요?"))</h1>
        <p class="closed silence">\(language.outOfService)</p>
        \(outage.html)
        <div class="message" role="status" aria-live="polite">\(answer)</div>
        <form method="post" action="\(path)" data-inline>
        \(HTML.hidden("id", CommandID.random.text))
        \(buttons.html)
        </form>
        \(words.html)\(ScreenPage.alive(now, language).html)
        """, language: language, path: path, live: live)
  }

  var liveParts: [LivePart] {
    [outage, buttons, words, ScreenPage.alive(now, language)] + answer.liveParts
  }

  private var outage: LivePart {
    LivePart("outage", isOut ? "<p class=\"closed\">\(language.outOfService)</p>" : .empty)
  }

  private var buttons: LivePart {
    isOut
      ? LivePart("buttons", class: "juices", .empty)
      : JuiceButtons(kiosk: kiosk, language: language, pictures: pictures, areDisabled: true).part
  }

  private var words: LivePart {
    LivePart("words", tag: "footer", "\(kiosk.notice?[language] ?? "")")
  }
}
