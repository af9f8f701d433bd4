/// Makes whoever guesses wait, and not whoever is named.
///
/// A browser that has logged in by a name before is counted by itself, so that no guesses of others
/// shut it out. All others are counted by name and address, by address, and by name: many names do not
/// help a guesser, nor do many addresses. (OWASP: "Slow Down Online Guessing Attacks with Device
/// Cookies".)
struct LoginThrottle {
  typealias Instant = FailedLogins.Instant

  struct Attempt: Sendable {
    /// As it was typed.
    let name: String
    let origin: AddressBlock
    /// What `DeviceCookie` knows this browser by; `nil`: it has not logged in by this name before.
    let device: String?
  }

  private var devices: FailedLogins
  private var guests: FailedLogins
  private var origins: FailedLogins
  private var names: FailedLogins

  /// - Parameter places: how many are told apart at the same time, about.
  init(places: Int = 4096) {
    devices = FailedLogins(limit: 10, places: places)
    guests = FailedLogins(limit: 10, places: places)
    origins = FailedLogins(limit: 30, places: places)
    names = FailedLogins(limit: 100, places: places)
  }

  /// Counts an attempt before it is made, so that those made at the same time count, too.
  ///
  /// - Returns: how long to wait before it may be made; then it is not counted.
  mutating func begin(_ attempt: Attempt, at now: Instant) -> Duration? {
    let counters = counters(of: attempt)
    let waits = counters.map { counter, key in self[keyPath: counter].wait(for: key, at: now) }
    if let wait = waits.compactMap({ $0 }).max() { return wait }
    for (counter, key) in counters { self[keyPath: counter].count(key, at: now) }
    return nil
  }

  /// The password was right, or has not been looked at.
  mutating func takeBack(_ attempt: Attempt) {
    for (counter, key) in counters(of: attempt) { self[keyPath: counter].takeBack(key) }
  }

  private func counters(of attempt: Attempt) -> [(WritableKeyPath<Self, FailedLogins>, String)] {
    if let device = attempt.device { return [(\.devices, device)] }
    return [
      (\.guests, "\(attempt.origin) \(attempt.name)"), (\.origins, attempt.origin.description),
      (\.names, attempt.name),
    ]
  }
}
