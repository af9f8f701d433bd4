import Synchronization

/// The sessions of logged-in users, in memory. A random token in a cookie identifies a session; it
/// ends after its `lifetime`, or with the process.
final class Sessions: Sendable {
  typealias Instant = ContinuousClock.Instant

  private struct Session {
    let user: User
    let expires: Instant
  }

  /// Duration of a session.
  static let lifetime = Duration.seconds(12 * 3600)
  /// Maximum number of sessions. A further one ends the oldest.
  static let maximum = 1_000

  private let sessions = Mutex<[String: Session]>([:])
  private let signer = HMACSigner()

  /// Starts a session and returns its new token.
  func begin(for user: User, at now: Instant) -> String {
    let token = HMACSigner.makeToken()
    sessions.withLock { sessions in
      if sessions.count >= Self.maximum {
        sessions = sessions.filter { $0.value.expires > now }
        if sessions.count >= Self.maximum,
          let oldest = sessions.min(by: { $0.value.expires < $1.value.expires })?.key
        {
          sessions[oldest] = nil
        }
      }
      sessions[token] = Session(user: user, expires: now + Self.lifetime)
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

  /// Returns the token that a form has to contain as proof that it is part of a page sent to the
  /// browser with this session token. A browser that is not logged in has a session token, too, but
  /// no session.
  func csrfToken(for token: String) -> String { signer.signature(for: token) }

  func isValid(csrfToken: String, for token: String) -> Bool {
    signer.isValid(csrfToken, for: token)
  }
}
