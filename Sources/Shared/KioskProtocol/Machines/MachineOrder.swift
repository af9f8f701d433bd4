package import JuiceDomain

/// The id of a machine that makes juices for a kiosk.
package typealias MachineID = Identifier<MachineReport>

/// A job for a machine: the payload of `make/<machine>`. The kiosk repeats the message until the
/// machine answers, or the job is too old.
package struct MachineOrder: Hashable, Sendable {
  /// The job number. A machine begins a job only if its number is higher than that of the last job
  /// that the machine began or cancelled.
  package let job: Int
  /// The customer's ticket. `ticket` and `juice` are `nil` for a program.
  package let ticket: Int?
  package let juice: Juice.ID?
  /// The program to run, or `nil` for an order.
  package let program: MachineProgram?
  /// The number of glasses; 1 for a program.
  package let quantity: Int
  /// The fruit of one glass, or of the program.
  package let recipe: FruitAmounts

  package init(job: Int, ticket: Int, juice: Juice.ID, quantity: Int, recipe: FruitAmounts) {
    self.job = job
    self.ticket = ticket
    self.juice = juice
    self.quantity = quantity
    self.recipe = recipe
    program = nil
  }

  package init(job: Int, program: MachineProgram, recipe: FruitAmounts) {
    self.job = job
    self.program = program
    self.recipe = recipe
    (ticket, juice, quantity) = (nil, nil, 1)
  }

  /// Returns the payload of `make/<machine>/cancel`: the machine must not begin the job. A machine
  /// that has begun the job reports the state of the job.
  package static func cancel(_ job: Int) -> [UInt8] {
    JSONWriter.object { $0.member("job", job) }
  }

  /// Parses a payload that `cancel(_:)` returned, and returns the job number.
  package static func cancelled(_ payload: [UInt8]) throws(JSONError) -> Int {
    guard let job = try JSON.parse(payload).integer("job") else {
      throw JSONError("job is missing")
    }
    return job
  }
}

extension MachineOrder: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    job = try members.required("job", \.job)
    program = members.optional("program", \.program)
    ticket = members.optional("ticket", \.ticket)
    juice = members.optional("juice", \.juice)
    guard (juice == nil) != (program == nil) else {
      throw JSONError("there must be a juice or a program")
    }
    quantity = try members.required("quantity", \.quantity, where: (1...1_000).contains)
    recipe = try members.required("recipe", \.recipe)
  }
}

extension MachineProgram: MemberValue {}
extension MachineProgram.Cause: MemberValue {}
