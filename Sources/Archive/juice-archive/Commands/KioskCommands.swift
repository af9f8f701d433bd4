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
        stay in the archive. A list that removes more than half of the kiosks needs --remove.
        """)

    @Argument(help: "The list.", completion: .file(extensions: ["csv"])) var file: String
    @Flag(help: "Allow the list to remove more than half of the kiosks.") var remove = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let list: KioskList
      do throws(ConfigurationErrors) { list = try .load(path: file) } catch {
        throw Failure.badData("\(error)")
      }
      let changes = try options.withSettings { settings in
        let table = try KioskTable(settings)
        let listed = Set(list.kiosks.map(\.id))
        let old = try table.list()
        let removed = old.filter { !listed.contains($0.id) }.count
        guard remove || removed * 2 <= old.count else {
          throw Failure.badData(
            "\(file) lists \(listed.count) kiosks and lacks \(removed) of the \(old.count) that are loaded, with their "
              + "regions and the rights of users there; nothing has changed. If they are gone, repeat it with --remove"
          )
        }
        return try table.load(list.kiosks)
      }
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
      let kiosks = try options.withSettings { try KioskTable($0, newerBy: 1).list() }
      let lines = kiosks.map { kiosk in
        ["\(kiosk.id)", kiosk.region, kiosk.name ?? "", kiosk.place ?? ""].map(\.csvField)
          .joined(separator: ",")
      }
      try StandardOutput.write(([KioskList.header] + lines).joined(separator: "\n"))
    }
  }
}
