import Archive
import ArgumentParser
import CommandLineSupport
import KioskProtocol
import Postgres
import YAMLConfiguration

struct KioskCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kiosks", abstract: "Manage the list of the chain's kiosks.",
    subcommands: [Load.self, List.self])

  struct Load: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replace the list of kiosks.",
      discussion: """
        The file is CSV with the header \(KioskList.header); name and place may be empty. If a line has \
        an error, nothing changes. A kiosk that is no longer listed is removed from the list; its events \
        stay in the archive.
        """)

    @Argument(help: "The list.", completion: .file(extensions: ["csv"])) var file: String
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let settings = try ArchiveSettings(options.load())
      let list: KioskList
      do throws(ConfigurationErrors) { list = try .load(path: file) } catch {
        throw Failure.badData("\(error)")
      }
      let changes = try KioskTable(settings).load(list.kiosks)
      try StandardOutput.write(
        "\(list.kiosks.count) kiosks: \(changes.added) new, \(changes.changed) changed, "
          + "\(changes.removed) removed", after: "the list is loaded")
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the list in the format of 'load'.", discussion: "Sorted by region and id.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let settings = try ArchiveSettings(options.load())
      let kiosks = try KioskTable(settings, newerBy: 1).list()
      let lines = kiosks.map { kiosk in
        ["\(kiosk.id)", kiosk.region, kiosk.name ?? "", kiosk.place ?? ""].map(\.csvField)
          .joined(separator: ",")
      }
      try StandardOutput.write(([KioskList.header] + lines).joined(separator: "\n"))
    }
  }
}
