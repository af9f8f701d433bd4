package import JuiceDomain
package import KioskProtocol

/// An accepted order, until a machine has made it or the fruit is returned.
package struct Job: Hashable, Sendable {
  /// The number of the order's entry.
  package let seq: Int
  /// The number under which the machine knows the job: the entry of the order, or of the decision
  /// to make it again.
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

  package init(
    seq: Int, number: Int, machine: MachineID, order: Order, ticket: Ticket, used: FruitAmounts,
    amount: Money?, source: Source, id: Request.ID?, at: Timestamp, state: JobState, reply: Reply?
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
  }

  var end: JobEnd { JobEnd(job: seq, machine: machine, order: order, ticket: ticket) }
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
