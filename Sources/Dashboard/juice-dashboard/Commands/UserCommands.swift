import ArgumentParser
import CommandLineSupport
import DashboardWeb
import Foundation
import JuiceDomain
import KioskProtocol
import YAMLConfiguration

struct UserCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Manage the users who may log in.",
    discussion:
      "A change applies at once: a user who is removed or gets a new password is logged out.",
    subcommands: [Add.self, Passwd.self, Role.self, Remove.self, List.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a user, or change the password of one.",
      discussion: """
        Asks for the password; from a pipe, the first line is the password. The ledger records the \
        user's name with each restock: restock/NAME. The role and the region of an existing user \
        change only if they are given.
        """)

    @Argument(
      help: "1 to 64 of A-Z a-z 0-9 _ -; the first is no -.",
      transform: { try userName(User.newName($0)?.text ?? "") })
    var name: User.Name

    @Option(
      help: ArgumentHelp(
        User.Role.help,
        discussion: "Default: admin for the first user, viewer for others."))
    var role: User.Role?

    @Option(
      help: ArgumentHelp(
        "A region whose kiosks the user sees; may be repeated.",
        discussion:
          "As the kiosks publish it. Default for a new user: the user sees all kiosks."),
      transform: regionName)
    var region: [String] = []

    @OptionGroup var password: PasswordOptions
    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
      let file = try options.userFile()
      try await options.check(region)
      let hash = try password.hash()
      report(
        try file.change(
          name, password: hash, role: role, regions: region.isEmpty ? nil : region,
          addingNew: true))
    }
  }

  struct Passwd: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change the password of a user.",
      discussion: "Asks for the password; from a pipe, the first line is the password.")

    @Argument(transform: userName)
    var name: User.Name

    @OptionGroup var password: PasswordOptions
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let file = try options.userFile()
      // This check precedes the question for the password, so that a mistyped name is reported at
      // once.
      guard try file.users()[name] != nil else { throw file.failure(without: name) }
      let change = try file.change(name, password: try password.hash())
      guard change.after != nil else { throw file.failure(without: name) }
      report(change)
    }
  }

  struct Role: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change the role or the regions of a user.")

    @Argument(transform: userName)
    var name: User.Name

    @Argument(help: ArgumentHelp(User.Role.help))
    var role: User.Role

    @Option(
      help: "A region whose kiosks the user sees; may be repeated.", transform: regionName)
    var region: [String] = []

    @Flag(help: "Let the user see the kiosks of all regions.")
    var allRegions = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
      if !region.isEmpty, allRegions {
        throw ValidationError("Use either --region or --all-regions.")
      }
    }

    func run() async throws {
      let file = try options.userFile()
      try await options.check(region)
      let regions = allRegions || !region.isEmpty ? region : nil
      let change = try file.change(name, role: role, regions: regions)
      guard change.after != nil else { throw file.failure(without: name) }
      report(change)
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove a user.")

    @Argument(transform: userName)
    var name: User.Name

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let file = try options.userFile()
      var isThere = false
      try file.update { isThere = $0.removeValue(forKey: name) != nil }
      guard isThere else { throw file.failure(without: name) }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the users and their roles.")

    @Flag(help: "Print an object with all users as JSON.")
    var json = false

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let users = try options.userFile().users().values.sorted { $0.name < $1.name }
      if json {
        let payload = JSONWriter.object { json in
          json.member("users", users) { json, user in
            json.member("name", user.name.text)
            json.member("role", user.role.rawValue)
            if !user.regions.isEmpty { json.member("regions", user.regions) }
          }
        }
        return try StandardOutput.write(json: payload)
      }
      for user in users {
        try StandardOutput.write(
          ([user.name.text, user.role.rawValue] + [user.regions.joined(separator: ", ")])
            .filter { !$0.isEmpty }.joined(separator: " "))
      }
    }
  }
}

extension User.Role: ExpressibleByArgument {
  fileprivate static let help =
    "viewer (sees everything), driver (own routes), operator (restocks too) or admin (users too)."
}

/// The source of a new password.
struct PasswordOptions: ParsableArguments {
  @Flag(help: "Generate a password, and print it.")
  var generate = false

  /// Reads or generates a password, and returns its hash. Prints a generated password before the
  /// caller stores the hash, so that no user gets a password that no person has seen.
  func hash() throws -> PasswordHash {
    let password = generate ? Self.generated : try Self.read()
    let hash = try PasswordHash(of: password, cost: .standard)
    if generate { try StandardOutput.write(password) }
    return hash
  }

  /// A random password of four groups of four characters that are hard to confuse: 80 bits.
  private static var generated: String {
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
    return (0..<4).map { _ in String((0..<4).map { _ in letters.randomElement() ?? "x" }) }
      .joined(separator: "-")
  }

  private static func read() throws(Failure) -> String {
    let isTerminal = isatty(STDIN_FILENO) == 1
    func prompt(_ question: String) -> String? {
      guard isTerminal else { return readLine() }
      StandardError.write(question, terminator: "")
      var before = termios()
      tcgetattr(STDIN_FILENO, &before)
      var hidden = before
      hidden.c_lflag &= ~tcflag_t(ECHO)
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
      defer {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
        StandardError.write("")
      }
      return readLine()
    }
    guard let password = prompt("Password: "), password.count >= PasswordHash.minimumPassword
    else {
      throw .badData("a password has at least \(PasswordHash.minimumPassword) characters")
    }
    guard password.utf8.count <= PasswordHash.maximumPassword else {
      throw .badData("a password has at most \(PasswordHash.maximumPassword) bytes")
    }
    guard !isTerminal || prompt("Again: ") == password else {
      throw .badData("the two passwords are not the same")
    }
    return password
  }
}

/// Prints the outcome on standard error: standard output contains only a generated password.
private func report(_ change: (before: User?, after: User?)) {
  guard let user = change.after else { return }
  var facts: [String] = []
  if let before = change.before {
    if before.password != user.password { facts.append("new password") }
    facts.append(
      before.role == user.role
        ? "still \(user.role.rawValue)" : "\(user.role.rawValue) instead of \(before.role.rawValue)"
    )
  } else {
    facts += ["added", user.role.rawValue]
  }
  let regions = user.regions.joined(separator: ", ")
  facts.append(
    user.role == .driver
      ? "sees the own routes"
      : regions.isEmpty
        ? "sees all kiosks"
        : "sees the \(user.regions.count == 1 ? "region" : "regions") \(regions)")
  StandardError.write("\(user.name): \(facts.joined(separator: ", "))")
}

extension UserFile {
  fileprivate func failure(without name: User.Name) -> Failure {
    .badData("there is no user \(name) in \(path)")
  }
}

extension ConfigurationOptions {
  /// Warns if the archive lists no kiosk of a region, or cannot be asked. That is no error: a kiosk may
  /// publish the region, which this command does not read.
  fileprivate func check(_ regions: [String]) async throws {
    guard !regions.isEmpty else { return }
    guard let archive = try load().archive else {
      StandardError.write("warning: without an archive the region is not checked")
      return
    }
    guard let known = await ChainArchive(try ChainSettings(archive)).regions() else {
      StandardError.write("warning: the archive does not answer, so the region is not checked")
      return
    }
    let names = known.prefix(20).joined(separator: ", ").visible()
    for region in regions where !known.contains(region) {
      StandardError.write(
        "warning: the archive lists no kiosk in the region \(region); it has: \(names)")
    }
  }

  /// Returns the user file. If root runs the command, the process first switches to the owner of
  /// the file's folder. If that owner is root, too, and the file is a symbolic link, the process
  /// switches to the owner of the target's folder.
  fileprivate func userFile() throws -> UserFile {
    let path = try load().usersFile
    try FolderOwner(ofFolderOf: path).switchUser()
    let file = UserFile(path: path)
    try FolderOwner(ofFolderOf: file.target).switchUser()
    return file
  }
}

private func userName(_ text: String) throws -> User.Name {
  guard let name = User.Name(text) else {
    throw ValidationError("A name is 1 to 64 of A-Z a-z 0-9 _ -; the first is no -.")
  }
  return name
}

private func regionName(_ text: String) throws -> String {
  guard let region = User.region(text) else {
    throw ValidationError("A region is 1 to 64 printable characters on one line.")
  }
  return region
}
