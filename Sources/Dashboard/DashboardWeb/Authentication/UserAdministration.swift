import CLibcrypto
import CommandLineSupport
import JuiceDomain
import KioskProtocol
import Logging

/// Changes the file of users for an administrator, and makes the links with which users set a
/// password.
///
/// A link is valid once, for a day, and while the user's password stays the same. The file of links
/// contains only the hash of each token, and of the stored hash of each password, so that a reader of
/// the file cannot use the links.
actor UserAdministration {
  /// Time after which a link expires.
  static let lifetime = Duration.seconds(86_400)
  /// Maximum number of links. A further link replaces the oldest one.
  static let maximumLinks = 200

  /// The reason why a change is not made.
  enum Problem: Error {
    case exists, unknown, oneself, notAllowed
  }

  struct Link: Sendable {
    let user: User.Name
    /// The hash of the user's password when the link was made.
    let password: String
    let hash: String
    let expires: Timestamp
  }

  private let users: UserFile
  private let file: StateFile<[Link]>
  private let logger: Logger
  private let cost: PasswordHash.Cost
  private var links: [Link]?
  private nonisolated let executor = DiskExecutor(label: "users")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(users: UserFile, folder: StateFolder, cost: PasswordHash.Cost, logger: Logger) {
    (self.users, self.cost, self.logger) = (users, cost, logger)
    file = Self.file(in: folder)
  }

  /// The file of the links.
  static func file(in folder: StateFolder) -> StateFile<[Link]> {
    StateFile(
      folder.path(of: "password-links.json"), upTo: 1 << 17, makesFolder: true,
      listing: "links", withoutCopy: "make the links for passwords again")
  }

  /// Adds a user, who cannot log in before setting a password with a link.
  ///
  /// - Returns: The token of the link.
  func add(
    _ name: User.Name, _ role: User.Role, regions: [String], by admin: User, at now: Timestamp
  ) throws -> String {
    let user = User(
      name: name, role: role, password: .dummy(cost: cost), regions: regions)
    try change(by: admin) { users in
      guard users[name] == nil else { return .exists }
      users[name] = user
      return nil
    }
    return try makeLink(for: name, at: now)
  }

  /// Changes the role or the regions of a user, and keeps the other one.
  func set(
    _ role: User.Role? = nil, regions: [String]? = nil, of name: User.Name, by admin: User
  ) throws {
    try change(by: admin, of: name) { users in
      guard let user = users[name] else { return .unknown }
      users[name] = User(
        name: name, role: role ?? user.role, password: user.password,
        regions: regions ?? user.regions)
      return nil
    }
  }

  func remove(_ name: User.Name, by admin: User) throws {
    try change(by: admin, of: name) { users in
      users.removeValue(forKey: name) == nil ? .unknown : nil
    }
    try save(loaded().filter { $0.user != name })
  }

  /// Returns the token of a new link with which a user sets a password. The user's earlier link
  /// becomes invalid; the password remains valid until the new link is used.
  func link(for name: User.Name, by admin: User, at now: Timestamp) throws -> String {
    try change(by: admin) { $0[name] == nil ? .unknown : nil }
    return try makeLink(for: name, at: now)
  }

  /// Returns the user who may set a password with a token, or `nil` if the token is not valid.
  func user(of token: String, at now: Timestamp) -> User.Name? {
    let hash = Self.hash(of: token)
    guard let link = loaded().first(where: { $0.hash == hash && now < $0.expires }),
      passwordHash(of: link.user) == link.password
    else { return nil }
    return link.user
  }

  /// Sets a password, and invalidates the token.
  ///
  /// - Returns: The user, or `nil` if the token is not valid.
  func redeem(_ token: String, _ password: PasswordHash, at now: Timestamp) throws -> User? {
    guard let name = user(of: token, at: now) else { return nil }
    // Remove the link before storing the password: after a crash in between, the link is lost, but
    // it is never valid twice.
    try save(loaded().filter { $0.user != name })
    return try users.change(name, password: password).after
  }

  /// Sets the password of a user who has entered the current password, and removes the user's link.
  ///
  /// - Returns: The changed user, or `nil` if the file does not contain the user any more.
  func setPassword(_ password: PasswordHash, of user: User) throws -> User? {
    try save(loaded().filter { $0.user != user.name })
    return try users.change(user.name, password: password).after
  }

  /// Returns the hash of a user's password, or `nil` if there is no such user.
  private func passwordHash(of name: User.Name) -> String? {
    users.current.users[name].map { Self.hash(of: "\($0.password)") }
  }

  private func makeLink(for name: User.Name, at now: Timestamp) throws -> String {
    guard let password = passwordHash(of: name) else { throw Problem.unknown }
    let token = HMACSigner.makeToken()
    let expires = Timestamp(
      milliseconds: now.milliseconds + Self.lifetime.components.seconds * 1_000)
    let others = loaded().filter { $0.user != name && now < $0.expires }
    try save(
      others.suffix(Self.maximumLinks - 1)
        + [Link(user: name, password: password, hash: Self.hash(of: token), expires: expires)])
    return token
  }

  /// Changes the file if it contains `admin` unchanged, as an administrator, and if `name` is
  /// another user. One administrator therefore always remains.
  private func change(
    by admin: User, of name: User.Name? = nil,
    _ change: (inout [User.Name: User]) -> Problem?
  ) throws {
    guard name != admin.name else { throw Problem.oneself }
    var problem: Problem?
    try users.update { users in
      guard users[admin.name] == admin, admin.isAdmin else {
        problem = .notAllowed
        return
      }
      problem = change(&users)
    }
    if let problem { throw problem }
  }

  private func save(_ links: [Link]) throws(StateError) {
    if links.isEmpty, loaded().isEmpty { return }
    try file.write(links)
    self.links = links
  }

  private func loaded() -> [Link] {
    if let links { return links }
    let (stored, problem) = file.load()
    if let problem { logger.error("\(problem)") }
    links = stored ?? []
    return stored ?? []
  }

  /// Returns the SHA-256 of a text, in hexadecimal digits. Tokens have 256 random bits, so a slow hash
  /// would not make them safer.
  static func hash(of text: String) -> String {
    let text = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = SHA256(text, text.count, &digest)
    return digest.map { $0 < 16 ? "0\(String($0, radix: 16))" : String($0, radix: 16) }.joined()
  }
}

extension UserAdministration.Link: FormattedMessage {
  init(_ members: inout Members<Self>) throws(JSONError) {
    user = try members.required("user", \.user)
    password = try members.required("password_sha256", \.password)
    hash = try members.required("sha256", \.hash)
    expires = try members.required("expires", \.expires)
  }
}
