/// A cookie for a browser that has logged in: wrong passwords from elsewhere do not shut it out.
///
/// It is signed with the hash of the user's password. So it holds over a restart although nothing is
/// kept on disk, and a new password ends it.
enum DeviceCookie {
  /// In seconds: a year.
  static let lifetime = 365 * 86_400

  /// A browser that several people use has a cookie of each.
  static func name(for user: User.Name) -> String { "juice_known_\(user)" }

  static func make(for user: User) -> String {
    let device = HMACSigner.makeToken()
    return "\(device).\(signer(for: user).signature(for: device))"
  }

  /// The token of this browser; `nil` if the cookie is not one of the user's.
  static func device(_ cookie: String?, of user: User) -> String? {
    // Our cookies are two codes of 256 bits: none is longer.
    guard let cookie, cookie.utf8.count <= 128 else { return nil }
    let parts = cookie.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 2, signer(for: user).isValid(parts[1], for: parts[0]) else { return nil }
    return parts[0]
  }

  private static func signer(for user: User) -> HMACSigner {
    HMACSigner(key: Array("\(user.name) \(user.password)".utf8))
  }
}
