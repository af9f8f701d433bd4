import ArgumentParser
import CommandLineSupport
import JuiceDomain
import KioskDaemon
import KioskProtocol
import Ledger
import YAMLConfiguration

struct LedgerCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ledger", abstract: "Export, verify, back up and restore the ledger.",
    discussion: "Stop the kiosk before restore; the other commands may run while it runs.",
    subcommands: [
      Export.self, Verify.self, Backup.self, Restore.self,
    ])

  struct Options: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(
      help: ArgumentHelp("The ledger, instead of the one in the configuration.", valueName: "file"),
      completion: .file())
    var path: String?

    func file() throws -> String {
      if let path { path } else { try configuration.load().ledgerPath }
    }

    func open() throws -> KioskLedger {
      let path = try file()
      try FolderOwner(ofFolderOf: path).switchUser()
      return try KioskLedger(path: path, readOnly: true)
    }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check the whole ledger, from its first entry.",
      discussion: "Exits 0 if no number is missing and the entries add up to the stock.")

    @OptionGroup var options: Options

    func run() throws {
      let count = try options.open().verify()
      try StandardOutput.write(
        "The ledger is good: \(count) entries, and they add up to the stock.")
    }
  }
}
