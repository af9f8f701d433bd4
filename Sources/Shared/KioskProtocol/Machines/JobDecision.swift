package import JuiceDomain

/// A person's decision about a job whose result is unknown: the payload of `job/<source>`.
package struct JobDecision: Hashable, Sendable {
  /// The number of the attempt: the `seq` of the entry of the order, of the hold of its payment, of
  /// the requested program, or of the last `again`. The kiosk rejects the number of an earlier
  /// attempt, so that a decision cannot apply to a later one.
  package let job: Int
  package let choice: Choice
  /// The fruit that the attempt consumed, or `nil` if the machine's configuration determines it.
  package let used: FruitAmounts?

  package enum Choice: String, CaseIterable, Hashable, Sendable {
    /// The customer has received the juice.
    case poured
    /// The machine makes the juice again for the customer.
    case again
    /// The customer does not receive the juice, and the unused fruit is returned to the stock.
    case giveBack = "give_back"
  }

  package init(job: Int, choice: Choice, used: FruitAmounts? = nil) {
    self.job = job
    self.choice = choice
    self.used = used
  }
}
