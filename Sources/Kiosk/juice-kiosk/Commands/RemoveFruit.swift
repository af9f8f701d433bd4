import ArgumentParser
import JuiceDomain
import KioskProtocol

struct RemoveFruit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Record that you have taken fruit out of the kiosk.",
    discussion: """
      juice-kiosk remove kiwi=2 --reason damaged takes 2 kiwis out of the stock. juice-kiosk remove \
      kiwi=7 --expired --reason spoiled says that all 7 expired kiwis are taken out; they are no \
      part of the stock any more. Exits 0 only if it was recorded.
      """)

  @Argument(help: ArgumentHelp("A fruit and the number of pieces.", valueName: "fruit=N"))
  var fruits: [FruitNumber]

  @Option(help: "spoiled, damaged, counted (there was less) or given_away.")
  var reason: Removal.Reason

  @Flag(help: "The fruit has expired.")
  var expired = false

  @OptionGroup var request: RequestOptions

  func run() async throws {
    let amounts = FruitAmounts(fruits)
    guard amounts.count == fruits.count, amounts.allSatisfy({ $0.amount > 0 }) else {
      throw ValidationError("Name each fruit once, with at least 1 piece.")
    }
    let removal = Removal(
      stock: expired ? [:] : amounts, expired: expired ? amounts : [:], reason: reason)
    try await request.send(.remove(removal), of: .restock)
  }
}

extension Removal.Reason: ExpressibleByArgument {}
