package import JuiceDomain

/// The id of a machine that makes juices for a kiosk.
package typealias MachineID = Identifier<MachineReport>

/// A job for a machine: the payload of `make/<machine>`. The kiosk sends it again until the machine
/// has answered.
package struct MachineOrder: Hashable, Sendable {
  /// The job number. Numbers increase: a machine never begins a job with a lower number than the
  /// last.
  package let job: Int
  /// The number by which the kiosk calls the customer.
  package let ticket: Int
  package let juice: Juice.ID
  /// The number of glasses.
  package let quantity: Int
  /// The recipe of one glass; empty if the juice is no longer on the menu.
  package let recipe: FruitAmounts

  package init(job: Int, ticket: Int, juice: Juice.ID, quantity: Int, recipe: FruitAmounts) {
    self.job = job
    self.ticket = ticket
    self.juice = juice
    self.quantity = quantity
    self.recipe = recipe
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("job", job)
      json.member("ticket", ticket)
      json.member("juice", juice.text)
      json.member("quantity", quantity)
      json.member("recipe", recipe)
    }
  }

  /// Maximum number of glasses of an order.
  private static let maximumQuantity = 1_000

  /// - Throws: `JSONError` if a member is missing or invalid.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let job = json.integer("job"), let ticket = json.integer("ticket"),
      let juice = json.text("juice").flatMap({ Juice.ID($0) }),
      let quantity = json.integer("quantity"), (1...Self.maximumQuantity).contains(quantity),
      let recipe = json.amounts("recipe")
    else {
      throw JSONError(
        offset: 0, problem: "job, ticket, juice, quantity or recipe is missing or out of range")
    }
    self.init(job: job, ticket: ticket, juice: juice, quantity: quantity, recipe: recipe)
  }

  /// Returns the payload of `make/<machine>/cancel`: the machine must not begin the job. If it has
  /// begun it, it reports the state of the job.
  package static func cancel(_ job: Int) -> [UInt8] {
    JSONWriter.object { $0.member("job", job) }
  }

  /// Parses a payload that `cancel` returned.
  package static func cancelled(_ payload: [UInt8]) throws(JSONError) -> Int {
    guard let job = try JSON.parse(payload).integer("job") else {
      throw JSONError(offset: 0, problem: "job is missing")
    }
    return job
  }
}
