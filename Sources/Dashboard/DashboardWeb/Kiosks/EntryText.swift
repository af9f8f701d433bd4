import Fleet
import JuiceDomain
import KioskProtocol

/// The text of an entry of a kiosk's ledger.
struct EntryText {
  let kiosk: KioskState
  let now: Timestamp
  let context: PageContext
  /// Whether the dates in the text have their years, as in the record of food safety.
  var hasFullDates = false

  private var language: Language { context.language }
  private var localTime: LocalTime { LocalTime(kiosk.timeZone, now: now, language) }

  /// Returns the style of an entry, its ticket, and its text.
  func parts(of entry: LedgerEntry) -> (style: HTML, mark: HTML, text: HTML) {
    switch entry.outcome {
    case .ready(let order, _, let ticket):
      ("good", "<b class=\"ticket\">\(ticket.number)</b>", juice(order))
    case .accepted(let order, _, let ticket, _, _):
      (
        "", "<b class=\"ticket\">\(ticket.number)</b>",
        "\(juice(order)) · \(language("being made", "만드는 중"))"
      )
    case .awaitingPayment(let order, _, let ticket, _, _):
      (
        "", "<b class=\"ticket\">\(ticket.number)</b>",
        "\(juice(order)) · \(language("to be paid", "결제 대기"))"
      )
    case .payment(let step):
      (
        "", "",
        "\(language("Charge", "결제")) #\(step.charge): \(step.kind.text(language))\(step.reason.map { " · \(language.chargeReason($0))" as HTML })"
      )
    case .total(let total, let device, let difference):
      (
        (difference ?? 0) == 0 ? "" : "bad", "",
        "\(device.text): \(language("end of day", "일일 마감")) \(total.total), \(total.captured.text(language))\(result(difference, total.captured.currency))"
      )
    case .sensor(let step): (step.kind == .ok ? "" : "bad", "", step.text(of: kiosk, language))
    case .made(let end):
      ("good", "<b class=\"ticket\">\(end.ticket.number)</b>", juice(end.order))
    case .failed(let end, let reason, _), .returned(let end, let reason, _):
      (
        "bad", "<b class=\"ticket\">\(end.ticket.number)</b>",
        "\(juice(end.order)) · \(language("not made", "만들지 못함")): \(language.failure(reason))"
      )
    case .decided(let choice, let job, _):
      ("", "", "\(language("Job \(job)", "작업 \(job)")): \(choice.text(language))")
    case .program(let step):
      (
        step.kind == .failed ? "bad" : step.kind == .done ? "good" : "", "",
        "\(step.id.machine): \(step.text(language))"
      )
    case .outOfStock(let order, let missing):
      ("warn", "<b class=\"ticket\">–</b>", outOfStock(order, missing, entry))
    case .rejected(let reason, let order):
      (
        "bad", "<b class=\"ticket\">–</b>",
        "\(order.map(juice)) · \(reason.text(language))"
      )
    case .opened(let changes), .restocked(let changes):
      (
        "", "",
        "\(amounts(changes, entry.batches))\(entry.undone.map { " · \(language("undoes", "되돌림:")) #\($0)" as HTML })"
      )
    case .expired(let changes):
      ("bad", "", "\(amounts(changes)) · \(language("expired", "유통기한 지남"))")
    case .removed(let removal):
      (
        "", "",
        "\(amounts(removal.amounts.times(-1))) · \(language("taken out", "꺼냄")): \(removal.reason.text(language))"
      )
    case .service(let state):
      (
        "", "",
        "\(state == .open ? language("Opened", "영업 시작") : language("Closed", "영업 종료"))"
      )
    }
  }

  /// Returns how a device's end of day compares with the ledger, or an empty text if equal.
  private func result(_ difference: Int?, _ currency: Currency) -> String {
    guard let difference else { return " · \(language("not compared", "비교 안 함"))" }
    guard difference != 0 else { return "" }
    return " · \(language("difference", "차이")) \(Money.text(difference, currency, language))"
  }

  /// Returns a text that links to the form that restocks the missing fruits, if the menu has them.
  private func outOfStock(_ order: Order, _ missing: FruitAmounts, _ entry: LedgerEntry) -> HTML {
    let text: HTML = "\(juice(order)) · \(language("out of stock", "재료 부족"))"
    let fruits = kiosk.known(missing)
    if fruits.isEmpty { return text }
    let names = fruits.map { kiosk.name(of: $0, language) }.joined(separator: ", ")
    return """
      <a id="short-\(entry.seq)" href="\(kiosk.restockAddress(fruits))">\(text): \(names)</a>
      """
  }

  private func juice(_ order: Order) -> HTML {
    "\(kiosk.name(of: order.juice, language).times(order.quantity))"
  }

  /// Returns the changes as text, such as `Kiwi +3, Mango -1`.
  ///
  /// - Parameter batches: The batches that the changes add, with their dates.
  private func amounts(_ changes: FruitAmounts, _ batches: [BatchChange] = []) -> String {
    kiosk.inMenuOrder(changes).map { fruit, amount in
      let change = "\(kiosk.name(of: fruit, language)) \(amount > 0 ? "+" : "")\(amount)"
      guard let expires = batches.first(where: { $0.id.fruit == fruit })?.expires else {
        return change
      }
      let date = localTime.bestBefore(expires, isFull: hasFullDates)
      return "\(change) (\(language("best before", "유통기한")) \(date))"
    }.joined(separator: ", ")
  }
}

extension LedgerEntry {
  /// Returns the name of the user or the device that sent the command; empty for the kiosk's own entries.
  func sender(_ language: Language) -> String { source?.sender(language) ?? "" }
}
