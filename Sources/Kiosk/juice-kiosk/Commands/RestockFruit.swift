import ArgumentParser
import JuiceDomain
import KioskProtocol

struct RestockFruit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restock", abstract: "Change the stock of one or more fruits, all or nothing.",
    discussion: """
      juice-kiosk restock strawberry=+20 kiwi=-1 mango=30 adds 20 strawberries, removes a kiwi and \
      sets the mangos to 30. Exits 0 only if the change was applied.
      """)

  @Argument(help: ArgumentHelp("A change of the stock.", valueName: "fruit=+N|-N|N"))
  var changes: [String]

  @Option(
    help: ArgumentHelp(
      "Apply only if the fruit's stock is N; may be given several times.",
      valueName: "fruit=N"))
  var expect: [FruitNumber] = []

  @Option(
    help: ArgumentHelp(
      "The time at which the added pieces of a fruit expire, such as 2026-12-01T09:00:00Z; may be "
        + "given several times.", valueName: "fruit=time"))
  var bestBefore: [FruitTime] = []

  @OptionGroup var request: RequestOptions

  func run() async throws {
    var (add, set): (FruitAmounts, FruitAmounts) = ([:], [:])
    for change in changes {
      guard let parsed = FruitNumber(argument: change) else {
        throw ValidationError(
          "\(change) is not of the form strawberry=+20, kiwi=-1 or mango=30.")
      }
      let (fruit, number) = (parsed.fruit, parsed.number)
      guard add[fruit] == nil, set[fruit] == nil else {
        throw ValidationError("\(fruit) is named twice.")
      }
      if change.contains("=+") || change.contains("=-") {
        add[fruit] = number
      } else {
        set[fruit] = number
      }
    }
    let times = bestBefore.reduce(into: [:]) { $0[$1.fruit] = $1.time.milliseconds }
    try await request.send(
      .restock(
        Restock(add: add, set: set, expect: FruitAmounts(expect), bestBefore: times)),
      of: .restock)
  }
}

/// A fruit and a number on the command line, such as `kiwi=3`.
struct FruitNumber: ExpressibleByArgument {
  let fruit: Fruit.ID
  let number: Int

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let fruit = Fruit.ID(parts[0]), let number = Int(parts[1]) else {
      return nil
    }
    (self.fruit, self.number) = (fruit, number)
  }
}

/// A fruit and a time on the command line, such as `kiwi=2026-12-01T09:00:00Z`.
struct FruitTime: ExpressibleByArgument {
  let fruit: Fruit.ID
  let time: Timestamp

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let fruit = Fruit.ID(parts[0]), let time = Timestamp(String(parts[1]))
    else { return nil }
    (self.fruit, self.time) = (fruit, time)
  }
}

extension FruitAmounts {
  init(_ numbers: [FruitNumber]) {
    self.init(numbers.map { (fruit: $0.fruit, amount: $0.number) })
  }
}
