import Archive
import ArgumentParser
import CommandLineSupport
import YAMLConfiguration

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the configuration and the database.",
    discussion: """
      Prints every error of the file with its line; then connects to the database, and checks that it \
      knows the time zone and that its schema fits this program. Changes nothing.
      """)

  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.load()
    let warning = try configuration.broker.passwordWarning()
    let isNew = try options.withSettings { try ArchiveStore.check($0) }
    try StandardOutput.write(
      "The configuration is good, and the database can be reached."
        + (isNew ? "\nIt has no archive yet: 'juice-archive run' creates it." : "")
        + (warning.map { "\nwarning: \($0)" } ?? ""))
  }
}
