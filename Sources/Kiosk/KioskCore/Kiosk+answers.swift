import JuiceDomain
import KioskProtocol

// The prices, names and texts of answers.
extension Kiosk {
  /// Returns the amount of an entry: the amount of a payment step, the cost of removed fruit, or
  /// the price of the ordered glasses by the current menu. Returns `nil` if there is none.
  func amount(of outcome: LedgerEntry.Outcome) -> Money? {
    if case .payment(let step) = outcome { return charges[step.charge]?.amount(of: step.kind) }
    if let removal = outcome.removal { return cost(of: removal) }
    guard settings.menu.hasPrices else { return nil }
    switch outcome {
    case .ready(let order, _, _), .accepted(let order, _, _, _, _),
      .awaitingPayment(let order, _, _, _, _):
      return price(of: order)
    default: return nil
    }
  }

  func price(of order: Order) -> Money? {
    settings.menu.juice(order.juice)?.price?.times(order.quantity)
  }

  /// Returns the name of a juice in the customer's language, or `nil` if it is not on the menu.
  func name(of juice: Juice.ID) -> String? {
    settings.menu.juice(juice)?.name[settings.language]
  }

  func terms(of order: Order, on machine: MachineID) -> Job.Terms {
    terms(named: name(of: order.juice) ?? order.juice.text, on: machine)
  }

  func terms(named juiceName: String, on name: MachineID) -> Job.Terms {
    let machine = settings.machines.first { $0.name == name } ?? KioskSettings.Machine(name: name)
    return Job.Terms(
      juiceName: juiceName, startLimit: machine.startLimit,
      finishLimit: machine.finishLimit, returnsFruit: machine.returnsFruit)
  }

  /// Returns the text that the customer reads, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - juice: The name of the juice, or `nil` to use the name on the current menu.
  ///   - amount: The price that the customer must pay.
  func message(
    about outcome: LedgerEntry.Outcome, of juice: String? = nil, for amount: Money? = nil
  ) -> String? {
    let name = juice ?? outcome.order.flatMap { self.name(of: $0.juice) }
    return switch outcome {
    case .ready, .made: name.map { CustomerMessage.ready($0, in: settings.language) }
    case .accepted(_, _, let ticket, _, _):
      name.map { CustomerMessage.accepted($0, ticket: ticket.number, in: settings.language) }
    case .awaitingPayment: amount.map { CustomerMessage.pay($0, in: settings.language) }
    case .payment(let step):
      step.machine.flatMap { _ in
        name.flatMap { name in
          step.ticket.map {
            CustomerMessage.accepted(name, ticket: $0.number, in: settings.language)
          }
        }
      }
    case .returned(_, OrderFailure.cleaning.rawValue, _):
      CustomerMessage.cleaning(in: settings.language)
    case .rejected(.cleaningDue, _): CustomerMessage.cleaningDue(in: settings.language)
    case .failed, .returned: name.map { CustomerMessage.failed($0, in: settings.language) }
    case .rejected(.machineDown, _): CustomerMessage.machineDown(in: settings.language)
    case .rejected(.blocked, _): CustomerMessage.blocked(in: settings.language)
    case .rejected(.paymentDown, _): CustomerMessage.paymentDown(in: settings.language)
    case .outOfStock: CustomerMessage.outOfStock(in: settings.language)
    case .rejected(.closed, _): CustomerMessage.closed(in: settings.language)
    case .opened, .restocked, .service, .rejected, .decided, .total, .program, .sensor, .expired,
      .removed:
      nil
    }
  }
}
