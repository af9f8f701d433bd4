import ArgumentParser
import JuiceMaker
import KioskMessages
import Ledger
import Program

extension LedgerCommands {
  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print every entry.",
      discussion: """
        As JSON Lines, each line as the kiosk publishes it to events, or as CSV. With --full all that \
        the ledger holds, for import: also what was answered, the ids, and what the kiosk knows of its \
        broker and of devices.
        """)

    @OptionGroup var options: Options
    @Option(help: "jsonl or csv.") var format = RecordFormat.jsonl
    @Flag(help: "All that the ledger holds.") var full = false

    func run() async throws {
      let ledger = try options.open()
      do throws(LedgerError) {
        if full { try printAll(of: ledger) } else { try printEntries(of: ledger) }
      } catch {
        throw Failure(error)
      }
    }

    private func printAll(of ledger: Ledger) throws(LedgerError) {
      if let header = LedgerRecord.header(format) { StandardOutput.write(header) }
      try ledger.export { StandardOutput.write($0.line(format)) }
    }

    private func printEntries(of ledger: Ledger) throws(LedgerError) {
      if format == .csv { StandardOutput.write(LedgerEntry.csvHeader) }
      var last = 0
      while case let page = try ledger.entries(after: last), let final = page.last {
        for (entry, _) in page {
          StandardOutput.write(
            format == .csv ? entry.csv : String(decoding: entry.payload, as: UTF8.self))
        }
        last = final.entry.seq
      }
    }
  }

  struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a ledger of what export --full has printed.",
      discussion: """
        Where there is none yet, or one without entries. All of the file is imported or nothing: what \
        is wrong is told with its line and field. It may be compressed (gzip). Stop the kiosk first.
        """)

    @OptionGroup var options: Options
    @Option(help: "jsonl or csv. Default: csv if the file's name says so, else jsonl.")
    var format: RecordFormat?
    @Argument(help: "The export.", completion: .file()) var file: String

    func run() async throws {
      let path = try options.file()
      let isTable = file.hasSuffix(".csv") || file.hasSuffix(".csv.gz")
      do throws(LedgerError) {
        let count = try Ledger.import(
          from: file, format: format ?? (isTable ? .csv : .jsonl), to: path)
        StandardOutput.write("Imported \(count) entries into \(path).")
      } catch {
        throw Failure(error)
      }
    }
  }
}

extension RecordFormat: ExpressibleByArgument {}

extension LedgerEntry {
  fileprivate static let csvHeader =
    "seq,at,source,id,status,juice,quantity,ticket,reason,missing,changes"

  /// RFC 4180, with amounts as `banana 1; kiwi 2`.
  fileprivate var csv: String {
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
