import ArgumentParser
import CommandLineSupport
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

extension LedgerCommands {
  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print every entry.",
      discussion: "As JSON Lines, each line as the kiosk publishes it to events, or as CSV.")

    enum Format: String, ExpressibleByArgument, CaseIterable { case jsonl, csv }

    @OptionGroup var options: Options
    @Option(help: "Output format.") var format = Format.jsonl
    @Flag(help: "Write CSV that Excel opens in columns, in any language.") var excel = false

    func validate() throws {
      if excel, format != .csv { throw ValidationError("--excel needs --format csv.") }
    }

    func run() throws {
      let ledger = try options.open()
      let csv = CSVWriter(forExcel: excel)
      if format == .csv {
        try StandardOutput.write(csv: csv.start + csv.line(LedgerEntry.csvHeader))
      }
      var last = 0
      while case let page = try ledger.rows(after: last), let final = page.last {
        for (row, event, _) in page {
          switch format {
          case .csv: try StandardOutput.write(csv: csv.line(row.entry.cells))
          case .jsonl: try StandardOutput.write(json: event)
          }
        }
        last = final.row.entry.seq
      }
    }
  }
}

extension LedgerEntry {
  fileprivate static let csvHeader: [CSVWriter.Cell] = [
    "seq", "at", "source", "id", "status", "juice", "quantity", "ticket", "reason", "missing",
    "changes", "machine", "job", "amount", "currency", "epoch", "charge",
    "device", "receipt", "trace", "terminal", "card", "last4", "program",
  ]

  /// The cells of a line of CSV, with amounts such as `banana 1; kiwi 2`.
  fileprivate var cells: [CSVWriter.Cell] {
    func amounts(_ amounts: FruitAmounts?) -> String {
      (amounts ?? [:]).map { "\($0.fruit) \($0.amount)" }.joined(separator: "; ")
    }
    let (order, receipt) = (outcome.order, outcome.payment?.receipt)
    var (reason, missing, program): (String?, FruitAmounts?, MachineProgram?)
    switch outcome {
    case .outOfStock(_, let short): missing = short
    case .rejected(let why, _): reason = why.rawValue
    case .payment(let step): reason = step.reason
    case .total(_, _, let difference):
      reason = difference.map { "difference \($0)" } ?? "not compared"
    case .program(let step): (reason, program) = (step.reason, step.id.program)
    case .sensor(let step): reason = step.summary
    case .removed(let removal): reason = removal.summary
    default: reason = outcome.failure
    }
    return [
      .number(seq), .text("\(at)"), .text(source?.description ?? ""), .text(id?.text ?? ""),
      .text(status.rawValue), .text(order?.juice.text ?? ""), .number(order?.quantity),
      .number(ticket?.number), .text(reason ?? ""), .text(amounts(missing)),
      .text(amounts(changes)), .text(outcome.machine?.text ?? ""), .number(outcome.job),
      .number(amount?.text ?? ""), .text(amount?.currency.code ?? ""), .number(epoch),
      .number(charge), .text(outcome.device?.text ?? ""), .text(receipt?.receipt ?? ""),
      .text(receipt?.trace ?? ""), .text(receipt?.terminal ?? ""), .text(receipt?.card ?? ""),
      .text(receipt?.last4 ?? ""), .text(program?.rawValue ?? ""),
    ]
  }
}
