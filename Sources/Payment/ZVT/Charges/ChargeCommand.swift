import JuiceDomain
package import KioskProtocol

/// A message of the kiosk to a payment device: the contract of deploy/docs/payment.md.
package enum ChargeCommand: Hashable, Sendable {
  /// Hold this amount.
  case charge(ChargeRequest)
  /// Book this amount, and release the rest.
  case capture(charge: Int, amount: Int)
  /// Give back all of the hold.
  case release(charge: Int)
  /// Cancel a captured charge.
  case refund(charge: Int)
  /// Publish what is known.
  case state(charge: Int)

  package var charge: Int {
    switch self {
    case .charge(let request): request.charge
    case .capture(let charge, _), .release(let charge), .refund(let charge), .state(let charge):
      charge
    }
  }

  /// - Parameter action: The topic level after `charge/<device>`, or `nil` for a new charge.
  /// - Throws: `JSONError` if a member is missing or out of range.
  package init(_ action: ChargeRequest.Action?, payload: [UInt8]) throws(JSONError) {
    guard let action else {
      self = .charge(try ChargeRequest(payload: payload))
      return
    }
    let (charge, units) = try ChargeRequest.parse(payload)
    switch action {
    case .capture:
      guard let units else { throw JSONError(offset: 0, problem: "'amount' is missing") }
      self = .capture(charge: charge, amount: units)
    case .release: self = .release(charge: charge)
    case .refund: self = .refund(charge: charge)
    case .state: self = .state(charge: charge)
    }
  }
}
