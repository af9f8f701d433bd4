/// An amount of each of several fruits: a recipe, a stock, a change, a shortage.
///
/// The elements are sorted by fruit id, so that equal amounts are encoded identically.
package struct FruitAmounts: Hashable, Sendable {
  package typealias Element = (fruit: Fruit.ID, amount: Int)

  private var fruits: [Fruit.ID] = []
  private var amounts: [Int] = []

  package init() {}

  /// Creates amounts from a sequence. If it contains several amounts of a fruit, the last one is
  /// used.
  package init(_ elements: some Sequence<Element>) {
    for (fruit, amount) in elements { self[fruit] = amount }
  }

  /// The amount of a fruit, or `nil` if there is none. Setting `nil` removes the element.
  package subscript(fruit: Fruit.ID) -> Int? {
    get {
      let index = lowerBound(of: fruit)
      return index < fruits.endIndex && fruits[index] == fruit ? amounts[index] : nil
    }
    set {
      let index = lowerBound(of: fruit)
      let isPresent = index < fruits.endIndex && fruits[index] == fruit
      switch (isPresent, newValue) {
      case (true, let amount?):
        amounts[index] = amount
      case (true, nil):
        fruits.remove(at: index)
        amounts.remove(at: index)
      case (false, let amount?):
        fruits.insert(fruit, at: index)
        amounts.insert(amount, at: index)
      case (false, nil):
        break
      }
    }
  }

  /// Returns all amounts multiplied by `factor`. Traps on overflow.
  package func times(_ factor: Int) -> FruitAmounts {
    var product = self
    product.amounts = amounts.map { $0 * factor }
    return product
  }

  /// Returns the amounts of one of several glasses. A number of glasses below 1 counts as 1.
  package func divided(by glasses: Int) -> FruitAmounts {
    var quotient = self
    quotient.amounts = amounts.map { $0 / Swift.max(1, glasses) }
    return quotient
  }

  /// Adds the amounts. A sum beyond the range of `Int` is limited to that range, because some amounts
  /// come from reports of kiosks.
  package static func += (left: inout FruitAmounts, right: FruitAmounts) {
    for (fruit, amount) in right {
      let (sum, overflows) = (left[fruit] ?? 0).addingReportingOverflow(amount)
      left[fruit] = overflows ? (amount < 0 ? .min : .max) : sum
    }
  }

  private func lowerBound(of fruit: Fruit.ID) -> Int {
    var (low, high) = (0, fruits.count)
    while low < high {
      let middle = (low + high) / 2
      if fruits[middle] < fruit { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension FruitAmounts: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { fruits.count }
  package subscript(position: Int) -> Element { (fruits[position], amounts[position]) }
}

extension FruitAmounts: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (Fruit.ID, Int)...) {
    self.init(elements.lazy.map { (fruit: $0.0, amount: $0.1) })
  }
}

extension FruitAmounts: CustomStringConvertible {
  package var description: String {
    map { "\($0.fruit) \($0.amount)" }.joined(separator: ", ")
  }
}
