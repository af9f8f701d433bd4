/// Counts wrong passwords by a key, such as a name or an address. The table has a fixed size, so
/// that an attacker who invents names cannot exhaust the memory: keys that share a slot are counted
/// together.
struct FailedLogins {
  typealias Instant = ContinuousClock.Instant

  /// Time between two attempts after the `limit` is used up.
  static let pause = Duration.seconds(60)

  /// Maximum number of wrong passwords. One more is allowed after each `pause`.
  let limit: Int
  /// The time at which the count of each slot returns to zero, or `nil` if the slot was never used.
  private var slots: [Instant?]

  init(limit: Int, slots: Int) {
    self.limit = limit
    self.slots = Array(repeating: nil, count: slots)
  }

  /// Returns the time until the next attempt is allowed, or `nil` if it is allowed now.
  func wait(for key: String, at now: Instant) -> Duration? {
    guard let clear = slots[slot(of: key)] else { return nil }
    let wait = clear - now - Self.pause * (limit - 1)
    return wait > .zero ? wait : nil
  }

  mutating func count(_ key: String, at now: Instant) {
    let slot = slot(of: key)
    slots[slot] = max(slots[slot] ?? now, now) + Self.pause
  }

  /// Removes an attempt from the count.
  mutating func revert(_ key: String) { slots[slot(of: key)]? -= Self.pause }

  /// Returns the slot of a key. `Hasher` has a random seed in each process, so an attacker cannot
  /// find a key that shares a given slot.
  private func slot(of key: String) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(slots.count))
  }
}
