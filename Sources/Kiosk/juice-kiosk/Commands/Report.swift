import ArgumentParser
import CommandLineSupport
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import TimeZones
import YAMLConfiguration

struct Report: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show sales, and when each fruit will be used up.",
    discussion: """
      Reads the ledger, also while the kiosk runs. The kiosk publishes the same data to its topics \
      sales and forecast.
      """)

  @OptionGroup var options: ConfigurationOptions

  @Option(help: "How many days, today included: 1 to \(SalesReport.dayCount).")
  var days = SalesReport.dayCount

  @Flag(help: "Print sales and forecast as JSON, as the kiosk publishes them.")
  var json = false

  @Flag(help: "Print the days as CSV, with a line for each juice of a day.")
  var csv = false

  @Flag(help: "Print the charges of these days as CSV, with a line for each.")
  var charges = false

  @Option(
    help: ArgumentHelp(
      "Print what was sold, taken, given back and written off as CSV, with a line for each hour, day, "
        + "juice or panel.", valueName: "group"))
  var payments: Group?

  enum Group: String, CaseIterable, ExpressibleByArgument { case hour, day, juice, panel }

  @Flag(help: "Print the record of food safety: temperatures, and what was blocked and done.")
  var haccp = false

  @Option(help: ArgumentHelp("The first day of the record, 2026-11-19.", valueName: "day"))
  var from: CivilDate?

  @Option(
    help: ArgumentHelp("Its last day. Default: today, and the six days before.", valueName: "day"))
  var to: CivilDate?

  @Flag(help: "Write CSV that Excel opens in columns, in any language.")
  var excel = false

  func validate() throws {
    guard (1...SalesReport.dayCount).contains(days) else {
      throw ValidationError("--days is 1 to \(SalesReport.dayCount).")
    }
    if excel && !csv && !charges && payments == nil {
      throw ValidationError("--excel needs --csv, --charges or --payments.")
    }
    guard haccp || (from == nil && to == nil) else {
      throw ValidationError("--from and --to need --haccp.")
    }
    guard !haccp || (!json && !charges && payments == nil) else {
      throw ValidationError("--haccp goes with --csv only.")
    }
    guard [json, csv, charges, payments != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("Choose one of --json, --csv, --charges and --payments.")
    }
  }

  func run() async throws {
    let configuration = try options.text().withMenuAsOwner()
    if haccp { return try printSafety(configuration) }
    if charges || payments != nil { return try printCharges(configuration) }
    var (sales, forecast) = try read(KioskSettings(configuration), configuration.ledgerPath)
    let first = sales.today.daysSinceEpoch - Int64(days) + 1
    sales.days.removeAll { $0.day.daysSinceEpoch < first }
    if json {
      let parts = [("sales", sales.payload), ("forecast", forecast.payload)].map { key, payload in
        "\"\(key)\":\(String(decoding: payload, as: UTF8.self))"
      }
      try StandardOutput.write(json: "{\(parts.joined(separator: ","))}".utf8)
    } else if csv {
      let csv = CSVWriter(forExcel: excel)
      let lines = ([SalesReport.csvHeader] + sales.cells).map(csv.line)
      try StandardOutput.write(csv: csv.start + lines.joined(separator: "\n"))
    } else {
      let view = SalesView(configuration, sales: sales, forecast: forecast)
      try StandardOutput.write(
        view.lines(color: StandardOutput.isTerminal).joined(separator: "\n"))
    }
  }

  private func printSafety(_ configuration: KioskConfiguration) throws {
    let settings = KioskSettings(configuration)
    let now = KioskClock.system(wallClock: settings.wallClock).now()
    let last = to?.daysSinceEpoch ?? Int64(now.day)
    let first = from?.daysSinceEpoch ?? last - 6
    guard first <= last, last - first < SafetyView.maximumDays else {
      throw ValidationError(
        "--from is not after --to, and the record has at most \(SafetyView.maximumDays) days.")
    }
    let ledger = try KioskLedger(path: configuration.ledgerPath, readOnly: true)
    let days = try (first...last).map {
      try ledger.safety(on: CivilDate(daysSinceEpoch: $0), id: "record", settings)
    }
    let kiosk = configuration.kiosk
    let span = "\(CivilDate(daysSinceEpoch: first)) to \(CivilDate(daysSinceEpoch: last))"
    let view = SafetyView(
      title: "Record of food safety: \(kiosk.name?[kiosk.language] ?? kiosk.id.text), \(span), "
        + settings.wallClock.name, days: days, wallClock: settings.wallClock,
      now: now.timestamp)
    guard csv else {
      let lines = view.lines(width: StandardOutput.width)
      return try StandardOutput.write(lines.joined(separator: "\n"))
    }
    let writer = CSVWriter(forExcel: excel)
    let rows = days.flatMap { day in
      day.rows { settings.wallClock.bestBeforeDay($0)?.description ?? $0.description }
    }
    let lines = ([SafetyDay.header] + rows).map {
      writer.line($0, numbers: SafetyDay.numberColumns)
    }
    try StandardOutput.write(csv: writer.start + lines.joined(separator: "\n"))
  }

  private func printCharges(_ configuration: KioskConfiguration) throws {
    let wallClock = KioskSettings(configuration).wallClock
    let now = KioskClock.system(wallClock: wallClock).now()
    let first = now.day - days + 1
    // The local day `first` begins after this time, because each UTC offset is shorter than a day.
    let start = Timestamp(milliseconds: Int64(first - 1) * 86_400_000)
    let ledger = try KioskLedger(path: configuration.ledgerPath, readOnly: true)
    let csv = CSVWriter(forExcel: excel)
    guard let payments else {
      let rows = try ledger.charges(since: start).filter { wallClock.day(at: $0.at) >= first }
      let lines = rows.map { csv.line($0.fields.map { .text($0) }) }
      return try StandardOutput.write(
        csv: csv.start + ([KioskLedger.ChargeRow.header] + lines).joined(separator: "\n"))
    }
    let rows = try ledger.money(since: start).filter { wallClock.day(at: $0.at) >= first }
    let sums = ChargeSums(rows.sorted { $0.at < $1.at }) { row in
      switch payments {
      case .hour:
        let (day, hour) = wallClock.hour(at: row.at).quotientAndRemainder(dividingBy: 24)
        let padded = "\(hour < 10 ? "0" : "")\(hour):00"
        return "\(CivilDate(daysSinceEpoch: Int64(day))) \(padded)"
      case .day: return "\(CivilDate(daysSinceEpoch: Int64(wallClock.day(at: row.at))))"
      case .juice: return row.juice ?? ""
      case .panel: return row.panel ?? ""
      }
    }
    try StandardOutput.write(
      csv: csv.start
        + (["\(payments.rawValue),\(ChargeSums.header)"] + sums.lines(csv)).joined(separator: "\n"))
  }

  private func read(
    _ settings: KioskSettings, _ path: String
  ) throws -> (SalesReport, ForecastReport) {
    let ledger = try KioskLedger(path: path, readOnly: true)
    let state = try ledger.state()
    let now = KioskClock.system(wallClock: settings.wallClock).now().timestamp
    var history = SalesHistory(
      menu: settings.menu, wallClock: settings.wallClock, through: state.seq, at: now)
    while !history.isComplete { try history.read(ledger) }
    let kiosk = Kiosk(settings: settings, state: state)
    let forecast = history.forecast(
      stock: kiosk.stock, expires: kiosk.batches.expiries, at: now)
    return (history.report(at: now), forecast)
  }
}

extension SalesReport {
  fileprivate static let csvHeader: [CSVWriter.Cell] = [
    "day", "juice", "made", "out_of_stock", "rejected", "sold", "currency",
  ]

  /// The cells of the CSV lines: one line for each juice of a day. Rejected orders for a juice that
  /// is not on the menu share a line without a juice. If the currency has changed, the takings in
  /// each further currency have a separate line.
  fileprivate var cells: [[CSVWriter.Cell]] {
    days.flatMap { day in
      let tally = day.tally
      var lines = tally.juices.flatMap { juice in
        let counts = [tally.made, tally.outOfStock, tally.rejected].map { $0[juice] ?? 0 }
        let takings = tally.takings[juice]
        return [Self.line(day, juice, counts, takings.first)]
          + takings.dropFirst().map { Self.line(day, juice, [0, 0, 0], $0) }
      }
      if tally.unnamed > 0 { lines.append(Self.line(day, nil, [0, 0, tally.unnamed], nil)) }
      return lines
    }
  }

  private static func line(
    _ day: Day, _ juice: Juice.ID?, _ counts: [Int], _ takings: Money?
  ) -> [CSVWriter.Cell] {
    [.text(day.day.description), .text(juice?.text ?? "")] + counts.map { .number($0) }
      + [.number(takings?.text ?? ""), .text(takings?.currency.code ?? "")]
  }
}

extension CivilDate: ExpressibleByArgument {
  package init?(argument: String) { self.init(argument) }
}
