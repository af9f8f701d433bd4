import JuiceDomain
import Synchronization

/// Checks passwords: not too often, and only a few at a time, because each takes time and memory on
/// purpose.
final class Authenticator: Sendable {
  private let users: UserFile
  private let throttle = Mutex(LoginThrottle())
  private let unknownDevices = PasswordQueue(label: "passwords of strangers")
  /// A queue of its own: strangers keep no browser waiting that has logged in before.
  private let knownDevices = PasswordQueue(label: "passwords of known browsers")
  /// Is checked for names that no user has: they take as long as the others.
  private let dummyHash: PasswordHash

  init(users: UserFile, cost: PasswordHash.Cost) {
    self.users = users
    dummyHash = .dummy(cost: cost)
  }

  /// - Parameter deviceCookie: the browser's cookie of that name, if it has one.
  /// - Returns: `nil` if the name or the password is wrong.
  /// - Throws: `RequestError.tooManyLogins` or `.busy`, or `UserFileError`.
  func user(
    name: String, password: String, from origin: AddressBlock, at now: ContinuousClock.Instant,
    deviceCookie: (String) -> String?
  ) async throws -> User? {
    let user = try User.Name(name).flatMap { try users.users()[$0] }
    let device = user.flatMap { user in
      DeviceCookie.device(deviceCookie(DeviceCookie.name(for: user.name)), of: user)
    }
    let attempt = LoginThrottle.Attempt(name: name, origin: origin, device: device)
    if let wait = throttle.withLock({ $0.begin(attempt, at: now) }) {
      throw RequestError.tooManyLogins(wait)
    }
    let hash = user?.password ?? dummyHash
    let isRight: Bool
    do throws(RequestError) {
      isRight = try await (device == nil ? unknownDevices : knownDevices).run {
        hash.matches(password)
      }
    } catch {
      throttle.withLock { $0.revert(attempt) }
      throw error
    }
    guard isRight else { return nil }
    throttle.withLock { $0.revert(attempt) }
    return user
  }
}
