package import JuiceDomain

/// What somebody wants of the kiosk.
package enum Command: Hashable, Sendable {
  case order(Order)
  case restock(Restock)
  case service(ServiceState)
  /// Of a person, about a job.
  case job(JobDecision)
  /// Of a machine, about a job.
  case made(MachineAnswer)
  /// Of a machine, about itself.
  case machine(MachineStatus)

  package enum Kind: String, CaseIterable, Sendable {
    case order, restock, service, job, made

    /// What a sender of this kind is called.
    package var sender: String {
      switch self {
      case .order: "panel"
      case .made: "machine"
      case .restock, .service, .job: "source"
      }
    }
  }

  /// On which topic it comes. What a machine says of itself comes on another, and counts as its.
  package var kind: Kind {
    switch self {
    case .order: .order
    case .restock: .restock
    case .service: .service
    case .job: .job
    case .made, .machine: .made
    }
  }
}

/// A juice, and how many glasses of it.
package struct Order: Hashable, Sendable {
  package let juice: Juice.ID
  /// As it was asked for: the kiosk's limit is checked later.
  package let quantity: Int

  package init(juice: Juice.ID, quantity: Int = 1) {
    self.juice = juice
    self.quantity = quantity
  }
}

/// Whether the kiosk takes orders.
package enum ServiceState: String, CaseIterable, Hashable, Sendable {
  case open, closed
}

/// A command with what its sender tells about it.
package struct Request: Hashable, Sendable {
  package typealias ID = Identifier<Request>

  /// The same for every copy of one press, another for each press; `nil` from a button that
  /// cannot count.
  package let id: ID?
  package let sentAt: Timestamp?
  package let command: Command

  package init(id: ID? = nil, sentAt: Timestamp? = nil, command: Command) {
    self.id = id
    self.sentAt = sentAt
    self.command = command
  }
}
