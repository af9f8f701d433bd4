import Fleet
import JuiceDomain
import KioskProtocol
import MessageBroker

/// The operator's page with a panel of buttons, for tests and as a replacement for a broken button.
struct PanelPage {
  let kiosk: KioskState
  let connectionError: BrokerError?
  let now: Timestamp
  let context: PageContext
  let pictures: OwnPictures

  private var language: Language { context.language }

  var answer: OrderAnswer {
    OrderAnswer(kiosk: kiosk, now: now, language: language, isForCustomer: false)
  }

  /// Returns the page with the result of the last press, or without a result for `nil`.
  func page(answer: HTML? = nil) -> Page {
    Page(
      title: "\(language("Virtual panel", "가상 버튼")) · \(kiosk.title(language))",
      body: """
        <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.title(language))</a></p>
        <h1>\(language("What would you like?", "무엇을 드릴까요?"))</h1>
        \(outage.html)
        \(self.answer.message(answer))
        <form method="post" action="/kiosks/\(kiosk.id)/panel" data-inline>
        \(context.fields(id: .random))
        \(buttons.html)
        </form>
        \(alive.html)
        """, live: "/kiosks/\(kiosk.id)/panel/live")
  }

  var liveParts: [LivePart] { [outage, buttons, alive] + answer.liveParts }

  private var alive: LivePart { ScreenPage.alive(now, language) }

  /// The notice that orders do not reach the kiosk, without the reason, which a customer does not
  /// need.
  private var outage: LivePart {
    let isOut = connectionError != nil || !kiosk.isOnline
    return LivePart("broker", isOut ? .notice(.bad, language.outOfService) : .empty)
  }

  private var buttons: LivePart {
    JuiceButtons(kiosk: kiosk, language: language, pictures: pictures, areDisabled: false).part
  }
}
