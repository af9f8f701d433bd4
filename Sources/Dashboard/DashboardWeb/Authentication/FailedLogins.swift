/// Counts wrong passwords by a key, such as a name or an address. The table has a fixed size: keys that
/// somebody makes up take no more memory, but share a slot with others.
struct FailedLogins {
  typealias Instant = ContinuousClock.Instant

  /// How far apart attempts have to be once the `limit` is used up.
  static let pause = Duration.seconds(60)

  /// So many wrong passwords in a row; one more is allowed after each `pause`.
  let limit: Int
  /// When the wrong passwords of each slot are forgotten.
  private var slots: [Instant?]

  init(limit: Int, slots: Int) {
    self.limit = limit
    self.slots = Array(repeating: nil, count: slots)
  }

  /// How long to wait before the next attempt; `nil`: not at all.
  func wait(for key: String, at now: Instant) -> Duration? {
    guard let clear = slots[slot(of: key)] else { return nil }
    let wait = clear - now - Self.pause * (limit - 1)
    return wait > .zero ? wait : nil
  }

  mutating func count(_ key: String, at now: Instant) {
    let slot = slot(of: key)
    slots[slot] = max(slots[slot] ?? now, now) + Self.pause
  }

  /// Takes back an attempt that was counted.
  mutating func revert(_ key: String) { slots[slot(of: key)]? -= Self.pause }

  /// `Hasher` has another seed in each process: nobody can make up a key that shares the slot of another.
  private func slot(of key: String) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(slots.count))
  }
}
