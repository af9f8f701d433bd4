import JuiceDomain
import KioskProtocol
import Synchronization

/// The sessions of logged-in users, in memory. A random token in a cookie identifies a session. A
/// session ends at the latest after `lifetime` or with the process.
final class Sessions: Sendable {
  typealias Instant = ContinuousClock.Instant

  private struct Session {
    let user: User
    let expires: Instant
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

  private let sessions = Mutex<[String: Session]>([:])
  private let signer = HMACSigner()

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
      sessions[token] = Session(user: user, expires: now + Self.lifetime, origin: origin)
    }
    return token
  }

  func user(of token: String, at now: Instant) -> User? {
    sessions.withLock { sessions in
      guard let session = sessions[token], session.expires > now else {
        sessions[token] = nil
        return nil
      }
      return session.user
    }
  }

  func end(_ token: String) {
    sessions.withLock { $0[token] = nil }
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
    sessions.withLock(\.self)
      .filter { $0.value.expires > now && user ?? $0.value.user.name == $0.value.user.name }
      .filter { isValid($0.value.user) }
      .map {
        Listed(
          id: id(of: $0), user: $1.user.name, origin: $1.origin, isOwn: $0 == token)
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

  private func id(of token: String) -> String {
    String(signer.signature(for: "session \(token)").prefix(20))
  }

  /// Returns the token by which a form proves that it is part of a page sent to the browser with
  /// this session token. A browser that is not logged in has a session token, too, but no session.
  func csrfToken(for token: String) -> String { signer.signature(for: token) }

  func isValid(csrfToken: String, for token: String) -> Bool {
    signer.isValid(csrfToken, for: token)
  }
}
