/// Why a command was not carried out, in the words of the wire.
package enum RejectionReason: String, Error, CaseIterable, Hashable, Sendable {
  /// The menu has no such juice.
  case unknownJuice = "unknown_juice"
  /// The kiosk keeps no such fruit.
  case unknownFruit = "unknown_fruit"
  /// The payload is not a command.
  case malformed
  /// The payload is larger than a command may be.
  case tooLarge = "too_large"
  /// Fewer than one glass, or more than one order may ask for.
  case quantityOutOfRange = "quantity_out_of_range"
  /// Older than the kiosk's limit.
  case stale
  /// The broker had kept it: nobody has pressed a button now.
  case retained
  /// The sender sends faster than the kiosk's limit.
  case rateLimited = "rate_limited"
  /// The kiosk takes no orders now.
  case closed
  /// The stock is not what the restock expected.
  case conflict
  /// The stock would go above the capacity.
  case exceedsCapacity = "exceeds_capacity"
  /// The stock would go below zero.
  case belowZero = "below_zero"
  /// Each machine that makes the juice is away, in fault, or has failed too often.
  case machineDown = "machine_down"
  /// The kiosk has no such machine.
  case unknownMachine = "unknown_machine"
  /// No job with this number waits for a person.
  case noDecisionNeeded = "no_decision_needed"
  /// The ledger cannot hold what the command would write there.
  case notRecorded = "not_recorded"
}

/// A rejection, with words for whoever looks for the fault.
package struct Rejection: Error, Hashable, Sendable {
  package let reason: RejectionReason
  package let detail: String
  /// The id of the rejected request, as far as it could be read.
  package let id: Request.ID?

  package init(_ reason: RejectionReason, _ detail: String, id: Request.ID? = nil) {
    self.reason = reason
    self.detail = detail
    self.id = id
  }
}
