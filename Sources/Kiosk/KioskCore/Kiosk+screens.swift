package import Devices
import JuiceDomain
package import KioskProtocol
package import MessageBroker

// What the kiosk tells devices that do not know its topics.
extension Kiosk {
  /// What a panel hears about an order of its own.
  func feedback(_ feedback: Feedback, to row: LedgerRow) -> [Message] {
    let push: Push? =
      switch row.entry.outcome {
      case .ready, .made: feedback.ready
      case .outOfStock: feedback.outOfStock
      case .rejected, .failed, .returned: feedback.rejected
      case .accepted, .opened, .restocked, .service, .decided: nil
      }
    guard let push else { return [] }
    let text = push.payload.fill { placeholder in
      switch placeholder {
      case .juice: row.entry.outcome.order?.juice.text
      case .quantity: row.entry.outcome.order.map { String($0.quantity) }
      case .ticket: row.entry.ticket.map { String($0.number) }
      case .message: row.message
      case .stock, .alert, .servings, .kioskStatus: value(of: placeholder)
      }
    }
    return [Message(topic: push.topic, text: text)]
  }

  /// What fills a gap in the text of a display.
  func value(of placeholder: Template.Placeholder, status: KioskStatus = .online) -> String? {
    switch placeholder {
    case .stock(let fruit): juiceMaker.stock[fruit].map(String.init)
    case .alert(let fruit): alerts[fruit]?.rawValue
    case .servings(let juice): servings(of: juice).map(String.init)
    case .kioskStatus: status.rawValue
    case .juice, .quantity, .ticket, .message: nil
    }
  }

  /// What a display has to show.
  package func message(for display: Display, status: KioskStatus = .online) -> Message? {
    let push = display.push(
      filling: { value(of: $0, status: status) },
      servings: { servings(of: $0) ?? 0 })
    return push.map { Message(topic: $0.topic, text: $0.payload, retain: display.retain) }
  }
}
