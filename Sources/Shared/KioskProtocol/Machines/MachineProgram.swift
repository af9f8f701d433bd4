package import JuiceDomain

/// A program that a machine runs without making a juice. If the kiosk can start several programs
/// of a machine, it starts them in the order of the cases.
package enum MachineProgram: String, CaseIterable, Hashable, Sendable {
  case clean, rinse, prime

  /// The reason why a program is due.
  package enum Cause: String, CaseIterable, Hashable, Sendable {
    case hours, glasses, idle, opening, closing
  }
}

/// A program of one machine. As a command, it is a request to run the program: the payload of
/// `program/<source>`.
package struct ProgramID: Hashable, Sendable, LosslessStringConvertible {
  package let machine: MachineID
  package let program: MachineProgram

  package init(machine: MachineID, program: MachineProgram) {
    self.machine = machine
    self.program = program
  }

  package init?(_ description: String) {
    let words = description.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[1] == "of", let machine = MachineID(words[2]),
      let program = MachineProgram(rawValue: String(words[0]))
    else { return nil }
    self.init(machine: machine, program: program)
  }

  package var description: String { "\(program.rawValue) of \(machine)" }
}

/// A step of a machine's program, as the ledger records it.
package struct ProgramStep: Hashable, Sendable {
  package let kind: Kind
  package let id: ProgramID
  /// The `seq` of the request's entry if the step ends a request, or `nil` for other steps.
  package let job: Int?
  /// The cause of a program that is due or that the kiosk requests, or the reason of a failure.
  package let reason: String?
  /// The changes of the stock.
  package let changes: FruitAmounts

  package enum Kind: String, CaseIterable, MemberValue {
    case due = "program_due"
    /// A person or the kiosk has requested the program, as a job with the number of this entry.
    case requested = "program_requested"
    case done = "program_done"
    /// The program has failed or was not run; it counts as not done.
    case failed = "program_failed"
  }

  package init(
    _ kind: Kind, _ id: ProgramID, job: Int? = nil, reason: String? = nil,
    changes: FruitAmounts = [:]
  ) {
    self.kind = kind
    self.id = id
    self.job = job
    self.reason = reason
    self.changes = changes
  }
}

extension ProgramStep: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    kind = try members.reads("status", \.kind)
    job = members.optional("job", \.job)
    id = ProgramID(
      machine: try members.required("machine", \.id.machine),
      program: try members.required("program", \.id.program))
    reason = members.optional("reason", \.reason)?.asReason
    // The entry writes the changes.
    changes = members.json.amounts("changes") ?? [:]
  }
}
