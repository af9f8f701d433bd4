import Fleet
import JuiceDomain
import KioskProtocol

/// The answer to a press of a button on a panel or a tablet, and the progress of its order.
struct OrderAnswer {
  let kiosk: KioskState
  let now: Timestamp
  let language: Language
  /// Whether a customer reads the answer, who cannot restock.
  let isForCustomer: Bool

  /// The parts that show the progress of the latest orders. The script ignores the orders whose
  /// answers are not on the page.
  var liveParts: [LivePart] { kiosk.progress.map(part) + timesToPay }

  /// The time that is left to pay, for each ticket for which a device prompts a customer.
  private var timesToPay: [LivePart] {
    kiosk.paymentReports.compactMap { device, report in
      guard isForCustomer, report.amount != nil, let ticket = report.ticket else { return nil }
      return timeToPay(of: ticket, "\(kiosk.timeToPay(at: device, now, language))")
    }
  }

  private func timeToPay(of ticket: Int, _ content: HTML) -> LivePart {
    LivePart("pay-\(ticket)", tag: "span", content)
  }

  /// The notice that the order was not sent.
  var notSent: HTML {
    language.notice(
      .warn, "Your order was not sent. Please try again in a moment.",
      "주문을 보내지 못했어요. 잠시 뒤에 다시 눌러 주세요.")
  }

  /// The text while it is unknown whether the order was sent.
  var noAnswer: String {
    language(
      "No answer yet. Your juice may still be made: look at the screen before you press again.",
      "아직 응답이 없어요. 주스가 만들어지고 있을 수 있으니 다시 누르기 전에 화면을 확인해 주세요.")
  }

  /// The element in which the page shows the answer.
  ///
  /// - Parameter content: The answer, or `nil` before the first press.
  func message(_ content: HTML?) -> HTML {
    """
    <div class="message" role="status" aria-live="polite" data-none="\(noAnswer)">\(content)</div>
    """
  }

  private func part(_ progress: OrderProgress) -> LivePart {
    let juice = progress.order.juice
    let name = kiosk.reports.name(of: juice)
    guard case .unpaid = progress.stage, isForCustomer else {
      return progress.part(name, language, isForCustomer: isForCustomer)
    }
    let time = timesToPay.first { $0.id == "pay-\(progress.ticket)" }
    return progress.part(
      name, language, isForCustomer: true,
      detail: (time ?? timeToPay(of: progress.ticket, .empty)).html)
  }

  /// Returns the kiosk's answer as text for the customer.
  ///
  /// - Parameter again: The form by which an operator sends the same order again.
  func html(_ result: CommandResult?, again: HTML? = nil) -> HTML {
    guard let result else {
      return again.map { CommonNotices.noAnswer(language, again: $0) } ?? .notice(.hint, noAnswer)
    }
    if let progress = progress(result) { return part(progress).html }
    let ticket: HTML? = result.ticket.map { ticket in
      "<span class=\"ticket\">\(language("Ticket", "번호")) <b>\(ticket)</b></span> · "
    }
    let words = words(of: result)
    let short = isForCustomer ? [] : kiosk.known(result.missing ?? [:])
    let text: HTML =
      short.isEmpty ? "\(words)" : "<a href=\"\(kiosk.restockAddress(short))\">\(words)</a>"
    return "<p class=\"notice \(result.status == .ready ? "good" : "warn")\">\(ticket)\(text)</p>"
  }

  /// The progress of the order, if it is not at its end with the result.
  private func progress(_ result: CommandResult) -> OrderProgress? {
    guard let job = result.seq, let juice = result.juice, let ticket = result.ticket else {
      return nil
    }
    let stage: OrderProgress.Stage
    switch (result.status, result.amount) {
    case (.awaitingPayment, let amount?): stage = .unpaid(amount)
    case (.accepted, _): stage = .queued(before: max(1, result.place ?? 1) - 1)
    default: return nil
    }
    // The machine may have started before the answer arrived.
    return kiosk.progress.first { $0.job == job }
      ?? OrderProgress(
        job: job, order: Order(juice: juice, quantity: result.quantity ?? 1), ticket: ticket,
        stage: stage)
  }

  /// Returns the text for the customer in the language of the page; for other results the kiosk's
  /// message, or else the text of the reason.
  private func words(of result: CommandResult) -> String {
    switch (result.status, result.reason, result.juice) {
    case (.ready, _, let juice?):
      CustomerMessage.ready(kiosk.name(of: juice, language), in: language)
    case (.outOfStock, _, _):
      isForCustomer
        ? language("Sorry, this is sold out.", "죄송합니다. 품절입니다.")
        : CustomerMessage.outOfStock(in: language)
    case (_, .closed, _): CustomerMessage.closed(in: language)
    case (_, .machineDown, _): CustomerMessage.machineDown(in: language)
    case (_, .cleaningDue, _): CustomerMessage.cleaningDue(in: language)
    case (_, .blocked, _): CustomerMessage.blocked(in: language)
    case (_, .paymentDown, _): CustomerMessage.paymentDown(in: language)
    default: result.message ?? result.reason?.text(language) ?? ""
    }
  }
}
