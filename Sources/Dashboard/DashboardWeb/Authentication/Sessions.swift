import CommandLineSupport
import Dispatch
import JuiceDomain
import KioskProtocol
import Logging
import Synchronization

/// The sessions of logged-in users. A random token in a cookie identifies a session, which ends at the
/// latest after `lifetime`.
///
/// Only the hashes of tokens are stored, in memory and in a file, so that sessions survive a restart and a
/// reader of the file cannot use them.
final class Sessions: Sendable {
  typealias Instant = ContinuousClock.Instant

  private struct Session {
    let user: User
    let expires: Instant
    let origin: Origin
  }

  /// The sessions and the key of CSRF tokens, as the file contains them.
  struct Stored: Sendable {
    var key: String
    var sessions: [StoredSession] = []
  }

  struct StoredSession: Sendable {
    /// The hash of the token.
    let hash: String
    let user: User.Name
    /// The hash of the user, which a change of the user changes.
    let userHash: String
    let origin: Origin
  }

  /// The time, the address and the browser of a login.
  struct Origin: Sendable {
    var at = Timestamp(milliseconds: 0)
    var address = ""
    /// The `User-Agent` header of the login request.
    var browser = ""
  }

  /// A session as pages show it.
  struct Listed: Sendable {
    /// An identifier for forms, from which the token cannot be computed.
    let id: String
    let user: User.Name
    let origin: Origin
    let isOwn: Bool
  }

  /// Maximum duration of a session.
  static let lifetime = Duration.seconds(12 * 3600)
  /// Maximum numbers of sessions: in total, and of one user. A further session ends the oldest one,
  /// of the same user if the limit is that of the user.
  static let (maximum, maximumOfUser) = (1_000, 20)

  /// The sessions by the hash of the token.
  private let sessions: Mutex<[String: Session]>
  private let key: String
  private let signer: HMACSigner
  /// The file, or `nil` if the sessions are not stored.
  private let file: StateFile<Stored>?
  private let logger: Logger?
  /// The serial dispatch queue that writes the file, because fsync blocks the calling thread.
  private let disk = DispatchQueue(label: "sessions")

  /// Creates sessions that are not stored.
  init() {
    key = HMACSigner.makeToken()
    sessions = Mutex([:])
    signer = HMACSigner(key: Array(key.utf8))
    (file, logger) = (nil, nil)
  }

  /// Creates the sessions that a folder has stored. Omits those that have expired, those of users who are
  /// changed or removed, and those that begin later than `time`, because the clock was wrong.
  init(
    in folder: StateFolder, of users: [User.Name: User], at now: Instant, time: Timestamp,
    logger: Logger
  ) {
    let file = Self.file(in: folder)
    let (stored, problem) = file.load()
    if let problem { logger.error("\(problem)") }
    var sessions: [String: Session] = [:]
    for session in stored?.sessions ?? [] {
      let age = time.since(session.origin.at)
      // guard: a stored session ends with its time and with a change of its user
      guard let user = users[session.user], user.hash == session.userHash, age >= .zero,
        age < Self.lifetime
      else { continue }
      sessions[session.hash] = Session(
        user: user, expires: now + (Self.lifetime - age), origin: session.origin)
    }
    key = stored?.key ?? HMACSigner.makeToken()
    (self.file, self.logger, signer) = (file, logger, HMACSigner(key: Array(key.utf8)))
    self.sessions = Mutex(sessions)
  }

  /// The file of the sessions.
  static func file(in folder: StateFolder) -> StateFile<Stored> {
    StateFile(
      folder.path(of: "sessions.json"), upTo: 1 << 20, makesFolder: true,
      withoutCopy: "users log in again, and the next login replaces the file",
      encode: \.payload, decode: { try Stored(payload: $0) })
  }

  /// Stores the sessions. Returns when these or later ones are on the disk. If that fails, removes the
  /// file, so that a restart revives no ended session.
  func save() async {
    guard let file else { return }
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      disk.async { [self] in
        do throws(StateError) { try file.write(stored) } catch {
          logger?.error("sessions are not stored, and end with the dashboard: \(error)")
          do throws(StateError) { try file.remove() } catch { logger?.error("\(error)") }
        }
        done.resume()
      }
    }
  }

  private var stored: Stored {
    let sessions = sessions.withLock(\.self)
    return Stored(
      key: key,
      sessions: sessions.sorted { $0.key < $1.key }.map {
        StoredSession(
          hash: $0, user: $1.user.name, userHash: $1.user.hash, origin: $1.origin)
      })
  }

  /// Starts a session and returns its new token.
  func begin(for user: User, at now: Instant, from origin: Origin = Origin()) -> String {
    let token = HMACSigner.makeToken()
    sessions.withLock { sessions in
      let own = sessions.filter { $0.value.user.name == user.name }
      // guard: sessions are limited by user
      if own.count >= Self.maximumOfUser,
        let oldest = own.min(by: { $0.value.expires < $1.value.expires })?.key
      {
        sessions[oldest] = nil
      }
      if sessions.count >= Self.maximum {
        sessions = sessions.filter { $0.value.expires > now }
        if sessions.count >= Self.maximum,
          let oldest = sessions.min(by: { $0.value.expires < $1.value.expires })?.key
        {
          sessions[oldest] = nil
        }
      }
      sessions[Self.hash(of: token)] = Session(
        user: user, expires: now + Self.lifetime, origin: origin)
    }
    return token
  }

  func user(of token: String, at now: Instant) -> User? {
    let hash = Self.hash(of: token)
    return sessions.withLock { sessions in
      guard let session = sessions[hash], session.expires > now else {
        sessions[hash] = nil
        return nil
      }
      return session.user
    }
  }

  /// Ends a session, and returns whether there was one.
  @discardableResult
  func end(_ token: String) -> Bool {
    sessions.withLock { $0.removeValue(forKey: Self.hash(of: token)) != nil }
  }

  /// Returns the sessions of a user, or of all users, the latest first.
  ///
  /// - Parameters:
  ///   - token: The token of the visitor's session.
  ///   - isValid: Returns whether a user is unchanged since the login; otherwise the session is not
  ///     listed.
  func list(
    of user: User.Name?, at now: Instant, token: String, where isValid: (User) -> Bool
  ) -> [Listed] {
    let own = Self.hash(of: token)
    return sessions.withLock(\.self)
      .filter { $0.value.expires > now && user ?? $0.value.user.name == $0.value.user.name }
      .filter { isValid($0.value.user) }
      .map {
        Listed(
          id: id(of: $0), user: $1.user.name, origin: $1.origin, isOwn: $0 == own)
      }
      .sorted { ($0.origin.at, $0.id) > ($1.origin.at, $1.id) }
  }

  /// Ends a session of the given user, or of any user if `user` is `nil`.
  ///
  /// - Returns: The user of the session, or `nil` if there is no such session.
  func end(listedAs id: String, of user: User.Name?) -> User.Name? {
    sessions.withLock { sessions in
      guard
        let token = sessions.first(where: {
          user ?? $0.value.user.name == $0.value.user.name && self.id(of: $0.key) == id
        })?.key
      else { return nil }
      return sessions.removeValue(forKey: token)?.user.name
    }
  }

  private func id(of hash: String) -> String {
    String(signer.signature(for: "session \(hash)").prefix(20))
  }

  private static func hash(of token: String) -> String { UserAdministration.hash(of: token) }

  /// Returns the token by which a form proves that it is part of a page sent to the browser with
  /// this session token. A browser that is not logged in has a session token, too, but no session.
  func csrfToken(for token: String) -> String { signer.signature(for: token) }

  func isValid(csrfToken: String, for token: String) -> Bool {
    signer.isValid(csrfToken, for: token)
  }
}

// The sessions as JSON, for the disk.
extension Sessions.Stored: FormattedMessage {
  init(_ members: inout Members<Self>) throws(JSONError) {
    key = try members.required("key", \.key, where: { $0.utf8.count >= 43 })
    sessions = try members.all("sessions", \.sessions)
  }
}

extension Sessions.StoredSession: FormattedMessage {
  init(_ members: inout Members<Self>) throws(JSONError) {
    hash = try members.required("sha256", \.hash)
    user = try members.required("user", \.user)
    userHash = try members.required("user_sha256", \.userHash)
    origin = try members.members(\.origin)
  }
}

extension Sessions.Origin: FormattedMessage {
  init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    address = try members.required("address", \.address)
    browser = try members.required("browser", \.browser)
  }
}
