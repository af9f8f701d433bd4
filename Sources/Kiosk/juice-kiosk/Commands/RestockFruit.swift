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
      "The date on the package of a fruit, such as 2026-12-05: its end by the kiosk's clock, or a "
        + "time, such as 2026-12-05T18:00:00+01:00; may be given several times.",
      valueName: "fruit=date"), transform: FruitDate.init)
  var bestBefore: [FruitDate] = []

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
    var (times, days): ([Fruit.ID: Int64], [Fruit.ID: Int64]) = ([:], [:])
    for date in bestBefore {
      switch date.date {
      case .time(let time): times[date.fruit] = time.milliseconds
      case .day(let day): days[date.fruit] = day.daysSinceEpoch
      }
    }
    try await request.send(
      .restock(
        Restock(
          add: add, set: set, expect: FruitAmounts(expect), bestBefore: times, bestBeforeDay: days)
      ),
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

/// A fruit and a date on the command line, such as `kiwi=2026-12-05`.
struct FruitDate {
  let fruit: Fruit.ID
  let date: BestBefore

  init(_ argument: String) throws {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let fruit = Fruit.ID(parts[0]) else {
      throw ValidationError("write a fruit and a date, such as kiwi=2026-12-05.")
    }
    guard let date = BestBefore(String(parts[1])) else {
      throw ValidationError("\(parts[1]) is not \(BestBefore.form).")
    }
    (self.fruit, self.date) = (fruit, date)
  }
}

extension FruitAmounts {
  init(_ numbers: [FruitNumber]) {
    self.init(numbers.map { (fruit: $0.fruit, amount: $0.number) })
  }
}
