/// The contract is broken.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Rule: String, Sendable {
    /// A press that the broker took in did not count.
    case lost
    /// A press counted twice.
    case twice
    /// Something counted that must not.
    case forbidden
    /// A decision is not the one that the rules demand.
    case decision
    /// An answer is missing, wrong, or not the same as before.
    case answer
    /// The event feed has a gap.
    case events
    /// A display does not show what is in the ledger.
    case display
    /// The ledger contradicts itself.
    case ledger
    /// What is remembered grows beyond its bounds.
    case memory
    /// The kiosk does not come back.
    case recovery
    /// The simulation itself has failed.
    case world
  }

  package let rule: Rule
  package let detail: String

  package var description: String { "\(rule): \(detail)" }
}
