/// How often somebody has been wrong lately. The memory is a fixed table: whoever makes up names or
/// addresses fills it no further, and only shares a place in it with others.
struct FailedLogins {
  typealias Instant = ContinuousClock.Instant

  /// Between two attempts of somebody who has used up the `limit`.
  static let pause = Duration.seconds(60)

  /// So many wrong passwords in a row; one more is allowed after each `pause`.
  let limit: Int
  /// Until when each place has to wait to be as good as new.
  private var places: [Instant?]

  init(limit: Int, places: Int) {
    self.limit = limit
    self.places = Array(repeating: nil, count: places)
  }

  /// How long somebody has to wait before the next attempt; `nil`: not at all.
  func wait(for key: String, at now: Instant) -> Duration? {
    guard let clear = places[place(of: key)] else { return nil }
    let wait = clear - now - Self.pause * (limit - 1)
    return wait > .zero ? wait : nil
  }

  mutating func count(_ key: String, at now: Instant) {
    let place = place(of: key)
    places[place] = max(places[place] ?? now, now) + Self.pause
  }

  /// The attempt that was counted last was right.
  mutating func takeBack(_ key: String) { places[place(of: key)]? -= Self.pause }

  /// The seed of `Hasher` is another in each process: nobody can choose whom to share with.
  private func place(of key: String) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(places.count))
  }
}
