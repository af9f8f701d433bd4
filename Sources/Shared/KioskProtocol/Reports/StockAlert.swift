/// The alert level of a fruit's stock, which the kiosk publishes on `alert/<fruit>`.
package enum StockAlert: String, Hashable, Sendable {
  case ok, low, out

  /// - Parameters:
  ///   - least: The smallest amount in a recipe: with less, the fruit is out, because no juice that
  ///     needs it can be made. At least 1.
  ///   - previous: The current level. A fruit that is low becomes `ok` again only when it exceeds
  ///     the threshold by a quarter (at least by 1), so that the alert does not flap around the
  ///     threshold.
  ///   - low: The threshold: at or below it a fruit is low. 0 disables `low`.
  package init(quantity: Int, least: Int = 1, low: Int, previous: StockAlert) {
    let clear = previous == .ok || low == 0 ? low : low + max(1, low / 4)
    self = quantity < least ? .out : quantity <= clear ? .low : .ok
  }
}
