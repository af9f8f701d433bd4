package import JuiceDomain

/// What a person decides about a job of which no machine can say what became of it: the payload of
/// `job/<source>`.
package struct JobDecision: Hashable, Sendable {
  /// The entry of the order.
  package let job: Int
  package let choice: Choice
  /// Fruit that the attempt has used up, for nothing; `nil`: as the machine is configured.
  package let used: FruitAmounts?

  package enum Choice: String, CaseIterable, Hashable, Sendable {
    /// The customer has the juice.
    case poured
    /// The customer waits for it: it is to be made once more.
    case again
    /// The customer does not get it, and what is left of the fruit goes back.
    case giveBack = "give_back"
  }

  package init(job: Int, choice: Choice, used: FruitAmounts? = nil) {
    self.job = job
    self.choice = choice
    self.used = used
  }
}
