import ArgumentParser
import CommandLineSupport
import DashboardWeb
import Foundation
import JuiceDomain
import KioskProtocol
import YAMLConfiguration

struct UserCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Say who may log in.",
    discussion: "A change counts at once: who is removed or gets a new password is logged out.",
    subcommands: [Add.self, Remove.self, List.self])

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a user, or change the password and the role of one.",
      discussion: """
        Asks for the password; from a pipe, the first line is the password. A user's name is what \
        the ledger says of a restock: restock/NAME.
        """)

    @Argument(help: "1 to 64 of A-Z a-z 0-9 _ -.", transform: userName)
    var name: User.Name

    @Option(help: "viewer (sees everything) or operator (restocks too).")
    var role: User.Role = .viewer

    @Option(
      help: ArgumentHelp(
        "The only region whose kiosks the user sees.",
        discussion: "By the list of the archive. Left out: the user sees all kiosks."),
      transform: regionName)
    var region: String?

    @Flag(help: "Make a password up, and print it.")
    var generate = false

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let file = try options.userFile()
      let password = generate ? Self.generated : try Self.read()
      let user = User(
        name: name, role: role, password: try PasswordHash(of: password, cost: .standard),
        region: region)
      try file.update { $0[name] = user }
      if generate { StandardOutput.write(password) }
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
        FileHandle.standardError.write(Data(question.utf8))
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
      guard let password = prompt("Password: "), password.count >= 8 else {
        throw .badData("a password has at least 8 characters")
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

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove a user.")

    @Argument(transform: userName)
    var name: User.Name

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let file = try options.userFile()
      var isThere = false
      try file.update { isThere = $0.removeValue(forKey: name) != nil }
      guard isThere else { throw Failure.badData("there is no user \(name) in \(file.path)") }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the users and their roles.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let users = try options.userFile().users().values
      for user in users.sorted(by: { $0.name < $1.name }) {
        StandardOutput.write(
          "\(user.name) \(user.role.rawValue)\(user.region.map { " \($0)" } ?? "")")
      }
    }
  }
}

extension User.Role: ExpressibleByArgument {}

extension ConfigurationOptions {
  /// Returns the user file. If root runs the command, it first switches to the owner of the file's
  /// folder.
  fileprivate func userFile() throws -> UserFile {
    let path = try load().usersFile
    try FolderOwner(ofFolderOf: path).switchUser()
    return UserFile(path: path)
  }
}

private func userName(_ text: String) throws -> User.Name {
  guard let name = User.Name(text) else {
    throw ValidationError("A name is 1 to 64 of A-Z a-z 0-9 _ -.")
  }
  return name
}

/// Parses a region by the rules of `juice-archive kiosks load`.
private func regionName(_ text: String) throws -> String {
  let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  guard !words.isEmpty, words.unicodeScalars.count <= 64,
    !words.unicodeScalars.contains(where: \.isControl)
  else { throw ValidationError("A region is 1 to 64 characters to be seen on one line.") }
  return words
}
