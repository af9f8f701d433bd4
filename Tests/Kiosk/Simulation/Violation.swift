/// A violation of the contract.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Rule: String, Sendable {
    /// A press that the broker accepted did not count.
    case lost
    /// A press counted twice.
    case twice
    /// A command counted that must not count.
    case forbidden
    /// A decision differs from the model's.
    case decision
    /// An answer is missing, wrong, or differs from the earlier one.
    case answer
    /// The event feed has a gap.
    case events
    /// A display differs from the ledger.
    case display
    /// The ledger contradicts itself.
    case ledger
    /// A record that must stay bounded exceeds its limit.
    case memory
    /// The kiosk does not recover.
    case recovery
    /// The simulation itself has failed.
    case world
  }

  package let rule: Rule
  package let detail: String

  package var description: String { "\(rule): \(detail)" }
}
