import Fleet
import JuiceDomain
import KioskProtocol

/// The rows of charges with their refunds, the search for a charge, and the question about a refund.
extension PaymentCards {
  /// Returns a captured charge.
  ///
  /// - Parameter end: The end of the order in the ledger, or `nil` if it is unknown.
  func captured(_ entry: LedgerEntry, _ end: LedgerEntry? = nil) -> HTML {
    guard let step = entry.outcome.payment else { return .empty }
    let receipt = [
      step.receipt.card, step.receipt.last4.map { "····\($0)" },
      step.receipt.receipt.map { language("receipt \($0)", "영수증 \($0)") },
    ].compactMap(\.self)
    let facts = ["\(language("charge", "결제")) \(step.charge)"] + receipt
    let open = openQuestion(about: step)
    let refund: HTML? =
      refunded(step.charge).map { " · \($0)" }
      ?? (isRefundable(entry, at: step.device)
        ? """
         <a id="refund-\(step.charge)" href="/kiosks/\(kiosk.id)?refund=\(step.charge)" \
        aria-label="\(language("Refund charge \(step.charge)", "결제 \(step.charge) 환불"))">\
        \(language("Refund", "환불"))</a>
        """
        : context.isOperator && open == nil
          ? " <span class=\"muted\">(\(tooLate))</span>" : nil)
    return """
      <li class="\(open == nil ? "good" : "bad" as HTML)"><b class="ticket">\(step.ticket.map { "\($0.number)" } ?? "–")</b>\
      <span class="what">\(name(step.order, entry.amount))\(refund)\(open)\(told(about: step, end))</span>
      <span class="who">\(facts.joined(separator: " · "))</span>\(localTime.html(entry.at))</li>
      """
  }

  /// Returns what a person has to decide about a captured charge or its order, as a link to the
  /// buttons; or `nil` for nothing.
  private func openQuestion(about step: PaymentStep) -> HTML? {
    func link(_ id: HTML, _ text: String) -> HTML {
      " · <a class=\"chip bad\" href=\"#\(id)\">\(text)</a>"
    }
    if let charge = openCharge(step.charge) {
      let reason = charge.reason.isEmpty ? "unknown" : charge.reason
      return link("charge-decisions", language.chargeReason(reason))
    }
    guard kiosk.undecidedJobs.contains(where: { $0.job.job == step.job }) else { return nil }
    return link(
      "decisions", language("captured, and perhaps not made", "결제되었지만 만들었는지 알 수 없음"))
  }

  private func openCharge(_ charge: Int) -> PaymentReport.Charge? {
    kiosk.undecidedCharges.first { $0.charge.charge == charge }?.charge
  }

  /// The reason why a charge cannot be refunded any more.
  private var tooLate: String {
    language(
      "refund only on the same day, before the terminal's end of day",
      "환불은 당일, 단말기 마감 전에만 할 수 있어요")
  }

  private func row(_ charge: ListedCharge) -> HTML {
    if let capture = charge.capture { return captured(capture, charge.end) }
    let device = charge.entries.lazy.compactMap(\.outcome.device).first
    let facts = [device?.text, "\(language("charge", "결제")) \(charge.number)"].compactMap(\.self)
    return """
      <li class="bad"><b class="ticket">\(charge.ticket.map { "\($0.number)" } ?? "–")</b>\
      <span class="what">\(outcome(of: charge))</span>
      <span class="who">\(facts.joined(separator: " · "))</span>\
      \(charge.entries.first.map { localTime.html($0.at) })</li>
      """
  }

  /// Returns the juice, the price, and what became of a charge that was not captured, such as
  /// `Mango juice · $3.90 · not made: given back · released 17:09, nothing charged`.
  private func outcome(of charge: ListedCharge) -> HTML {
    var parts: [HTML] = ["\(name(of: charge))"]
    if let reason = charge.end?.outcome.failure {
      parts.append("\(language("not made", "만들지 못함")): \(language.failure(reason))")
    }
    let nothing = language("nothing charged", "청구된 금액 없음")
    func step(_ status: LedgerEntry.Status) -> LedgerEntry? {
      charge.entries.first { $0.status == status }
    }
    if let released = step(.released) {
      let text = PaymentStep.Kind.released.text(language)
      parts.append("\(text) \(localTime.html(released.at)), \(nothing)")
    } else if let refund = refunded(charge.number) {
      parts.append(refund)
    } else if step(.writtenOff) != nil {
      parts.append("\(PaymentStep.Kind.writtenOff.text(language))")
    } else if let held = step(.held) {
      parts.append("\(PaymentStep.Kind.held.text(language)) \(localTime.html(held.at))")
    } else {
      parts.append(charge.end == nil ? "\(language("to be paid", "결제 대기"))" : "\(nothing)")
    }
    return parts.dropFirst().reduce(parts[0]) { "\($0) · \($1)" }
  }

  private func name(of charge: ListedCharge) -> String {
    let order = charge.entries.lazy.compactMap(\.outcome.order).first
    return name(order, charge.entries.lazy.compactMap(\.amount).first)
  }

  /// Returns when a charge was refunded, also in cash, or a refund requested; `nil` for neither.
  private func refunded(_ charge: Int) -> HTML? {
    // The dashboard may have missed what the ledger has, and the ledger may have been read before.
    let stored = ledger.first { $0.number == charge }?.entries ?? []
    let entries = kiosk.captures.filter { $0.charge == charge } + stored
    guard let entry = LedgerEntry.refund(in: entries.sorted { $1.isBefore($0) }),
      let step = entry.outcome.payment
    else { return nil }
    let text =
      step.kind == .refunded ? language("already refunded", "이미 환불됨") : step.kind.text(language)
    let reason: HTML? = step.reason.map { " (\($0))" }
    return "\(text) \(localTime.html(entry.at))\(reason)"
  }

  /// Returns the message to the customer about the order of a charge, if not each glass was made.
  private func told(about step: PaymentStep, _ end: LedgerEntry?) -> HTML? {
    let end = end ?? kiosk.orders.first { $0.outcome.end?.job == step.job && step.job != nil }
    // An order that has failed has the price of the glasses that were made.
    let made =
      end?.amount == nil ? language("not made", "만들지 못함") : language("not all made", "일부만 만듦")
    return end?.outcome.failure.map { reason in
      """
       · <span class="chip bad">\(language("said to the customer:", "손님에게 안내:")) \
      \(made), \(language.failure(reason))</span>
      """
    }
  }

  /// Returns whether the user may refund a charge: an operator may, on the same day and before the
  /// end of day of the device, or as long as a person has to decide about it.
  private func isRefundable(_ entry: LedgerEntry, at device: PaymentDeviceID) -> Bool {
    guard context.isOperator else { return false }
    // The kiosk names the decisions that are possible about an undecided charge, also of an earlier day.
    if let charge = entry.charge.flatMap(openCharge) { return charge.decisions.contains(.refund) }
    let isOpen = kiosk.lastTotals[device].map { $0.isBefore(entry) } ?? true
    return isOpen && localTime.isToday(entry.at)
  }

  private func name(_ order: Order?, _ amount: Money?) -> String {
    let juice = order.map { kiosk.name(of: $0.juice, language).times($0.quantity) }
    return [juice, amount?.text(language)].compactMap(\.self).joined(separator: " · ")
  }

  /// Returns the charges that match a search: of the ledger, or of the latest that the kiosk has published
  /// if `outcome` is `nil` because it has not answered.
  func found(_ query: String, _ outcome: ChargeFinder.Outcome?) -> HTML {
    let search = ChargeSearch(query, localTime)
    let found = outcome?.found ?? published.filter(search.matches)
    let number = outcome?.count ?? published.count
    let text =
      if search.words.isEmpty {
        found.isEmpty
          ? language("No charges.", "결제가 없어요.") : language("The latest charges:", "최근 결제:")
      } else if found.isEmpty {
        language(
          "None of the latest \(language.count(number, "charge", "charges")) matches “\(query)”.",
          "최근 결제 \(number)건 중 ‘\(query)’에 맞는 것이 없어요.")
      } else {
        language("Charges that match “\(query)”:", "‘\(query)’에 맞는 결제:")
      }
    let today = localTime.today
    let forms = language(
      """
      Find understands a ticket, a day such as \(localTime.day(today)) or \(today), a time such as 18:28, \
      an amount, the card's last four digits or name, and the number of the receipt or charge.
      """,
      """
      번호표, 날짜(\(localTime.day(today)), \(today)), 시각(18:28), 금액, 카드 끝 네 자리나 이름, \
      영수증 번호, 결제 번호로 찾을 수 있어요.
      """)
    let help: HTML? =
      found.isEmpty && !search.words.isEmpty ? "<p class=\"muted\">\(forms)</p>" : nil
    let list: HTML? = found.isEmpty ? nil : "<ol class=\"feed\">\(found.map(row))</ol>"
    let silent = language(
      "The kiosk does not answer: older charges are not searched.",
      "키오스크가 응답하지 않아 더 오래된 결제는 찾지 못했어요.")
    let older: HTML? =
      outcome == nil
      ? "<p class=\"muted\">\(silent)</p>"
      : outcome?.next.map { next in
        """
        <p><a class="button" href="/kiosks/\(kiosk.id)?charge=\(query.percentEncoded)&amp;before=\(next)">\(language("Search older charges", "더 오래된 결제 찾기"))</a></p>
        """
      }
    return .notice(.hint, html: "<p>\(text)</p>\(help)\(list)\(older)", tag: "div")
  }

  /// The latest charges that the kiosk has published, the newest first.
  private var published: [ListedCharge] {
    ListedCharge.charges(in: Self.published(of: kiosk)).sorted { $0.number > $1.number }
  }

  /// Returns the entries of the latest charges that a kiosk has published: the steps, the newest first,
  /// and the orders.
  static func published(of kiosk: KioskState) -> [LedgerEntry] {
    let steps = Array(kiosk.captures) + kiosk.chargeSteps.filter { !kiosk.captures.contains($0) }
    return steps.sorted { $1.isBefore($0) } + kiosk.orders
  }

  /// Returns a charge of those in `ledger`, or of the kiosk's latest ones.
  func charge(_ number: Int) -> ListedCharge? {
    [ledger, published].joined().first { $0.number == number }
  }

  /// Returns the notice on which the user confirms a refund, or the reason why there is none.
  ///
  /// - Parameter isAnswered: Whether the kiosk has answered, so that an unknown charge does not exist.
  func question(refunding number: Int, isAnswered: Bool) -> HTML {
    func refusal(_ text: HTML) -> HTML {
      .notice(.hint, html: "\(language("Charge \(number)", "결제 \(number)")): \(text).")
    }
    if let refunded = refunded(number) { return refusal(refunded) }
    guard let charge = charge(number) else {
      return refusal(
        isAnswered
          ? "\(language("the kiosk has no such charge", "키오스크에 이런 결제가 없어요"))"
          : "\(language("the kiosk does not answer, and it is not one of the latest charges", "키오스크가 응답하지 않고, 최근 결제에도 없어요"))"
      )
    }
    guard let capture = charge.capture, let step = capture.outcome.payment else {
      return refusal(outcome(of: charge))
    }
    let ticket = step.ticket.map { "\(language("ticket \($0.number)", "\($0.number)번")) · " } ?? ""
    let facts = "\(ticket)\(name(step.order, capture.amount))"
    guard isRefundable(capture, at: step.device) else { return refusal("\(facts) · \(tooLate)") }
    return .notice(
      .hint,
      html: """
        <p>\(language("Refund charge \(number)", "결제 \(number) 환불")) (\(facts))? \
        \(language(
          "It is possible on the same day, and once.", "당일에 한 번만 환불할 수 있어요."))</p>
        <p><label>\(language("Reason, and what was said to the customer", "사유와 손님에게 안내한 내용"))
        <input name="word" form="send-charge" maxlength="\(SensorDecision.maximumWord)"></label></p>
        <p class="actions">\(context.button(
          .charge, "refund.\(number)", language("Refund now", "지금 환불"), id: "refund"))
        <a class="button" href="/kiosks/\(kiosk.id)">\(language("Cancel", "취소"))</a></p>
        """, tag: "div")
  }

  /// The form that finds a charge for a refund, or `nil` for a viewer or a kiosk without payment
  /// devices.
  var refundForm: HTML? {
    guard context.isOperator, !kiosk.payments.isEmpty else { return nil }
    let example = language("42 or 18:28 or 1234", "42, 18:28, 1234 등")
    return """
      <form class="refund" method="get" action="/kiosks/\(kiosk.id)">
      <label for="find-charge">\(language(
        "Find a charge by ticket, day, time, amount, last four digits or receipt",
        "번호표, 날짜, 시각, 금액, 카드 끝 네 자리, 영수증 번호로 결제 찾기"))</label>
      <div class="actions"><input id="find-charge" name="charge" maxlength="100" required \
      autocomplete="off" placeholder="\(example)">
      <button>\(language("Find", "찾기"))</button></div>
      </form>
      """
  }
}
