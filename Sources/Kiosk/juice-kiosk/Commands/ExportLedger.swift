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
    var (order, ticket): (Order?, Ticket?)
    var (reason, missing): (String?, FruitAmounts?)
    var (machine, job): (MachineID?, Int?)
    var program: MachineProgram?
    var (charge, device, receipt): (Int?, PaymentDeviceID?, Receipt) = (nil, nil, Receipt())
    switch outcome {
    case .ready(let made, _, let given): (order, ticket) = (made, given)
    case .outOfStock(let wanted, let short): (order, missing) = (wanted, short)
    case .rejected(let why, let wanted): (reason, order) = (why.rawValue, wanted)
    case .accepted(let wanted, _, let given, let maker, _):
      (order, ticket, machine) = (wanted, given, maker)
    case .made(let end):
      (order, ticket, machine, job) = (end.order, end.ticket, end.machine, end.job)
    case .failed(let end, let why, _), .returned(let end, let why, _):
      (order, ticket, machine, job) = (end.order, end.ticket, end.machine, end.job)
      reason = why
    case .decided(_, let order, _): job = order
    case .awaitingPayment(let wanted, _, let given, let number, let at):
      (order, ticket, charge, device) = (wanted, given, number, at)
    case .payment(let step):
      (order, ticket, machine, job) = (step.order, step.ticket, step.machine, step.job)
      (charge, device, receipt, reason) = (step.charge, step.device, step.receipt, step.reason)
    case .total(_, let at, let difference):
      (device, reason) = (at, difference.map { "difference \($0)" } ?? "not compared")
    case .program(let step):
      (machine, job, reason) = (step.id.machine, step.job, step.reason)
      program = step.id.program
    case .sensor(let step): reason = step.summary
    case .removed(let removal): reason = removal.summary
    case .opened, .restocked, .service, .expired: break
    }
    return [
      .number(seq), .text("\(at)"), .text(source?.description ?? ""), .text(id?.text ?? ""),
      .text(status.rawValue), .text(order?.juice.text ?? ""), .number(order?.quantity),
      .number(ticket?.number), .text(reason ?? ""), .text(amounts(missing)),
      .text(amounts(changes)), .text(machine?.text ?? ""), .number(job),
      .number(amount?.text ?? ""), .text(amount?.currency.code ?? ""), .number(epoch),
      .number(charge), .text(device?.text ?? ""), .text(receipt.receipt ?? ""),
      .text(receipt.trace ?? ""), .text(receipt.terminal ?? ""), .text(receipt.card ?? ""),
      .text(receipt.last4 ?? ""), .text(program?.rawValue ?? ""),
    ]
  }
}
