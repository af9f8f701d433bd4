import ArgumentParser
import JuiceDomain

/// A fruit and a number on the command line: `kiwi=3`.
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

extension FruitAmounts {
  init(_ numbers: [FruitNumber]) {
    self.init(numbers.map { (fruit: $0.fruit, amount: $0.number) })
  }
}
