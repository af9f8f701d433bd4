import Crypto
import Foundation
import Synchronization

/// Who is logged in. A session is known by a random token in a cookie, ends by itself, and with the
/// process.
final class Sessions: Sendable {
  typealias Instant = ContinuousClock.Instant

  private struct Session {
    let user: User
    let expires: Instant
  }

  /// How long a session lasts.
  static let life = Duration.seconds(12 * 3600)
  /// The oldest end when there are more.
  static let maximum = 1_000

  private let sessions = Mutex<[String: Session]>([:])
  private let key = SymmetricKey(size: .bits256)

  /// A token that nobody can guess: 256 bits.
  static func makeToken() -> String {
    SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }.base64URL
  }

  /// Begins a session under a token that nobody has seen before.
  func begin(for user: User, at now: Instant) -> String {
    let token = Self.makeToken()
    sessions.withLock { sessions in
      if sessions.count >= Self.maximum {
        sessions = sessions.filter { $0.value.expires > now }
        if sessions.count >= Self.maximum,
          let oldest = sessions.min(by: { $0.value.expires < $1.value.expires })?.key
        {
          sessions[oldest] = nil
        }
      }
      sessions[token] = Session(user: user, expires: now + Self.life)
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

  /// What a form must bring back to show that it is ours, from a browser with this token. A browser
  /// that is not logged in has a token too, which is nobody's session.
  func proof(for token: String) -> String {
    Data(HMAC<SHA256>.authenticationCode(for: Data(token.utf8), using: key)).base64URL
  }

  func isValid(proof: String, for token: String) -> Bool {
    guard let code = Data(base64URL: proof) else { return false }
    return HMAC<SHA256>.isValidAuthenticationCode(
      code, authenticating: Data(token.utf8), using: key)
  }
}

extension Data {
  /// RFC 4648, 5, without padding: good for a cookie and for a form as it is.
  fileprivate var base64URL: String {
    base64EncodedString().filter { $0 != "=" }
      .replacing("+", with: "-").replacing("/", with: "_")
  }

  fileprivate init?(base64URL text: String) {
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    self.init(
      base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + padding)
  }
}
