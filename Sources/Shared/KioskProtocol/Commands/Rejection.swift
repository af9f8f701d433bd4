/// The reason why the kiosk rejects a command: the member `reason` of the result.
package enum RejectionReason: String, Error, CaseIterable, Hashable, Sendable {
  /// The juice is not on the menu.
  case unknownJuice = "unknown_juice"
  /// The kiosk does not stock the fruit.
  case unknownFruit = "unknown_fruit"
  /// The payload is not a command.
  case malformed
  /// The payload or another part of the message exceeds its maximum size.
  case tooLarge = "too_large"
  /// The order is for less than one glass, or for more than the kiosk's limit.
  case quantityOutOfRange = "quantity_out_of_range"
  /// The command is older than the kiosk's limit.
  case stale
  /// The broker had retained the message: it is not a current button press.
  case retained
  /// The sender exceeds the kiosk's rate limit.
  case rateLimited = "rate_limited"
  /// The kiosk is closed.
  case closed
  /// The kiosk is not in the state that the command requires: for example, the stock differs from
  /// the one that the restock expects.
  case conflict
  /// The stock would exceed the capacity.
  case exceedsCapacity = "exceeds_capacity"
  /// The stock would become negative.
  case belowZero = "below_zero"
  /// The fruit has already expired at the time of the restock.
  case expired
  /// No machine that makes the juice works and has its fruit, or the machine cannot run the program.
  case machineDown = "machine_down"
  /// A machine that makes the juice has an overdue cleaning or an undecided program.
  case cleaningDue = "cleaning_due"
  /// A sensor has blocked a fruit of the juice, or a machine that makes the juice, and no other
  /// machine can make it.
  case blocked
  /// No device can take the payment of the order.
  case paymentDown = "payment_down"
  /// The kiosk has no such payment device.
  case unknownDevice = "unknown_device"
  /// The kiosk has sent no charge with this number to the device.
  case unknownCharge = "unknown_charge"
  /// The device reports another amount or currency than the kiosk requested.
  case wrongAmount = "wrong_amount"
  /// The kiosk has no such machine, or the machine has no such program.
  case unknownMachine = "unknown_machine"
  /// No job or charge with this number, or sensor with this name, needs the decision.
  case noDecisionNeeded = "no_decision_needed"
  /// The kiosk cannot store the command.
  case notRecorded = "not_recorded"
}

/// A rejection with an explanation for troubleshooting.
package struct Rejection: Error, Hashable, Sendable {
  package let reason: RejectionReason
  package let detail: String
  /// The id of the rejected request, or `nil` if no id could be read.
  package let id: Request.ID?

  package init(_ reason: RejectionReason, _ detail: String, id: Request.ID? = nil) {
    self.reason = reason
    self.detail = detail
    self.id = id
  }
}
