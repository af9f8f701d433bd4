package import JuiceDomain
package import KioskProtocol

/// An accepted order that a machine is to make, until it is made or the fruit is back.
package struct Job: Hashable, Sendable {
  /// The entry of the order.
  package let seq: Int
  /// Under which the machine knows it: the entry of the order, or of the decision to make it again.
  package var number: Int
  package let machine: MachineID
  package let order: Order
  package let ticket: Ticket
  /// The fruit that was taken.
  package let used: FruitAmounts
  /// What its glasses cost.
  package let amount: Money?
  package let source: Source
  package let id: Request.ID?
  /// When it was ordered, or ordered again by a person.
  package var at: Timestamp
  package var state: JobState
  /// How the sender wants its answers.
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

/// What the ledger knows of a machine.
package struct MachineRecord: Hashable, Sendable {
  /// What it has said last.
  package var status: MachineStatus
  /// So many jobs in a row have failed.
  package var failures: Int

  package init(status: MachineStatus, failures: Int = 0) {
    self.status = status
    self.failures = failures
  }
}
