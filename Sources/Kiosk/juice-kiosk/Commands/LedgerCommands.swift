import ArgumentParser
import CommandLineSupport
import JuiceDomain
import KioskDaemon
import KioskProtocol
import Ledger
import YAMLConfiguration

struct LedgerCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ledger", abstract: "Look at the ledger, check it, save it, put it back.",
    discussion: "While the kiosk runs you may export, verify and backup; to restore, stop it.",
    subcommands: [
      Export.self, Verify.self, Backup.self, Restore.self,
    ])

  struct Options: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(
      help: ArgumentHelp("The ledger, instead of the configuration's.", valueName: "file"),
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
      StandardOutput.write("The ledger is good: \(count) entries, and they add up to the stock.")
    }
  }
}
