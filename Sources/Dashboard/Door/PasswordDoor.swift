import JuiceMaker

/// Checks passwords, one at a time and not too often: hashing takes time and memory on purpose, and
/// nobody shall make the dashboard spend more of it than it has.
actor PasswordDoor {
  private let users: UserFile
  private let byName = FailedLogins()
  private let byAddress = FailedLogins()
  /// For names that nobody has: they take as long as the others.
  private let nobody = try? PasswordHash(of: Sessions.makeToken())

  init(users: UserFile) { self.users = users }

  /// - Returns: `nil` if the name or the password is wrong.
  /// - Throws: `Refusal.tooManyLogins`, or what is wrong with the file of users.
  func user(name: String, password: String, from address: String) async throws -> User? {
    let name = User.Name(name)
    let key = name?.text ?? ""
    if let wait = byName.wait(for: key) ?? byAddress.wait(for: address) {
      throw Refusal.tooManyLogins(wait)
    }
    let user = try name.flatMap { try users.users()[$0] }
    guard let hash = user?.password ?? nobody, hash.matches(password), let user else {
      byName.count(key)
      byAddress.count(address)
      return nil
    }
    byName.forgive(key)
    return user
  }
}
