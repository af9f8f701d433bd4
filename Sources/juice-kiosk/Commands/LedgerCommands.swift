import ArgumentParser
import JuiceMaker
import KioskConfiguration
import KioskMessages
import Ledger
import Program

struct LedgerCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ledger", abstract: "Look at the ledger, check it, save it, put it back.",
    discussion: "While the kiosk runs you may export, verify and backup; for the others, stop it.",
    subcommands: [
      Export.self, Verify.self, Backup.self, Restore.self, Import.self, Archive.self,
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
      discussion: """
        Exits 0 if no number is missing and the entries add up to the stock. Entries in an archive \
        count with what they added up to, unless --archive says where they are.
        """)

    @OptionGroup var options: Options
    @Option(
      help: ArgumentHelp("Check the files of the archive too.", valueName: "directory"),
      completion: .directory)
    var archive: String?

    func run() async throws {
      let ledger = try options.open()
      do throws(LedgerError) {
        let archived = try ledger.archived
        let before = archived.last?.last ?? 0
        if let archive { _ = try ledger.verifyArchive(in: archive) }
        let count = try ledger.verify() + before
        let words =
          before == 0
          ? "" : ", \(before) of them in \(archived.count) files of the archive\(unseen)"
        StandardOutput.write(
          "The ledger is good: \(count) entries\(words), and they add up to the stock.")
      } catch {
        throw Failure(error)
      }
    }

    private var unseen: String { archive == nil ? " (not looked at: see --archive)" : "" }
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
