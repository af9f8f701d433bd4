import JuiceDomain
import Synchronization

/// Checks and hashes passwords. Limits the rate and the number of parallel checks, because each
/// check deliberately costs time and memory.
final class Authenticator: Sendable {
  private let users: UserFile
  private let throttle = Mutex(LoginThrottle())
  private let unknownDevices = PasswordQueue(label: "passwords of strangers")
  /// A separate queue, so that attempts from unknown browsers do not delay known browsers.
  private let knownDevices = PasswordQueue(label: "passwords of known browsers")
  /// The hash that is checked for an unknown name, so that the check takes as long as for a user.
  private let dummyHash: PasswordHash

  init(users: UserFile, cost: PasswordHash.Cost) {
    self.users = users
    dummyHash = .dummy(cost: cost)
  }

  /// Hashes a new password on the queue of known browsers.
  ///
  /// - Throws: `RequestError.busy` if the queue is full or there is not enough memory.
  func hash(_ password: String, cost: PasswordHash.Cost) async throws(RequestError) -> PasswordHash
  {
    let result = try await knownDevices.run {
      Result { () throws(PasswordHashError) in try PasswordHash(of: password, cost: cost) }
    }
    guard let hash = try? result.get() else { throw .busy }
    return hash
  }

  /// Returns the user with this name and password.
  ///
  /// - Parameter deviceCookie: Returns the value of the request's cookie with the given name.
  /// - Returns: The user, or `nil` if the name or the password is wrong.
  /// - Throws: `RequestError.tooManyLogins` if `LoginThrottle` does not allow the attempt now;
  ///   `RequestError.busy` if the queue is full or there is not enough memory.
  func user(
    name: String, password: String, from origin: AddressBlock, at now: ContinuousClock.Instant,
    deviceCookie: (String) -> String?
  ) async throws -> User? {
    let user = User.Name(name).flatMap { users.current.users[$0] }
    let device = user.flatMap { user in
      DeviceCookie.device(deviceCookie(DeviceCookie.name(for: user.name)), of: user)
    }
    let attempt = LoginThrottle.Attempt(name: name, origin: origin, device: device)
    if let wait = throttle.withLock({ $0.begin(attempt, at: now) }) {
      throw RequestError.tooManyLogins(wait)
    }
    let hash = user?.password ?? dummyHash
    let isRight: Bool
    do {
      isRight = try await (device == nil ? unknownDevices : knownDevices).run {
        Result { () throws(PasswordHashError) in try hash.matches(password) }
      }.get()
    } catch {
      throttle.withLock { $0.revert(attempt) }
      throw RequestError.busy
    }
    guard isRight else { return nil }
    throttle.withLock { $0.revert(attempt) }
    return user
  }
}
