import ArgumentParser
import JuiceDomain
import KioskProtocol

struct OrderJuice: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "order", abstract: "Order a juice, as a button panel does.",
    discussion: "Waits for the result, prints it, and exits 0 only if the juice is ready.")

  @Argument(help: "The juice's id, such as strawberry_banana.")
  var juice: String

  @Option(name: .shortAndLong, help: "How many glasses; all of them or none.")
  var quantity = 1

  @OptionGroup var request: RequestOptions

  func run() async throws {
    guard let juice = Juice.ID(juice) else {
      throw ValidationError("A juice's id is 1 to 64 of A-Z a-z 0-9 _ -.")
    }
    try await request.send(.order(Order(juice: juice, quantity: quantity)), of: .order)
  }
}
