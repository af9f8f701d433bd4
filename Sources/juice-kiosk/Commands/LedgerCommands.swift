import ArgumentParser
import JuiceMaker
import KioskConfiguration
import KioskMessages
import Ledger
import Program

struct LedgerCommands: AsyncParsableCommand {
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

    func file() throws(Failure) -> String {
      if let path { path } else { try configuration.load().ledger.path }
    }

    func open() throws(Failure) -> Ledger {
      let path = try file()
      do throws(LedgerError) { return try Ledger(path: path, readOnly: true) } catch {
        throw Failure(error)
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check the whole ledger, from its first entry.",
      discussion: "Exits 0 if no number is missing and the entries add up to the stock.")

    @OptionGroup var options: Options

    func run() async throws {
      let ledger = try options.open()
      do throws(LedgerError) {
        let count = try ledger.verify()
        StandardOutput.write(
          "The ledger is good: \(count) entries, and they add up to the stock.")
      } catch {
        throw Failure(error)
      }
    }
  }

  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Copy the ledger into a new file, while the kiosk goes on.")

    @OptionGroup var options: Options
    @Argument(help: "Where to; must not be there yet.", completion: .file()) var file: String

    func run() async throws {
      let ledger = try options.open()
      do throws(LedgerError) {
        try ledger.backUp(to: file)
      } catch {
        throw Failure(error)
      }
      StandardOutput.write("Saved to \(file).")
    }
  }
}
