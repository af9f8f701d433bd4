package import JuiceDomain

/// What somebody wants of the kiosk.
package enum Command: Hashable, Sendable {
  case order(Order)
  case restock(Restock)
  case service(ServiceState)

  package enum Kind: String, CaseIterable, Sendable {
    case order, restock, service

    /// What a sender of this kind is called.
    package var sender: String { self == .order ? "panel" : "source" }
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
