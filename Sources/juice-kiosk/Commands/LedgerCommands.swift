import ArgumentParser
import JuiceMaker
import KioskConfiguration
import KioskMessages
import Ledger

struct LedgerCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ledger", abstract: "Look at the ledger, check it, save it.",
    discussion: "All of this may be done while the kiosk runs.",
    subcommands: [Export.self, Verify.self, Backup.self])

  struct Options: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(
      help: ArgumentHelp("The ledger, instead of the configuration's.", valueName: "file"),
      completion: .file())
    var path: String?

    func open() throws(Failure) -> Ledger {
      let path = if let path { path } else { try configuration.load().ledger.path }
      do throws(LedgerError) { return try Ledger(path: path, readOnly: true) } catch {
        throw Failure(error)
      }
    }
  }

  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print every entry.",
      discussion: "As JSON Lines, each line as the kiosk publishes it to events, or as CSV.")

    enum Format: String, ExpressibleByArgument, CaseIterable { case jsonl, csv }

    @OptionGroup var options: Options
    @Option(help: "jsonl or csv.") var format = Format.jsonl

    func run() async throws {
      let ledger = try options.open()
      if format == .csv { StandardOutput.write(LedgerEntry.csvHeader) }
      var last = 0
      do throws(LedgerError) {
        while case let page = try ledger.entries(after: last), let final = page.last {
          for (entry, _) in page {
            StandardOutput.write(
              format == .csv ? entry.csv : String(decoding: entry.payload, as: UTF8.self))
          }
          last = final.entry.seq
        }
      } catch {
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
        StandardOutput.write("The ledger is good: \(count) entries, and they add up to the stock.")
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

extension LedgerEntry {
  static let csvHeader = "seq,at,source,id,status,juice,quantity,ticket,reason,missing,changes"

  /// RFC 4180, with amounts as `banana 1; kiwi 2`.
  var csv: String {
    func amounts(_ amounts: FruitAmounts?) -> String {
      (amounts ?? [:]).map { "\($0.fruit) \($0.amount)" }.joined(separator: "; ")
    }
    var (order, ticket): (Order?, Ticket?)
    var (reason, missing): (RejectionReason?, FruitAmounts?)
    switch outcome {
    case .ready(let made, _, let given): (order, ticket) = (made, given)
    case .outOfStock(let wanted, let short): (order, missing) = (wanted, short)
    case .rejected(let why, let wanted): (reason, order) = (why, wanted)
    case .opened, .restocked, .service: break
    }
    let fields: [String] = [
      "\(seq)", "\(at)", source?.description ?? "", id?.text ?? "", status.rawValue,
      order?.juice.text ?? "", order.map { "\($0.quantity)" } ?? "",
      ticket.map { "\($0.number)" } ?? "", reason?.rawValue ?? "", amounts(missing),
      amounts(changes),
    ]
    return fields.map(\.csvField).joined(separator: ",")
  }
}

extension String {
  fileprivate var csvField: String {
    guard contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return self }
    return "\"\(replacing("\"", with: "\"\""))\""
  }
}
