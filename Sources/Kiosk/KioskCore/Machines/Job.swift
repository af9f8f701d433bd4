package import JuiceDomain
package import KioskProtocol

/// An accepted order or a requested program for a machine, until its end.
package struct Job: Hashable, Sendable {
  /// The number of the entry of the order or of the requested program.
  package let seq: Int
  /// The number under which the kiosk sends the job to the machine: the entry of the order, of the
  /// hold of its payment, of the requested program, or of the last decision to make the job again.
  package var number: Int
  package let machine: MachineID
  package let work: Work
  /// The fruit that was taken from the stock.
  package let used: FruitAmounts
  /// The price of all glasses, or `nil` without a price.
  package let amount: Money?
  /// The sender, or `nil` for a program that the kiosk has requested.
  package let source: Source?
  package let id: Request.ID?
  /// The time of the entry `number`.
  package var at: Timestamp
  package var state: JobState
  /// The reason why a sent order became `lost`, or `nil` if it was too old.
  package var lostReason: OrderFailure?
  /// The response topic and correlation data that the sender requested.
  package let reply: Reply?
  package let terms: Terms

  package enum Work: Hashable, Sendable {
    case order(Order, Ticket)
    case program(MachineProgram)
  }

  /// The terms with which the kiosk accepted an order. A later menu or configuration does not
  /// change them.
  package struct Terms: Hashable, Sendable {
    /// The name of the juice in the customer's language.
    package var juiceName: String
    /// Maximum time until the machine reports that it has begun, and then until it reports the
    /// result.
    package var startLimit, finishLimit: Duration
    /// Whether a failed attempt uses no fruit, if the machine does not report the used fruit.
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
    seq: Int, number: Int, machine: MachineID, work: Work, used: FruitAmounts,
    amount: Money?, source: Source?, id: Request.ID?, at: Timestamp, state: JobState, reply: Reply?,
    terms: Terms
  ) {
    self.seq = seq
    self.number = number
    self.machine = machine
    self.work = work
    self.used = used
    self.amount = amount
    self.source = source
    self.id = id
    self.at = at
    self.state = state
    self.reply = reply
    self.terms = terms
  }

  package var program: MachineProgram? {
    if case .program(let program) = work { program } else { nil }
  }

  /// The number of glasses; 1 for a program.
  var quantity: Int { if case .order(let order, _) = work { order.quantity } else { 1 } }

  /// The fruit of one glass.
  var recipe: FruitAmounts { used.divided(by: quantity) }

  var made: LedgerEntry.Outcome {
    switch work {
    case .order(let order, let ticket): .made(end(order, ticket))
    case .program(let program): .program(step(.done, program))
    }
  }

  /// Returns the outcome of a job that has failed.
  ///
  /// - Parameter changes: The returned fruit.
  func failed(_ reason: String, changes: FruitAmounts) -> LedgerEntry.Outcome {
    switch work {
    case .order(let order, let ticket):
      .failed(end(order, ticket), reason: reason, changes: changes)
    case .program(let program): .program(step(.failed, program, reason, changes))
    }
  }

  func returned(_ reason: OrderFailure, changes: FruitAmounts) -> LedgerEntry.Outcome {
    switch work {
    case .order(let order, let ticket):
      .returned(end(order, ticket), reason: reason.rawValue, changes: changes)
    case .program: failed(reason.rawValue, changes: changes)
    }
  }

  private func end(_ order: Order, _ ticket: Ticket) -> JobEnd {
    JobEnd(job: seq, machine: machine, order: order, ticket: ticket)
  }

  private func step(
    _ kind: ProgramStep.Kind, _ program: MachineProgram, _ reason: String? = nil,
    _ changes: FruitAmounts = [:]
  ) -> ProgramStep {
    let id = ProgramID(machine: machine, program: program)
    return ProgramStep(kind, id, job: seq, reason: reason, changes: changes)
  }
}

extension Job: OpenRecord {
  package static let kind = StateKey.Kind.job
  package var key: Int { seq }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    number = try members.required("number", \.number)
    machine = try members.required("machine", \.machine)
    state = try members.required("state", \.state)
    at = try members.required("at", \.at)
    lostReason = members.optional("lost_reason", \.lostReason)
    let program = members.optional("program", \.program)
    let ticket = members.ticket(\.ticket)
    members.writes("day") { $0.ticket?.day }
    let order = members.order(\.order)
    if let program {
      work = .program(program)
    } else if let order, let ticket {
      work = .order(order, ticket)
    } else {
      throw JSONError("'program' and 'juice' are missing or invalid")
    }
    used = try members.required("used", \.used)
    amount = try members.optional("amount", \.amount)
    source = members.optional("source", \.source)
    id = members.optional("id", \.id)
    reply = try members.optional("reply", \.reply)
    terms = try members.members(\.terms)
  }

  private var order: Order? { if case .order(let order, _) = work { order } else { nil } }
  private var ticket: Ticket? { if case .order(_, let ticket) = work { ticket } else { nil } }
}

extension Job.Terms: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    juiceName = try members.required("name", \.juiceName)
    startLimit = try members.required("start_ms", \.startLimit)
    finishLimit = try members.required("finish_ms", \.finishLimit)
    returnsFruit = members.flag("returns_fruit", \.returnsFruit)
  }
}

/// A configured or removed machine, as recorded in the ledger.
package struct Maker: Hashable, Sendable {
  /// The juices that the machine makes, or `nil` for the whole menu.
  package let juices: Set<Juice.ID>?

  package init(juices: Set<Juice.ID>?) { self.juices = juices }
}

extension Maker: StateRecord {
  package static let kind = StateKey.Kind.maker

  package init(_ members: inout Members<Self>) throws(JSONError) {
    juices = members.optional("juices") { $0.juices?.sorted() }.map(Set.init)
  }
}

/// The state of a machine as recorded in the ledger.
package struct MachineRecord: Hashable, Sendable {
  /// The last status that the machine published.
  package var status: MachineStatus
  /// The number of consecutive failed jobs. A new status `online` or `out` limits the number to
  /// `Jobs.maximumFailures - 1`.
  package var failures: Int

  package init(status: MachineStatus, failures: Int = 0) {
    self.status = status
    self.failures = failures
  }
}

extension MachineRecord: StateRecord {
  package static let kind = StateKey.Kind.machine

  package init(_ members: inout Members<Self>) throws(JSONError) {
    status = try members.required("status", \.status)
    failures = try members.required("failures", \.failures)
  }
}
