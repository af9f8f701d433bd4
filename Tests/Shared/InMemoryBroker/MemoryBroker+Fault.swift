extension MemoryBroker {
  /// A connection loss at one step of a client's work.
  package struct Fault: Sendable, Hashable {
    /// An interaction of a client with its broker, in the order of the cycle.
    package enum Step: Sendable, Hashable, CaseIterable {
      /// The CONNECT reaches the broker.
      case connect
      /// `nextEvent` returns a batch.
      case delivery
      /// The client acknowledges a batch: the acknowledgements are written, then the deferred
      /// messages.
      case acknowledge
      /// A PUBACK of the client reaches the broker.
      case puback
      /// A PUBLISH of the client reaches the broker.
      case publish
    }

    /// Before the step, which then has no effect; or after it, when the effect remains but no
    /// response arrives.
    package enum Moment: Sendable, Hashable, CaseIterable {
      case before, after
    }

    package var moment: Moment
    package var step: Step
    package var clientID: String
    /// The number of such steps that succeed before the fault.
    package var skipping: Int

    package init(_ moment: Moment, _ step: Step, of clientID: String, skipping: Int = 0) {
      self.moment = moment
      self.step = step
      self.clientID = clientID
      self.skipping = skipping
    }
  }
}
