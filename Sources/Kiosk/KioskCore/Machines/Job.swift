package import JuiceDomain
package import KioskProtocol

/// An accepted order, until a machine has made it or the fruit is returned.
package struct Job: Hashable, Sendable {
  /// The number of the order's entry.
  package let seq: Int
  /// The number under which the kiosk sends the job to the machine: the entry of the order, or of
  /// the decision to make it again.
  package var number: Int
  package let machine: MachineID
  package let order: Order
  package let ticket: Ticket
  /// The fruit that was taken from the stock.
  package let used: FruitAmounts
  /// The price of all glasses.
  package let amount: Money?
  package let source: Source
  package let id: Request.ID?
  /// The time of the order, or of the decision to make it again.
  package var at: Timestamp
  package var state: JobState
  /// The response topic and correlation data that the sender requested.
  package let reply: Reply?
  package let terms: Terms

  /// The terms with which the kiosk accepted an order. A later menu or configuration does not
  /// change them.
  package struct Terms: Hashable, Sendable {
    /// The name of the juice in the customer's language.
    package var juiceName: String
    /// Maximum time until the machine reports that it has begun, and then until it reports the
    /// result.
    package var startLimit, finishLimit: Duration
    /// Whether a failed attempt uses no fruit, if the machine does not report that.
    package var returnsFruit: Bool

    package init(
      juiceName: String, startLimit: Duration, finishLimit: Duration, returnsFruit: Bool
    ) {
      self.juiceName = juiceName
      self.startLimit = startLimit
      self.finishLimit = finishLimit
      self.returnsFruit = returnsFruit
    }
  }

  package init(
    seq: Int, number: Int, machine: MachineID, order: Order, ticket: Ticket, used: FruitAmounts,
    amount: Money?, source: Source, id: Request.ID?, at: Timestamp, state: JobState, reply: Reply?,
    terms: Terms
  ) {
    self.seq = seq
    self.number = number
    self.machine = machine
    self.order = order
    self.ticket = ticket
    self.used = used
    self.amount = amount
    self.source = source
    self.id = id
    self.at = at
    self.state = state
    self.reply = reply
    self.terms = terms
  }

  /// The fruit of one glass.
  var recipe: FruitAmounts {
    FruitAmounts(used.map { (fruit: $0.fruit, amount: $0.amount / order.quantity) })
  }

  var end: JobEnd { JobEnd(job: seq, machine: machine, order: order, ticket: ticket) }
}

/// A machine that makes juices or did, as recorded in the ledger.
package struct Maker: Hashable, Sendable {
  package let machine: MachineID
  /// The juices that the machine makes, or `nil` for the whole menu.
  package let juices: Set<Juice.ID>?

  package init(machine: MachineID, juices: Set<Juice.ID>?) {
    self.machine = machine
    self.juices = juices
  }
}

/// The state of a machine as recorded in the ledger.
package struct MachineRecord: Hashable, Sendable {
  /// The last status that the machine published.
  package var status: MachineStatus
  /// The number of consecutive failed jobs.
  package var failures: Int

  package init(status: MachineStatus, failures: Int = 0) {
    self.status = status
    self.failures = failures
  }
}
