import JuiceDomain
import Testing

@Suite struct FruitAmountsTests {
  @Test func amountsAreSortedHoweverTheyCome() {
    let amounts: FruitAmounts = ["mango": 3, "banana": 1, "kiwi": 2]
    #expect(amounts.map(\.fruit) == ["banana", "kiwi", "mango"])
    #expect(amounts.description == "banana 1, kiwi 2, mango 3")
    let reversed = FruitAmounts(amounts.reversed())
    #expect(reversed == amounts)
    #expect(reversed.hashValue == amounts.hashValue)
  }

  @Test func aFruitIsFoundChangedAndRemoved() {
    var amounts: FruitAmounts = ["kiwi": 2]
    #expect(amounts["kiwi"] == 2)
    #expect(amounts["banana"] == nil)
    #expect(amounts["mango"] == nil)
    amounts["kiwi"] = 5
    amounts["banana"] = 0
    #expect(amounts == ["banana": 0, "kiwi": 5])
    amounts["kiwi"] = nil
    amounts["mango"] = nil
    #expect(amounts == ["banana": 0])
  }

  @Test func amountsAreAddedFruitByFruit() {
    var amounts: FruitAmounts = ["kiwi": 2, "mango": 1]
    amounts += ["banana": 4, "kiwi": -3]
    #expect(amounts == ["banana": 4, "kiwi": -1, "mango": 1])
  }

  @Test func ofSeveralAmountsForOneFruitTheLastStands() {
    let twice: [FruitAmounts.Element] = [("kiwi", 1), ("kiwi", 7)]
    #expect(FruitAmounts(twice) == ["kiwi": 7])
  }

  @Test(arguments: [(Int.max, 1, Int.max), (.min, -1, .min), (.max, -1, .max - 1)])
  func aSumBeyondTheRangeIsLimited(first: Int, second: Int, sum: Int) {
    var amounts: FruitAmounts = ["kiwi": first]
    amounts += ["kiwi": second]
    #expect(amounts == ["kiwi": sum])
  }
}
