import Synchronization

/// How often somebody has been wrong lately. The memory is a fixed table: whoever makes up names or
/// addresses fills it no further, and only shares a place in it with others.
final class FailedLogins: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// So many in a row; one more is allowed after each `pause`.
  static let limit = 10
  static let pause = Duration.seconds(60)

  /// Until when each place has to wait to be as good as new.
  private let places: Mutex<[Instant?]>

  init(places: Int = 4096) {
    self.places = Mutex(Array(repeating: nil, count: places))
  }

  /// How long somebody has to wait before the next attempt; `nil`: not at all.
  func wait(for key: String, at now: Instant) -> Duration? {
    places.withLock { places in
      guard let clear = places[place(of: key, in: places.count)] else { return nil }
      let wait = clear - now - Self.pause * (Self.limit - 1)
      return wait > .zero ? wait : nil
    }
  }

  func count(_ key: String, at now: Instant) {
    places.withLock { places in
      let place = place(of: key, in: places.count)
      places[place] = max(places[place] ?? now, now) + Self.pause
    }
  }

  func forgive(_ key: String) {
    places.withLock { places in places[place(of: key, in: places.count)] = nil }
  }

  /// The seed of `Hasher` is another in each process: nobody can choose whom to share with.
  private func place(of key: String, in count: Int) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(count))
  }
}
