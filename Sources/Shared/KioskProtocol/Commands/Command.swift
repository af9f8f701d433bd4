package import JuiceDomain

/// A command for the kiosk.
package enum Command: Hashable, Sendable {
  case order(Order)
  case restock(Restock)
  /// A removal of fruit, sent on the topic of restocks.
  case remove(Removal)
  case service(ServiceState)
  /// Values that replace those of the kiosk's configuration file.
  case settings(SettingsCommand)
  /// A person's decision about a job.
  case job(JobDecision)
  /// A machine's answer about a job.
  case made(MachineAnswer)
  /// A machine's report on its own state.
  case machine(MachineStatus)
  /// A payment device's answer about a charge.
  case paid(PaymentAnswer)
  /// A payment device has published the states of all its open charges, as the ledger with this epoch requested.
  case inventory(epoch: Int)
  /// A payment device's report on its own state.
  case payment(MachineStatus)
  /// A payment device's end of day.
  case total(PaymentTotal)
  /// A person's request to run a program of a machine.
  case program(ProgramID)
  /// A person's decision about a charge.
  case charge(ChargeDecision)
  /// A person's decision about the fruits and machines that a sensor has blocked.
  case sensor(SensorDecision)

  package enum Kind: String, CaseIterable, Sendable {
    case order, restock, service, settings, job, made, paid, program

    /// The term for a sender of this kind, for messages.
    package var sender: String {
      switch self {
      case .order: "panel"
      case .made: "machine"
      case .paid: "payment device"
      case .restock, .service, .settings, .job, .program: "source"
      }
    }
  }

  /// The kind, which is a level of the command's topic. States of machines and payment devices, and
  /// totals, have other topics, and the kind `made` or `paid`.
  package var kind: Kind {
    switch self {
    case .order: .order
    case .restock, .remove: .restock
    case .service: .service
    case .settings: .settings
    case .job, .charge, .sensor: .job
    case .program: .program
    case .made, .machine: .made
    case .paid, .inventory, .payment, .total: .paid
    }
  }
}

/// An order: a juice and a number of glasses.
package struct Order: Hashable, Sendable {
  package let juice: Juice.ID
  /// The requested number of glasses, not yet compared with the kiosk's limit.
  package let quantity: Int

  package init(juice: Juice.ID, quantity: Int = 1) {
    self.juice = juice
    self.quantity = quantity
  }
}

/// The state of service: whether the kiosk takes orders.
package enum ServiceState: String, CaseIterable, Hashable, Sendable {
  case open, closed
}

/// A command with its id and the time at which it was sent: the payload on a command topic.
///
/// | kind | payload |
/// |---|---|
/// | `order` | `kiwi`, or `{"id":"p1-17","juice":"kiwi","quantity":2}` |
/// | `restock` | `{"add":{"kiwi":12},"expect":{"kiwi":3}}` |
/// | `restock` | `{"remove":{"kiwi":2},"reason":"damaged"}` |
/// | `service` | `open`, or `{"service":"closed"}` |
/// | `settings` | `{"id":"s1","low":{"kiwi":9}}` |
/// | `job` | `{"job":1234,"decision":"poured"}` |
/// | `job` | `{"sensor":"fridge","decision":"release","word":"4 °C, door was open"}` |
/// | `program` | `{"machine":"bar","program":"clean"}` |
/// | `made` | `{"job":1234,"status":"done"}` |
/// | `paid` | `{"charge":17,"status":"held","amount":350,"currency":"EUR"}` |
/// | `paid` | `{"status":"open","epoch":7211}` |
///
/// ```swift
/// let request = try Request(kind: .order, payload: Array("kiwi".utf8))
/// request.command  // .order(Order(juice: "kiwi", quantity: 1))
/// request.payload  // {"juice":"kiwi","quantity":1}
/// ```
///
/// All objects may have the members `id` and `sent_at`; `settings` must have an `id`.
package struct Request: Hashable, Sendable {
  package typealias ID = Identifier<Request>

  /// The id of the command, or `nil` if the sender gives none. All copies of a command have the same
  /// id; each new command, for example after another press, has a new one.
  package let id: ID?
  package let sentAt: Timestamp?
  package let command: Command

  package init(id: ID? = nil, sentAt: Timestamp? = nil, command: Command) {
    self.id = id
    self.sentAt = sentAt
    self.command = command
  }
}
