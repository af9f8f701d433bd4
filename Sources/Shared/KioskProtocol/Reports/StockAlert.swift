/// The alert level of a fruit's stock, which the kiosk publishes on `alert/<fruit>`.
package enum StockAlert: String, Hashable, Sendable {
  case ok, low, out

  /// Determines the level of a stock.
  ///
  /// - Parameters:
  ///   - quantity: The stock of the fruit.
  ///   - least: The smallest amount of the fruit in a recipe, at least 1. With a smaller stock the
  ///     level is `out`, because no juice with this fruit can be made.
  ///   - low: The low mark: at or below it a fruit is low. 0 disables `low`.
  ///   - previous: The current level. Unless `low` is 0, `low` and `out` become `ok` only when the
  ///     stock exceeds the low mark by more than a quarter of the mark, and by more than 1, so that
  ///     a stock near the mark does not change the level repeatedly.
  package init(quantity: Int, least: Int = 1, low: Int, previous: StockAlert) {
    let clear = previous == .ok || low == 0 ? low : low + max(1, low / 4)
    self = quantity < least ? .out : quantity <= clear ? .low : .ok
  }
}

extension StockAlert: MemberValue {}
