import CommandLineSupport
import JuiceDomain
import KioskProtocol

/// Sales as a table for spreadsheets. For a kiosk, there is one row for each combination of
/// hour, juice and currency that has sales or out-of-stock orders. If only the day is known, the row
/// is for the day. For a chain, see `ChainQuery.salesRows(_:_:)`.
enum SalesTable {
  /// The columns that precede those of `header` in the sales of several kiosks.
  static let kioskHeader: ExportTable.Row = ["kiosk", "name", "place"]
  static let header: ExportTable.Row = [
    "day", "hour", "juice", "glasses", "orders_out_of_stock", "sold", "currency",
  ]

  static func rows(_ figures: HourlyFigures, _ period: SalesPeriod) -> [ExportTable.Row] {
    figures.figures.filter { period.days.contains($0.key.day) }.sorted { $0.key < $1.key }
      .flatMap { key, figures -> [ExportTable.Row] in
        row(CivilDate(daysSinceEpoch: key.day), key.hour, key.juice.text, figures)
      }
  }

  private static func row(
    _ day: CivilDate, _ hour: Int?, _ juice: String, _ figures: SalesFigures
  ) -> [ExportTable.Row] {
    let amounts = figures.takings.sorted { $0.key < $1.key }
      .map { (Money(units: $0.value, $0.key).text, $0.key.code) }
    let start: ExportTable.Row = [.day(day), .number(hour), .text(juice)]
    func line(_ counts: ExportTable.Row, _ amount: (String, String)) -> ExportTable.Row {
      start + counts + [.number(amount.0), .text(amount.1)]
    }
    let counts: ExportTable.Row = [.number(figures.glasses), .number(figures.outOfStock)]
    return [line(counts, amounts.first ?? ("", ""))]
      + amounts.dropFirst().map { line([.number("0"), .number("0")], $0) }
  }
}
