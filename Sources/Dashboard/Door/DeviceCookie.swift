/// What a browser keeps for having logged in: guesses from elsewhere do not shut it out.
///
/// It is signed with the hash of the user's password, which only the file of users knows. So it holds
/// over a restart although nothing is kept on disk, and another password ends it.
enum DeviceCookie {
  /// In seconds: a year.
  static let life = 365 * 86_400

  /// A browser that several people log in from has one of each.
  static func name(for user: User.Name) -> String { "juice_known_\(user)" }

  static func make(for user: User) -> String {
    let device = Seal.makeToken()
    return "\(device).\(seal(of: user).code(for: device))"
  }

  /// What tells this browser from others of the same user; `nil` if it is not one of the user's.
  static func device(_ cookie: String?, of user: User) -> String? {
    // No longer than ours are: both parts are of 256 bits.
    guard let cookie, cookie.utf8.count <= 128 else { return nil }
    let parts = cookie.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 2, seal(of: user).isValid(parts[1], for: parts[0]) else { return nil }
    return parts[0]
  }

  private static func seal(of user: User) -> Seal {
    Seal(key: Array("\(user.name) \(user.password)".utf8))
  }
}
