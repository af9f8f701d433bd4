/// Slows down password guessing without locking out the users whose passwords are guessed.
///
/// Counts attempts separately for a browser that has logged in with the name before, so guesses
/// from elsewhere do not lock it out. Counts all other attempts by name and address, by address,
/// and by name, so that an attacker gains nothing by using many names or many addresses.
/// (OWASP: "Slow Down Online Guessing Attacks with Device Cookies".)
struct LoginThrottle {
  typealias Instant = FailedLogins.Instant

  struct Attempt: Sendable {
    /// The name as it was entered.
    let name: String
    let origin: AddressBlock
    /// The token of the browser's `DeviceCookie`, or `nil` if the browser has no valid one for the
    /// name.
    let device: String?
  }

  private var devices: FailedLogins
  private var unknownDevices: FailedLogins
  private var origins: FailedLogins
  private var names: FailedLogins

  /// Creates a throttle that has counted no attempts.
  ///
  /// - Parameter slots: Number of slots in each table. Keys that share a slot are counted together.
  init(slots: Int = 4096) {
    devices = FailedLogins(limit: 10, slots: slots)
    unknownDevices = FailedLogins(limit: 10, slots: slots)
    origins = FailedLogins(limit: 30, slots: slots)
    names = FailedLogins(limit: 100, slots: slots)
  }

  /// Counts an attempt before its password is checked, so that simultaneous attempts count, too.
  ///
  /// - Returns: `nil` if the password may be checked; otherwise the time until the next attempt is
  ///   allowed, and this attempt is not counted.
  mutating func begin(_ attempt: Attempt, at now: Instant) -> Duration? {
    let counters = counters(of: attempt)
    let waits = counters.map { counter, key in self[keyPath: counter].wait(for: key, at: now) }
    if let wait = waits.compactMap({ $0 }).max() { return wait }
    for (counter, key) in counters { self[keyPath: counter].count(key, at: now) }
    return nil
  }

  /// Removes an attempt from the counts, because its password was right or was not checked.
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
