/// Makes those who guess passwords wait, but not the users whose passwords they guess.
///
/// A browser that has logged in by a name before is counted by itself, so that no guesses from elsewhere
/// shut it out. All others are counted by name and address, by address, and by name: many names do not
/// help a guesser, nor do many addresses. (OWASP: "Slow Down Online Guessing Attacks with Device
/// Cookies".)
struct LoginThrottle {
  typealias Instant = FailedLogins.Instant

  struct Attempt: Sendable {
    /// As it was typed.
    let name: String
    let origin: AddressBlock
    /// The token of its `DeviceCookie`; `nil`: the browser has not logged in by this name before.
    let device: String?
  }

  private var devices: FailedLogins
  private var unknownDevices: FailedLogins
  private var origins: FailedLogins
  private var names: FailedLogins

  /// - Parameter slots: about so many names or addresses are told apart at the same time.
  init(slots: Int = 4096) {
    devices = FailedLogins(limit: 10, slots: slots)
    unknownDevices = FailedLogins(limit: 10, slots: slots)
    origins = FailedLogins(limit: 30, slots: slots)
    names = FailedLogins(limit: 100, slots: slots)
  }

  /// Counts an attempt before its password is checked, so that attempts at the same time count, too.
  ///
  /// - Returns: `nil` if the password may be checked; otherwise how long to wait, and nothing is counted.
  mutating func begin(_ attempt: Attempt, at now: Instant) -> Duration? {
    let counters = counters(of: attempt)
    let waits = counters.map { counter, key in self[keyPath: counter].wait(for: key, at: now) }
    if let wait = waits.compactMap({ $0 }).max() { return wait }
    for (counter, key) in counters { self[keyPath: counter].count(key, at: now) }
    return nil
  }

  /// Takes back an attempt: its password was right, or was not checked.
  mutating func revert(_ attempt: Attempt) {
    for (counter, key) in counters(of: attempt) { self[keyPath: counter].revert(key) }
  }

  private func counters(of attempt: Attempt) -> [(WritableKeyPath<Self, FailedLogins>, String)] {
    if let device = attempt.device { return [(\.devices, device)] }
    return [
      (\.unknownDevices, "\(attempt.origin) \(attempt.name)"),
      (\.origins, attempt.origin.description),
      (\.names, attempt.name),
    ]
  }
}
