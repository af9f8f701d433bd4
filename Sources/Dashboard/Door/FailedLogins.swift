/// Counts wrong passwords by a key, such as a name or an address. The table has a fixed size: keys that
/// somebody makes up take no more memory, but share a place with others.
struct FailedLogins {
  typealias Instant = ContinuousClock.Instant

  /// How far apart attempts have to be once the `limit` is used up.
  static let pause = Duration.seconds(60)

  /// So many wrong passwords in a row; one more is allowed after each `pause`.
  let limit: Int
  /// When the wrong passwords of each place are forgotten.
  private var places: [Instant?]

  init(limit: Int, places: Int) {
    self.limit = limit
    self.places = Array(repeating: nil, count: places)
  }

  /// How long to wait before the next attempt; `nil`: not at all.
  func wait(for key: String, at now: Instant) -> Duration? {
    guard let clear = places[place(of: key)] else { return nil }
    let wait = clear - now - Self.pause * (limit - 1)
    return wait > .zero ? wait : nil
  }

  mutating func count(_ key: String, at now: Instant) {
    let place = place(of: key)
    places[place] = max(places[place] ?? now, now) + Self.pause
  }

  /// Takes back an attempt that was counted.
  mutating func takeBack(_ key: String) { places[place(of: key)]? -= Self.pause }

  /// `Hasher` has another seed in each process: nobody can make up a key that shares the place of another.
  private func place(of key: String) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(places.count))
  }
}
