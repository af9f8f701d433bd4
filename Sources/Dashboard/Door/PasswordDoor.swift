import JuiceMaker

/// Checks passwords, one at a time and not too often: hashing takes time and memory on purpose, and
/// nobody shall make the dashboard spend more of it than it has.
actor PasswordDoor {
  private let users: UserFile
  private let byName = FailedLogins()
  private let byAddress = FailedLogins()
  /// For names that nobody has: they take as long as the others.
  private let nobody: PasswordHash?

  init(users: UserFile, cost: PasswordHash.Cost) {
    self.users = users
    nobody = try? PasswordHash(of: Seal.makeToken(), cost: cost)
  }

  /// - Returns: `nil` if the name or the password is wrong.
  /// - Throws: `Refusal.tooManyLogins`, or what is wrong with the file of users.
  func user(
    name: String, password: String, from address: String, at now: ContinuousClock.Instant
  ) async throws -> User? {
    let name = User.Name(name)
    let key = name?.text ?? ""
    if let wait = byName.wait(for: key, at: now) ?? byAddress.wait(for: address, at: now) {
      throw Refusal.tooManyLogins(wait)
    }
    let user = try name.flatMap { try users.users()[$0] }
    guard let hash = user?.password ?? nobody, hash.matches(password), let user else {
      byName.count(key, at: now)
      byAddress.count(address, at: now)
      return nil
    }
    byName.forgive(key)
    return user
  }
}
