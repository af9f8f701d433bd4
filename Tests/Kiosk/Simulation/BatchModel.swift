/// The auditor's knowledge of fruit with a date.
struct BatchModel {
  /// The batches that may not have expired, also those of which nothing is left.
  var held: [ID: Batch] = [:]
  /// The expired fruit that is still in the kiosk.
  var expired: [ID: Int] = [:]
  /// The fruit that open orders and programs have taken, the oldest first. Fruit without a date has
  /// batch 0.
  var taken: [Int: [Part]] = [:]
  /// The fruit of the order or program that the last entry ends.
  var returning: [Part] = []

  struct ID: Hashable { let fruit: String, number: Int }

  struct Part: Hashable {
    let id: ID
    var amount: Int
  }

  struct Batch {
    var quantity: Int
    /// The time at which the auditor has read of it.
    let brought: Duration
    /// The times between which it expires.
    var earliest, latest: Duration
    /// The sum of the steps of the clock forward, and whether it was set back.
    var forward = Duration.zero
    var hasGoneBack = false
  }

  func expiredAmount(of fruit: String) -> Int {
    expired.reduce(0) { $0 + ($1.key.fruit == fruit ? $1.value : 0) }
  }

  /// Notes a step of the clock. A step forward may pass the date on a package.
  mutating func clockJumped(by seconds: Int, isRunning: Bool, startedAt: Duration) {
    for id in held.keys {
      if seconds < 0 { held[id]?.hasGoneBack = true }
      guard seconds > 0 else { continue }
      held[id]?.forward += .seconds(seconds)
      held[id]?.earliest -= .seconds(seconds)
    }
  }

  /// Notes a start. After a step back the kiosk knows only that no batch is fresher than new.
  mutating func kioskStarts(at now: Duration) {
    for (id, batch) in held {
      held[id]?.earliest -= batch.forward
      if batch.hasGoneBack { held[id]?.latest += now - batch.brought }
    }
  }
}
