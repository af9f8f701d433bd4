package import JuiceDomain
package import KioskProtocol

// Fruit with a date.
extension KioskState {
  /// Time before the expiry of a fruit at which people are notified of it.
  package static let expiryNotice = Duration.seconds(12 * 3600)

  /// Expired fruit that is still in the machine.
  package var expired: FruitAmounts { stock?.expired ?? [:] }

  /// Returns whether the fruit gets a date with each restock, or some of it has one.
  func isDated(_ fruit: Fruit.ID) -> Bool {
    stock?.expires[fruit] != nil
      || menu?.menu.fruits.first { $0.id == fruit }?.keepsHours != nil
  }

  /// Returns the fruits of which something expires within `expiryNotice`, the earliest first.
  package func expiring(at now: Timestamp) -> [(fruit: Fruit.ID, at: Timestamp)] {
    (stock?.expires ?? [:]).filter { $0.value.since(now) <= Self.expiryNotice }
      .map { (fruit: $0.key, at: $0.value) }.sorted { ($0.at, $0.fruit) < ($1.at, $1.fruit) }
  }
}
