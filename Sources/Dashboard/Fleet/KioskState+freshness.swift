package import JuiceDomain
package import KioskProtocol

// Fruit with a date.
extension KioskState {
  /// Time before the expiry of a batch of fruit at which people are notified of the expiry.
  package static let expiryNotice = Duration.seconds(12 * 3600)

  /// Expired fruit that is still in the kiosk; empty if the stock is unknown.
  package var expired: FruitAmounts { stock?.expired ?? [:] }

  /// Returns whether the fruit gets a date with each restock, or some of its stock has a date.
  func isDated(_ fruit: Fruit.ID) -> Bool {
    stock?.expires[fruit] != nil
      || menu?.menu.fruits.first { $0.id == fruit }?.keepsHours != nil
  }

  /// Returns the fruits whose next batch expires by `now` plus `expiryNotice`, the earliest first.
  package func expiring(at now: Timestamp) -> [(fruit: Fruit.ID, at: Timestamp)] {
    (stock?.expires ?? [:]).filter { $0.value.since(now) <= Self.expiryNotice }
      .map { (fruit: $0.key, at: $0.value) }.sorted { ($0.at, $0.fruit) < ($1.at, $1.fruit) }
  }
}
