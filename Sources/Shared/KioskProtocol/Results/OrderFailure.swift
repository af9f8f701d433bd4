/// The kiosk's own reason why an order was not made or a program was not done, except for `PaymentEnd`.
/// Machines have other reasons.
package enum OrderFailure: String, CaseIterable, MemberValue {
  case waitedTooLong = "waited_too_long"
  /// The machine has run out of the fruit.
  case noFruit = "no_fruit"
  /// The fruit has expired before the juice was made.
  case expired
  /// A sensor has blocked the fruit or the machine.
  case blocked
  /// A person decided that the customer does not receive the juice.
  case givenBack = "given_back"
  /// The device has released the amount before the juice was made.
  case paymentLost = "payment_lost"
  /// The machine runs a program, or its cleaning is overdue.
  case cleaning
  /// A program may have run.
  case unknown
  case machineDown = "machine_down"
}
