import Fleet
import JuiceDomain
import KioskProtocol

/// The page for the screen beside the kiosk: tickets, texts for payments, and the menu.
struct DisplayPage {
  /// Maximum number of tickets in each column.
  private static let (maximumMaking, maximumReady) = (12, 6)

  let kiosk: KioskState
  /// Whether to show that the kiosk is out of service, because its state is out of date.
  let isOut: Bool
  let now: Timestamp
  let language: Language

  /// Returns the page, whose live updates have the path `live`.
  func page(live: String) -> Page {
    Page(
      title: kiosk.title(language),
      body: """
        <h1\(kiosk.name == nil ? " class=\"hidden\"" : " class=\"sign\"")>\(kiosk.title(language))</h1>
        <p class="closed silence">\(outOfService)</p>
        \(liveParts.map(\.html))
        """,
      live: live, isBare: true, isFull: true)
  }

  var liveParts: [LivePart] {
    isOut
      ? [
        alive, LivePart("pay", .empty),
        LivePart("ready", "<p class=\"closed\">\(outOfService)</p>"),
        LivePart("menu", tag: "ul", class: "wall", .empty),
      ] : [alive, pay, ready, menu]
  }

  private var outOfService: String {
    language("Out of service at the moment.", "지금은 이용할 수 없어요.")
  }

  /// A number that changes with each periodic update. If no update arrives for 30 seconds, the
  /// script shows that the kiosk is out of service. If the path of the script has changed, the
  /// script reloads the page.
  private var alive: LivePart {
    LivePart(
      "alive",
      """
      <span hidden data-script="\(Asset.script.path)">\(Int(clamping: now.milliseconds / 10_000))</span>
      """)
  }

  /// The texts for the customers at the payment devices.
  private var pay: LivePart {
    let lines: [HTML] = kiosk.paymentReports.compactMap { _, report in
      guard let text = report.message(in: language) else { return nil }
      let number = report.state == .off ? nil : report.ticket
      let ticket: HTML? = number.map { "<b class=\"ticket\">\($0)</b>" }
      return
        "<li class=\"\(report.amount == nil ? "bad" : .empty)\">\(ticket)<span>\(text)</span></li>"
    }
    return LivePart("pay", lines.isEmpty ? .empty : "<ol class=\"ready pay\">\(lines)</ol>")
  }

  private var ready: LivePart {
    let closed: HTML? =
      kiosk.service == .closed
      ? "<p class=\"closed\">\(CustomerMessage.closed(in: language))</p>" : nil
    if !kiosk.machines.isEmpty, closed == nil || !kiosk.jobs.isEmpty {
      return LivePart("ready", "\(closed)\(board)")
    }
    return LivePart("ready", closed ?? "<ol class=\"ready\">\(Array(made.prefix(5)))</ol>")
  }

  private var made: [HTML] {
    kiosk.orders.compactMap { entry in
      guard case .ready(let order, _, let ticket) = entry.outcome,
        let juice = kiosk.menu?.menu.juice(order.juice)
      else { return nil }
      return """
        <li><b class="ticket">\(ticket.number)</b>
        <span>\(CustomerMessage.ready(juice.name[language], in: language))</span></li>
        """
    }
  }

  /// Two columns of tickets: being made, and ready.
  private var board: HTML {
    let jobs = kiosk.jobs.map(\.job).sorted { ($0.rank, $0.at, $0.job) < ($1.rank, $1.at, $1.job) }
    let more = jobs.count - Self.maximumMaking
    let making: [HTML] = jobs.prefix(Self.maximumMaking).map { job in
      let note: HTML? =
        job.state.isUndecided
        ? "<small>\(language("ask us", "직원에게 문의"))</small>"
        : job.waiting.map { "<small>\($0)</small>" }
      return "<li class=\"\(job.state == .started ? "now" : .empty)\">\(job.ticket)\(note)</li>"
    }
    let ready: [HTML] = kiosk.readyTickets.prefix(Self.maximumReady).map { "<li>\($0)</li>" }
    return """
      <div class="board">
      <section><h2>\(language("Being made", "만드는 중"))</h2>
      <ol class="making">\(making)\(more > 0 ? "<li>+\(more)</li>" : .empty)</ol></section>
      <section class="good"><h2>\(language("Ready", "나왔어요"))</h2><ol>\(ready)</ol></section>
      </div>
      """
  }

  private var menu: LivePart {
    let juices: [HTML] = (kiosk.menu?.menu.juices ?? []).map { juice in
      let obstacle = kiosk.obstacle(to: juice)
      let isGone = kiosk.servings(of: juice) == 0 || obstacle == .payment
      let reason = obstacle?.text(language) ?? ""
      return """
        <li\(isGone ? " class=\"gone\"" : .empty)><span>\(juice.name[language])</span>\
        \(juice.price.map { " <small>\($0.text(language))</small>" as HTML })\
        \(isGone ? " <small>· \(reason)</small>" : .empty)</li>
        """
    }
    return LivePart("menu", tag: "ul", class: "wall", "\(juices)")
  }
}

extension MachineReport.Job {
  /// The sort order: jobs in progress first, undecided jobs last.
  fileprivate var rank: Int {
    switch state {
    case .started: 0
    case .sent: 1
    case .queued: 2
    case .lost, .needsDecision: 3
    }
  }
}
