import ArgumentParser
import JuiceDomain
import KioskMessages

struct RestockFruit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restock", abstract: "Change the stock, as one step for all fruits.",
    discussion: """
      juice-kiosk restock strawberry=+20 kiwi=-1 mango=30 adds 20 strawberries, takes a kiwi away \
      and sets the mangos to 30: all of it or nothing. Exits 0 only if it was applied.
      """)

  @Argument(help: ArgumentHelp("What changes.", valueName: "fruit=+N|-N|N"))
  var changes: [String]

  @Option(
    help: ArgumentHelp(
      "Only if so many of this fruit are there now; may be given several times.",
      valueName: "fruit=N"))
  var expect: [String] = []

  @OptionGroup var request: RequestOptions

  func run() async throws {
    var (add, set): (FruitAmounts, FruitAmounts) = ([:], [:])
    for change in changes {
      let (fruit, number) = try Self.parse(change)
      guard add[fruit] == nil, set[fruit] == nil else {
        throw ValidationError("\(fruit) is named twice.")
      }
      if change.contains("=+") || change.contains("=-") {
        add[fruit] = number
      } else {
        set[fruit] = number
      }
    }
    var expected: FruitAmounts = [:]
    for expectation in expect {
      let (fruit, number) = try Self.parse(expectation)
      expected[fruit] = number
    }
    try await request.send(
      .restock(Restock(add: add, set: set, expect: expected)), of: .restock)
  }

  private static func parse(_ text: String) throws(ValidationError) -> (Fruit.ID, Int) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let fruit = Fruit.ID(parts[0]), let number = Int(parts[1]) else {
      throw ValidationError("\(text) is not of the form strawberry=+20, kiwi=-1 or mango=30.")
    }
    return (fruit, number)
  }
}
