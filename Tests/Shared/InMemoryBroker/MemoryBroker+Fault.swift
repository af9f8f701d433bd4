extension MemoryBroker {
  /// A connection that breaks at one step of a client's work, and at no other.
  package struct Fault: Sendable, Hashable {
    /// What a client and its broker do to each other, in the order of the cycle.
    package enum Step: Sendable, Hashable, CaseIterable {
      /// CONNECT reaches the broker.
      case connect
      /// A batch is handed over by `nextEvent`.
      case delivery
      /// The client settles a batch: its acknowledgements leave, then what was held back.
      case acknowledge
      /// One PUBACK of the client reaches the broker.
      case puback
      /// One PUBLISH of the client reaches the broker.
      case publish
    }

    /// Before the step: it has had no effect. After it: it has, but no answer to it arrives.
    package enum Moment: Sendable, Hashable, CaseIterable {
      case before, after
    }

    package var moment: Moment
    package var step: Step
    package var clientID: String
    /// How many steps of that kind pass unharmed first.
    package var skipping: Int

    package init(_ moment: Moment, _ step: Step, of clientID: String, skipping: Int = 0) {
      self.moment = moment
      self.step = step
      self.clientID = clientID
      self.skipping = skipping
    }
  }
}
