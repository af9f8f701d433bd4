import ArgumentParser
import CommandLineSupport
import DashboardWeb
import KioskProtocol
import YAMLConfiguration

struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Examine the dashboard's files.",
    discussion: """
      Prints each damaged file, with the command that restores its last good copy. Changes nothing; the \
      dashboard may run. Exit code: 0 if no file is damaged, otherwise 65.
      """)

  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    let configuration = try options.load()
    let users = UserFile(path: configuration.usersFile)
    let state = StateFiles(users: users, folder: StateFolder(path: configuration.stateFolder))
    let files = state.examine()
    let problems = files.compactMap(\.problem)
    for problem in problems { try StandardOutput.write("error: \(problem)".visible()) }
    if problems.isEmpty, try users.users().isEmpty {
      try StandardOutput.write("warning: no user can log in; run: juice-dashboard user add")
    }
    if problems.isEmpty {
      try StandardOutput.write("ok: \(files.count) files in \(configuration.stateFolder)")
    }
    for kept in state.kept() { try StandardOutput.write("warning: \(kept)".visible()) }
    guard problems.isEmpty else {
      throw Failure.badData("\(problems.count) of \(files.count) files are damaged")
    }
  }
}
