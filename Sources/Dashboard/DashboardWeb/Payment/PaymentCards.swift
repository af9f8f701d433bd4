import Fleet
import JuiceDomain
import KioskProtocol

/// The cards with the state of a kiosk's payment devices, and with the charges that need a person's
/// decision.
struct PaymentCards {
  /// Maximum number of captured charges that are listed.
  private static let maximumCaptures = 8

  let kiosk: KioskState
  let localTime: LocalTime
  let context: PageContext
  /// The charges in the kiosk's ledger that match a search.
  var ledger: [ListedCharge] = []

  var language: Language { context.language }

  /// The undecided charges, or an empty part if there are none.
  var decisions: LivePart {
    let charges = kiosk.undecidedCharges
    if charges.isEmpty { return LivePart("charge-decisions", .empty) }
    return LivePart(
      "charge-decisions", tag: "section", class: "card ask",
      """
      <h2>\(language("Payments that wait for a person", "확인이 필요한 결제"))</h2>
      <p class="muted">\(language(
        "The kiosk cannot decide about these. Look into the journal of the terminal, and decide.",
        "키오스크가 정할 수 없는 결제예요. 단말기 기록을 보고 정해 주세요."))</p>
      \(context.isOperator ? explanation(of: charges) : .empty)
      <ul class="feed">\(charges.map(undecided))</ul>
      """)
  }

  /// Returns what each button does, below a heading that opens it.
  private func explanation(of charges: [KioskState.Charge]) -> HTML {
    let offered = Set(charges.flatMap(\.charge.decisions))
    let rows: [HTML] = ChargeDecision.Choice.allCases.filter(offered.contains).map { choice in
      "<dt>\(choice.name(language))</dt><dd>\(choice.explanation(language))</dd>\n"
    }
    return """
      <details><summary>\(language("What the buttons do", "버튼 설명"))</summary>
      <dl class="buttons">\(rows)</dl></details>
      """
  }

  private func undecided(_ charge: KioskState.Charge) -> HTML {
    let (device, charge) = charge
    let buttons: [HTML] = charge.decisions.map { choice in
      let name = choice.name(language)
      return context.button(
        .charge, "\(choice.rawValue).\(charge.charge)", name,
        label: language("\(name): charge \(charge.charge)", "\(name): 결제 \(charge.charge)"))
    }
    let actions: HTML? = context.isOperator ? "<div class=\"actions\">\(buttons)</div>" : nil
    let reason = charge.reason.isEmpty ? "" : " · \(language.chargeReason(charge.reason))"
    return """
      <li><b class="ticket">\(charge.ticket.map(String.init) ?? "–")</b>\
      <span class="what">\(charge.amount.text(language)) · \(charge.question(language))</span>
      <span class="who">\(device.text) · \(language("charge", "결제")) \(charge.charge)\(reason)</span>\
      \(localTime.html(charge.at))\(actions)</li>
      """
  }

  /// The state of the payment devices and the captured charges, or an empty part without devices.
  var payments: LivePart {
    if kiosk.payments.isEmpty { return LivePart("payments", .empty) }
    let captures = kiosk.captures.filter { $0.status == .captured }.prefix(Self.maximumCaptures)
    let list: HTML? =
      captures.isEmpty ? nil : "<ol class=\"feed\">\(captures.map { captured($0) })</ol>"
    let since = kiosk.receivedSince.map(localTime.text) ?? "–"
    let all: HTML? =
      context.isOperator
      ? """
      <a class="button" href="/kiosks/\(kiosk.id)?charge=">\(language("All charges", "전체 결제"))</a>

      """ : nil
    return LivePart(
      "payments", tag: "section", class: "card",
      """
      <h2>\(language("Payments", "결제"))</h2>
      <ul class="machines">\(kiosk.paymentReports.map(device))</ul>
      <p class="muted">\(captures.isEmpty
        ? language(
          "The dashboard has received no captured charge since \(since).",
          "대시보드가 \(since)부터 받은 결제가 없어요.")
        : language(
          "The latest charges that the dashboard has received since \(since):",
          "대시보드가 \(since)부터 받은 최근 결제:"))</p>
      \(list)
      <p class="actions">\(all)\(language.exports("/kiosks/\(kiosk.id)/charges", of: language("All charges", "전체 결제")))</p>
      """)
  }

  private func device(_ device: PaymentDeviceID, _ report: PaymentReport) -> HTML {
    let style: HTML =
      switch report.state {
      case .off: "bad"
      case .waiting, .busy: "good"
      case .idle: ""
      }
    let reason: HTML? = report.reason.map { " <span class=\"muted\">\($0)</span>" }
    let waiting: HTML? = report.amount.map { amount in
      """
      <ol class="feed"><li class="good"><b class="ticket">\(report.ticket.map(String.init) ?? "–")</b>\
      <span class="what">\(amount.text(language)) · \(language("to be paid", "결제 대기"))</span></li></ol>
      """
    }
    let declined: HTML? = report.declined.map { _ in
      "<p class=\"queue muted\">\(report.message(in: language) ?? "")</p>"
    }
    let queue: HTML? =
      report.queue > 0
      ? "<p class=\"queue muted\">\(language("\(report.queue) waiting", "대기 \(report.queue)건"))</p>"
      : nil
    return """
      <li><p class="head"><b>\(device)</b> \
      <span class="chip \(style)">\(report.state.text(language))</span>\(reason)</p>
      \(waiting)\(declined)\(queue)\(taken(report))\(kiosk.lastTotals[device].flatMap(total))</li>

      """
  }

  /// Returns the sums captured and refunded since the last end of day, or `nil` if unknown.
  private func taken(_ report: PaymentReport) -> HTML? {
    guard let captured = report.captured, let refunded = report.refunded else { return nil }
    let less: HTML? =
      refunded.units > 0
      ? " <span class=\"muted\">\(language("refunded", "환불")) \(refunded.text(language))</span>"
      : nil
    return """
      <p class="figure"><b>\(captured.text(language))</b> \(language("captured since the end of day", "결제 (마감 이후)"))\(less)</p>
      """
  }

  /// Returns the last end of day: the total of the device and, if it was compared, of the ledger.
  private func total(_ entry: LedgerEntry) -> HTML? {
    guard case .total(let total, _, let difference) = entry.outcome else { return nil }
    let currency = total.captured.currency
    func text(_ units: Int) -> String { Money.text(units, currency, language) }
    let result: HTML =
      switch difference {
      case nil:
        """
        <span class="muted">\(language("not compared, because the one before is missing", "이전 마감이 없어 비교하지 않음"))</span>
        """
      case let difference?:
        """
        \(language("kiosk", "키오스크")) \(text(total.net &- difference)) \
        <span class="chip \(difference == 0 ? "good" : "bad")">\
        \(difference == 0 ? language("equal", "일치") : "\(language("difference", "차이")) \(text(difference))")</span>
        """
      }
    return """
      <p class="total">\(language("Last end of day", "지난 마감")) \(localTime.html(entry.at)): \
      \(language("terminal", "단말기")) \(text(total.net)), \(result)</p>
      """
  }
}
