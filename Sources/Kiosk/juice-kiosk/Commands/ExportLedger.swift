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

    func run() throws {
      let ledger = try options.open()
      if format == .csv { try StandardOutput.write(LedgerEntry.csvHeader) }
      var last = 0
      while case let page = try ledger.rows(after: last), let final = page.last {
        for entry in page.map(\.row.entry) {
          try StandardOutput.write(
            format == .csv ? entry.csv : String(decoding: entry.payload, as: UTF8.self))
        }
        last = final.row.entry.seq
      }
    }
  }
}

extension LedgerEntry {
  fileprivate static let csvHeader =
    "seq,at,source,id,status,juice,quantity,ticket,reason,missing,changes,machine,job,"
    + "amount,currency,epoch,charge,device,receipt,trace,terminal,card,last4"

  /// A line of CSV (RFC 4180), with amounts such as `banana 1; kiwi 2`.
  fileprivate var csv: String {
    func amounts(_ amounts: FruitAmounts?) -> String {
      (amounts ?? [:]).map { "\($0.fruit) \($0.amount)" }.joined(separator: "; ")
    }
    var (order, ticket): (Order?, Ticket?)
    var (reason, missing): (String?, FruitAmounts?)
    var (machine, job): (MachineID?, Int?)
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
    case .total(_, let at, let difference): (device, reason) = (at, "difference \(difference)")
    case .opened, .restocked, .service: break
    }
    let fields: [String] = [
      "\(seq)", "\(at)", source?.description ?? "", id?.text ?? "", status.rawValue,
      order?.juice.text ?? "", order.map { "\($0.quantity)" } ?? "",
      ticket.map { "\($0.number)" } ?? "", reason ?? "", amounts(missing),
      amounts(changes), machine?.text ?? "", job.map { "\($0)" } ?? "",
      amount?.text ?? "", amount?.currency.code ?? "", "\(epoch)",
      charge.map { "\($0)" } ?? "", device?.text ?? "", receipt.receipt ?? "",
      receipt.trace ?? "", receipt.terminal ?? "", receipt.card ?? "", receipt.last4 ?? "",
    ]
    return fields.map(\.csvField).joined(separator: ",")
  }
}
