package import JuiceDomain
package import KioskProtocol

/// An order that has ended, for the screens of customers.
package struct EndedOrder: Hashable, Sendable {
  package let ticket: Int
  package let juice: Juice.ID
  /// The machine that made the order, or `nil` if it needed none.
  package let machine: MachineID?
  package let end: End

  package enum End: Hashable, Sendable {
    case ready
    /// The order was not made, or not completely. `money` is `nil` for an order without a charge.
    case notMade(money: MoneyEnd?)
  }
}

// The tickets on the screens of customers.
extension KioskState {
  /// Time for which a screen shows an order that has ended.
  package static let ticketTime = Duration.seconds(600)

  /// Returns the time by the kiosk's own clock.
  ///
  /// - Parameter now: The dashboard's time.
  package func clock(at now: Timestamp) -> Timestamp {
    Timestamp(milliseconds: now.milliseconds + Int64(reports.clockLead / .milliseconds(1)))
  }

  /// Returns the dashboard's time at a time of the kiosk's own clock.
  func dashboardTime(of time: Timestamp) -> Timestamp {
    Timestamp(milliseconds: time.milliseconds - Int64(reports.clockLead / .milliseconds(1)))
  }

  /// Returns the orders that ended within `ticketTime`, the latest first.
  ///
  /// - Parameters:
  ///   - now: The dashboard's time.
  ///   - isToday: Whether a time of the kiosk's clock is on the kiosk's present day. A new day begins
  ///     with ticket 1 again.
  package func endedOrders(
    at now: Timestamp, isToday: (Timestamp) -> Bool
  ) -> [EndedOrder] {
    orders.compactMap { entry in
      let age = clock(at: now).since(entry.at)
      guard (.seconds(-60)..<Self.ticketTime).contains(age), isToday(entry.at) else { return nil }
      return endedOrder(entry)
    }
  }

  private func endedOrder(_ entry: LedgerEntry) -> EndedOrder? {
    switch entry.outcome {
    case .ready(let order, _, let ticket):
      EndedOrder(ticket: ticket.number, juice: order.juice, machine: nil, end: .ready)
    case .made(let end):
      EndedOrder(
        ticket: end.ticket.number, juice: end.order.juice, machine: end.machine, end: .ready)
    case .failed(let end, _, _), .returned(let end, _, _):
      EndedOrder(
        ticket: end.ticket.number, juice: end.order.juice, machine: end.machine,
        end: .notMade(money: moneyEnd(of: entry)))
    default: nil
    }
  }

  /// Returns what happens with the money of an order that failed, or `nil` if the order has no charge.
  ///
  /// - Parameter entry: An entry with the outcome `failed` or `returned`.
  package func moneyEnd(of entry: LedgerEntry) -> MoneyEnd? {
    guard let end = entry.outcome.end else { return nil }
    if reports.payments.values.contains(where: { $0.charges.contains { $0.job == end.job } }) {
      return .undecided
    }
    let step = chargeSteps.lazy.compactMap(\.outcome.payment).first { $0.job == end.job }
    let sold = entry.amount.flatMap { $0.units > 0 ? MoneyEnd.pays($0) : nil }
    return switch step?.kind {
    case .refunded: .refunded
    case .refund: .refunding
    case .released: .released
    case .paidBack, .writtenOff: .nothing
    case .held, .release: sold ?? .releasing
    case .captured, .capture, .kept: sold ?? .undecided
    // An order without a charge, of which some glasses were made, is free, although they have a price.
    case nil: entry.outcome.failure.flatMap(PaymentEnd.init(rawValue:))?.money
    }
  }
}

extension PaymentEnd {
  /// The state of the money before the ledger has a step of the charge.
  fileprivate var money: MoneyEnd {
    switch self {
    case .declined, .notPaid, .replaced: .notCharged
    case .unknown: .undecided
    case .wrongAmount: .releasing
    }
  }
}
