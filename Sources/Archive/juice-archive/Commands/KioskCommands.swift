import Archive
import ArgumentParser
import CommandLineSupport
import KioskProtocol
import Postgres
import YAMLConfiguration

struct KioskCommands: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kiosks", abstract: "Say which kiosks the chain has, and where.",
    subcommands: [Load.self, List.self])

  struct Load: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Put a list in the place of the one that is there.",
      discussion: """
        The file is CSV with the header \(KioskList.header); name and place may be empty. All of it is \
        taken over, or nothing. A kiosk that is not listed any more leaves the list; what it has told stays.
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
      StandardOutput.write(
        "\(list.kiosks.count) kiosks: \(changes.added) new, \(changes.changed) changed, \(changes.removed) removed"
      )
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the list, as 'load' takes it.", discussion: "By region and id.")

    @OptionGroup var options: ConfigurationOptions

    func run() throws {
      let settings = try ArchiveSettings(options.load())
      let kiosks = try KioskTable(settings).list()
      let lines = kiosks.map { kiosk in
        ["\(kiosk.id)", kiosk.region, kiosk.name ?? "", kiosk.place ?? ""].map(\.csvField)
          .joined(separator: ",")
      }
      StandardOutput.write(([KioskList.header] + lines).joined(separator: "\n"))
    }
  }
}
