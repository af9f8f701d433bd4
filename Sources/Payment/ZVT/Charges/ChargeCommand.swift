import JuiceDomain
package import KioskProtocol

/// A command of the kiosk to a payment device, as payment-contract.md defines it. Amounts are in
/// the smallest unit of the currency.
package enum ChargeCommand: Hashable, Sendable {
  /// Holds an amount.
  case charge(ChargeRequest)
  /// Captures an amount of the hold, and releases the rest.
  case capture(charge: Int, amount: Int)
  /// Releases the whole hold, or ends the prompt.
  case release(charge: Int)
  /// Refunds a captured charge.
  case refund(charge: Int)
  /// Publishes the state of the charge; after a review if the state is unclear.
  case state(charge: Int)
  /// Publishes the states of all charges that may still hold an amount, and then that these are all.
  case open(epoch: Int)

  /// The number of the charge, or `nil` for a command about all charges.
  package var charge: Int? {
    switch self {
    case .open: nil
    case .charge(let request): request.charge
    case .capture(let charge, _), .release(let charge), .refund(let charge), .state(let charge):
      charge
    }
  }

  /// Parses the payload of a command.
  ///
  /// - Parameter action: The topic level after `charge/<device>`, or `nil` for a new charge.
  /// - Throws: `JSONError` if the payload is not valid JSON, or a member is missing or out of range.
  package init(_ action: ChargeRequest.Action?, payload: [UInt8]) throws(JSONError) {
    guard let action else {
      self = .charge(try ChargeRequest(payload: payload))
      return
    }
    if action == .open {
      self = .open(epoch: try ChargeRequest.epoch(payload))
      return
    }
    let (charge, units) = try ChargeRequest.parse(payload)
    switch action {
    case .capture:
      guard let units else { throw JSONError("'amount' is missing") }
      self = .capture(charge: charge, amount: units)
    case .release: self = .release(charge: charge)
    case .refund: self = .refund(charge: charge)
    case .state, .open: self = .state(charge: charge)
    }
  }
}
