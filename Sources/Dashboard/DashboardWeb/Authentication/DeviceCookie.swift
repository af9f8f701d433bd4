/// A cookie that identifies a browser from which a user has logged in, so that wrong passwords from
/// elsewhere do not lock this browser out.
///
/// The hash of the user's password is part of the signature's key. The cookie therefore remains
/// valid after a restart, although the server stores nothing, and a new password invalidates it.
enum DeviceCookie {
  /// Lifetime of the cookie in seconds: one year.
  static let lifetime = 365 * 86_400

  /// Returns the name of the cookie. A browser that several people use has one cookie per user.
  static func name(for user: User.Name) -> String { "juice_known_\(user)" }

  static func make(for user: User) -> String {
    let device = HMACSigner.makeToken()
    return "\(device).\(signer(for: user).signature(for: device))"
  }

  /// Returns the token in the cookie, or `nil` if the cookie is missing or invalid for this user.
  static func device(_ cookie: String?, of user: User) -> String? {
    // A valid cookie has 87 bytes: two Base64 texts of 256 bits, and a dot.
    guard let cookie, cookie.utf8.count <= 128 else { return nil }
    let parts = cookie.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 2, signer(for: user).isValid(parts[1], for: parts[0]) else { return nil }
    return parts[0]
  }

  private static func signer(for user: User) -> HMACSigner {
    HMACSigner(key: Array("\(user.name) \(user.password)".utf8))
  }
}
