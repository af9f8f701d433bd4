import Fleet
import JuiceDomain
import KioskMessages

/// A panel of buttons in the browser: to try things out, and as a spare when a button breaks.
struct PanelPage {
  let kiosk: KioskState
  let trouble: String?
  let now: Timestamp
  let visit: PageContext

  private var language: Language { visit.language }

  /// - Parameter answer: what became of the last press.
  func page(answer: HTML? = nil) -> Page {
    Page(
      title: "\(language("Virtual panel", "가상 버튼")) · \(kiosk.id)",
      body: """
        <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.id)</a></p>
        <h1>\(language("What would you like?", "무엇을 드릴까요?"))</h1>
        \(Notices.broker(trouble, language).html)
        <div class="message" role="status" aria-live="polite">\(answer)</div>
        <form method="post" action="/kiosks/\(kiosk.id)/panel" data-inline>
        <input type="hidden" name="proof" value="\(visit.proof)">
        <input type="hidden" name="id" value="\(CommandID.random)">
        \(buttons.html)
        </form>
        """, live: "/kiosks/\(kiosk.id)/panel/live")
  }

  var liveParts: [LivePart] { [Notices.broker(trouble, language), buttons] }

  private var buttons: LivePart {
    guard let juices = kiosk.menu?.menu.juices, let stock = kiosk.stock?.fruits else {
      return LivePart(
        "buttons",
        "<p class=\"empty\">\(language("The kiosk has not told its menu yet.", "아직 메뉴를 받지 못했어요."))</p>"
      )
    }
    let buttons: [HTML] = juices.map { juice in
      let servings = juice.recipe.servings(of: stock)
      let left =
        servings == 0 ? language("sold out", "품절") : language("\(servings) left", "\(servings)잔 가능")
      return """
        <button id="juice-\(juice.id)" class="juice\(servings == 0 ? " gone" : .empty)" name="juice" value="\(juice.id)">
        <span class="name">\(juice.name[language])</span>
        <span class="muted">\(left)</span></button>

        """
    }
    return LivePart("buttons", class: "juices", "\(buttons)")
  }

  /// What the customer reads.
  func answer(_ result: CommandResult?) -> HTML {
    guard let result else {
      return """
        <p class="notice warn">\(language(
          "No answer yet. The kiosk may still make it: look at the live orders before you press again.",
          "아직 응답이 없어요. 다시 누르기 전에 실시간 주문을 확인해 주세요."))</p>
        """
    }
    let ticket: HTML? = result.ticket.map { ticket in
      "<span class=\"ticket\">\(language("Ticket", "번호")) <b>\(ticket)</b></span> · "
    }
    let text = result.message ?? result.reason?.words(language) ?? ""
    return "<p class=\"notice \(result.status == .ready ? "good" : "warn")\">\(ticket)\(text)</p>"
  }
}

extension Recipe {
  /// How many glasses so much fruit is enough for.
  fileprivate func servings(of stock: FruitAmounts) -> Int {
    amounts.map { (stock[$0.fruit] ?? 0) / $0.amount }.min() ?? 0
  }
}

/// What hangs on the wall beside the kiosk: whose juice is ready, and what there is.
struct DisplayPage {
  let kiosk: KioskState
  let language: Language

  func page() -> Page {
    Page(
      title: kiosk.id.text, body: "<h1 class=\"hidden\">\(kiosk.id)</h1>\(liveParts.map(\.html))",
      live: "/kiosks/\(kiosk.id)/display/live", isBare: true)
  }

  var liveParts: [LivePart] { [ready, menu] }

  private var ready: LivePart {
    let made = kiosk.orders.compactMap { entry -> HTML? in
      guard case .ready(let order, _, let ticket) = entry.outcome,
        let juice = kiosk.menu?.menu.juice(order.juice)
      else { return nil }
      return """
        <li><b class="ticket">\(ticket.number)</b>
        <span>\(CustomerMessage.ready(juice.name, in: language))</span></li>
        """
    }
    let content: HTML =
      kiosk.service == .closed
      ? "<p class=\"closed\">\(CustomerMessage.closed(in: language))</p>"
      : "<ol class=\"ready\">\(Array(made.prefix(5)))</ol>"
    return LivePart("ready", content)
  }

  private var menu: LivePart {
    let stock = kiosk.stock?.fruits ?? [:]
    let juices: [HTML] = (kiosk.menu?.menu.juices ?? []).map { juice in
      let isGone = juice.recipe.servings(of: stock) == 0
      return """
        <li\(isGone ? " class=\"gone\"" : .empty)>\(juice.name[language])\
        \(isGone ? " <small>\(language("sold out", "품절"))</small>" : .empty)</li>
        """
    }
    return LivePart("menu", tag: "ul", class: "wall", "\(juices)")
  }
}
