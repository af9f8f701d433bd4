import CommandLineSupport
import JuiceDomain
import KioskProtocol

/// Sales as CSV for spreadsheets (RFC 4180). For a kiosk, there is one row for each combination of
/// hour, juice and currency that has sales or out-of-stock orders. If only the day is known, the row
/// is for the day. For a chain, see `ChainQuery.salesRows(_:_:)`.
enum SalesCSV {
  /// The columns that precede those of `header` in the sales of several kiosks.
  static let kioskHeader: [CSVWriter.Cell] = ["kiosk", "name", "place"]
  static let header: [CSVWriter.Cell] = [
    "day", "hour", "juice", "glasses", "orders_out_of_stock", "sold", "currency",
  ]

  static func rows(_ figures: HourlyFigures, _ period: SalesPeriod) -> [[CSVWriter.Cell]] {
    figures.figures.filter { period.days.contains($0.key.day) }.sorted { $0.key < $1.key }
      .flatMap { key, figures -> [[CSVWriter.Cell]] in
        row(
          "\(CivilDate(daysSinceEpoch: key.day))", key.hour, key.juice.text, figures)
      }
  }

  private static func row(
    _ day: String, _ hour: Int?, _ juice: String, _ figures: SalesFigures
  ) -> [[CSVWriter.Cell]] {
    let amounts = figures.takings.sorted { $0.key < $1.key }
      .map { (Money(units: $0.value, $0.key).text, $0.key.code) }
    let start: [CSVWriter.Cell] = [.text(day), .number(hour), .text(juice)]
    func line(_ counts: [CSVWriter.Cell], _ amount: (String, String)) -> [CSVWriter.Cell] {
      start + counts + [.number(amount.0), .text(amount.1)]
    }
    let counts: [CSVWriter.Cell] = [.number(figures.glasses), .number(figures.outOfStock)]
    return [line(counts, amounts.first ?? ("", ""))]
      + amounts.dropFirst().map { line([.number("0"), .number("0")], $0) }
  }

  /// Returns the text of a CSV file with the rows.
  static func text(_ rows: [[CSVWriter.Cell]], forExcel isForExcel: Bool) -> String {
    guard isForExcel else { return RouteCSV.text([header] + rows) }
    let csv = CSVWriter(forExcel: true)
    return csv.start + ([header] + rows).map { csv.line($0) + "\n" }.joined()
  }
}
