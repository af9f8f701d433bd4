import Synchronization

/// Who is logged in. A session is known by a random token in a cookie; it ends after its `lifetime`, and with
/// the process.
final class Sessions: Sendable {
  typealias Instant = ContinuousClock.Instant

  private struct Session {
    let user: User
    let expires: Instant
  }

  /// How long a session lasts.
  static let lifetime = Duration.seconds(12 * 3600)
  /// So many sessions are kept at most: one more ends the oldest.
  static let maximum = 1_000

  private let sessions = Mutex<[String: Session]>([:])
  private let signer = HMACSigner()

  /// Begins a session under a token that nobody has seen before.
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

  /// What a form must bring back to show that it is on a page of ours, in the browser with this token. A
  /// browser that is not logged in has a token, too, of no session.
  func csrfToken(for token: String) -> String { signer.signature(for: token) }

  func isValid(csrfToken: String, for token: String) -> Bool {
    signer.isValid(csrfToken, for: token)
  }
}
