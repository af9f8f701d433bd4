import Fleet
import JuiceDomain
import KioskProtocol

/// The page for a customer's tablet: the buttons of the menu, and the progress of the order.
struct TabletPage {
  let kiosk: KioskState
  /// Whether orders do not reach the kiosk, or its state is out of date or unknown.
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
        <p class="closed silence">\(language.outOfService)</p>
        \(heading.html)
        \(self.answer.message(answer))
        <form method="post" action="\(path)" data-inline>
        \(HTML.hidden("id", CommandID.random.text))
        \(buttons.html)
        </form>
        \(ScreenPage.words(kiosk, language).html)\(ScreenPage.alive(now, language).html)
        """, language: language, path: path, live: live)
  }

  var liveParts: [LivePart] {
    [heading, buttons, ScreenPage.words(kiosk, language), ScreenPage.alive(now, language)]
      + answer.liveParts
  }

  /// The question to the customer, or the text while nothing can be ordered.
  private var heading: LivePart {
    let closed = isOut ? language.outOfService : kiosk.notOrdering(language)
    let text = closed ?? language("What would you like?", "무엇을 드릴까요?")
    return LivePart(
      "heading", class: isOut ? "out" : "",
      "<h1 class=\"\(closed == nil ? .empty : "closed")\">\(text)</h1>")
  }

  private var buttons: LivePart {
    isOut
      ? LivePart("buttons", class: "juices", .empty)
      : JuiceButtons(kiosk: kiosk, language: language, pictures: pictures, areDisabled: true).part
  }
}
