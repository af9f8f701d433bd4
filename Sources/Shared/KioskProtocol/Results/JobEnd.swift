/// The data of an order in the entry that ends the order. The entry also has the source and the id
/// of the order.
package struct JobEnd: Hashable, Sendable {
  /// The sequence number of the order's entry.
  package let job: Int
  /// The machine, or `nil` if the order never had one.
  package let machine: MachineID?
  package let order: Order
  package let ticket: Ticket

  package init(job: Int, machine: MachineID?, order: Order, ticket: Ticket) {
    self.job = job
    self.machine = machine
    self.order = order
    self.ticket = ticket
  }
}

extension JobEnd: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    job = try members.required("job", \.job)
    guard let ticket = members.ticket(\.ticket) else { throw members.missing("ticket") }
    guard let order = members.order(\.order) else { throw members.missing("juice") }
    (self.ticket, self.order) = (ticket, order)
    machine = members.optional("machine", \.machine)
  }
}
