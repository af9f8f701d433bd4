package import JuiceDomain

/// A machine that makes juices, among those of one kiosk.
package typealias MachineID = Identifier<MachineReport>

/// What a machine is to make: the payload of `make/<machine>`. The same one comes again until the
/// machine has answered.
package struct MachineOrder: Hashable, Sendable {
  /// Numbers rise: a machine that has begun one begins none below it.
  package let job: Int
  /// What the customer listens for.
  package let ticket: Int
  package let juice: Juice.ID
  /// Glasses.
  package let quantity: Int
  /// Of one glass; empty if the menu has the juice no more.
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

  /// No kiosk takes an order for more glasses.
  private static let maximumQuantity = 1_000

  /// - Throws: `JSONError` if it is not what `payload` writes.
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

  /// The payload of `make/<machine>/cancel`: a job that is not to be begun. A machine that has begun
  /// it says what became of it.
  package static func cancel(_ job: Int) -> [UInt8] {
    JSONWriter.object { $0.member("job", job) }
  }

  /// Reads what `cancel` writes.
  package static func cancelled(_ payload: [UInt8]) throws(JSONError) -> Int {
    guard let job = try JSON.parse(payload).integer("job") else {
      throw JSONError(offset: 0, problem: "job is missing")
    }
    return job
  }
}
