package import Devices
import JuiceDomain
package import KioskProtocol
package import MessageBroker

// Messages for panels and displays that do not use the kiosk's topics.
extension Kiosk {
  /// Returns the message that shows a panel the outcome of its own command, or an empty list.
  func feedback(_ feedback: Feedback, to row: LedgerRow) -> [Message] {
    let push: Push? =
      switch row.entry.outcome {
      case .awaitingPayment: feedback.pay
      case .ready, .made: feedback.ready
      case .outOfStock: feedback.outOfStock
      case .rejected, .failed, .returned: feedback.rejected
      case .accepted, .opened, .restocked, .service, .decided, .payment, .total, .program, .sensor,
        .expired, .removed:
        nil
      }
    guard let push else { return [] }
    let text = push.payload.fill { placeholder in
      switch placeholder {
      case .juice: row.entry.outcome.order?.juice.text
      case .quantity: row.entry.outcome.order.map { String($0.quantity) }
      case .ticket: row.entry.ticket.map { String($0.number) }
      case .message: row.message
      case .stock, .alert, .servings, .price, .payment, .kioskStatus: value(of: placeholder)
      }
    }
    return [Message(topic: push.topic, text: text)]
  }

  /// Returns the text for a placeholder about the kiosk's state, or `nil` if the placeholder has none.
  func value(of placeholder: Template.Placeholder, status: KioskStatus = .online) -> String? {
    switch placeholder {
    case .stock(let fruit): juiceMaker.stock[fruit].map(String.init)
    case .alert(let fruit): stock[fruit].map { _ in alert(of: fruit).rawValue }
    // The stock suffices for 0 glasses of a juice that is not on the menu.
    case .servings(let juice): String(servings(of: juice) ?? 0)
    case .price(let juice): settings.menu.juice(juice)?.price?.text(settings.language)
    case .payment(let device):
      charges.reports.first { $0.device == device }?.report.message(in: settings.language)
    case .kioskStatus: status.rawValue
    case .juice, .quantity, .ticket, .message: nil
    }
  }

  /// Returns the current message for a display, or `nil` if none is configured for the availability of its juice.
  package func message(for display: Display, status: KioskStatus = .online) -> Message? {
    let push = display.push(
      filling: { value(of: $0, status: status) },
      servings: { servings(of: $0) ?? 0 })
    return push.map { Message(topic: $0.topic, text: $0.payload, retain: display.retain) }
  }
}
