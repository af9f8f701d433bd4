import CommandLineSupport
import JuiceDomain
import KioskProtocol
import Postgres

extension ChainQuery {
  /// Maximum number of rows of an export.
  private static let maximumRows = 50_000

  /// Maximum number of currencies of a region or a kiosk on a page: those of the most kiosks, or with
  /// takings on the most days, so that one kiosk does not displace the currency of the others.
  static let maximumCurrencies = 5

  /// An SQL condition that selects the kiosks of the region `$2` with the id `$3`. NULL selects all
  /// regions or all ids.
  private static let chosen =
    "($2::text IS NULL OR region = $2) AND ($3::text IS NULL OR kiosk = $3)"

  private func values(_ choice: ChainSales) -> [String?] { [choice.region, choice.kiosk?.text] }

  /// Returns the names of the regions that the user may see.
  func regionNames() throws(DatabaseError) -> [String] {
    try rows("SELECT DISTINCT region FROM own WHERE region <> '' ORDER BY 1 LIMIT 1000").map {
      $0[0]
    }
  }

  /// Returns whether the user may see the chosen kiosk, if there is one.
  func contains(_ choice: ChainSales) throws(DatabaseError) -> Bool {
    guard let kiosk = choice.kiosk else { return true }
    return try contains(kiosk)
  }

  /// Returns the sums of a period and of `period.before`. Sums by hour are only for one kiosk,
  /// because the archive stores sums of days and not of hours.
  func sales(
    _ period: SalesPeriod, _ choice: ChainSales, timeZone: String
  ) throws(DatabaseError) -> SalesComparison {
    var sales = SalesComparison()
    sales.hasTakingsOfJuices = false
    let isNow = "day >= \(day(period.days.lowerBound))"
    let condition =
      "\(Self.chosen) AND day BETWEEN \(day(period.before.lowerBound)) AND \(day(period.days.upperBound))"
    for row in try rows(
      """
      SELECT \(isNow), sum(glasses), sum(out_of_stock) FROM own JOIN juice.sales USING (kiosk)
      WHERE \(condition) GROUP BY 1
      """, values(choice))
    {
      let figures = SalesFigures(glasses: row.number(1), outOfStock: row.number(2))
      sales.total.add(figures, isNow: row.bool(0))
    }
    func compared(_ column: String) -> String {
      """
      coalesce(sum(\(column)) FILTER (WHERE \(isNow)), 0),
        coalesce(sum(\(column)) FILTER (WHERE NOT \(isNow)), 0)
      """
    }
    for row in try rows(
      """
      SELECT juice, \(compared("glasses")), \(compared("out_of_stock")) FROM own JOIN juice.sales USING (kiosk)
      WHERE \(condition) AND juice <> '' GROUP BY juice ORDER BY 2 DESC, 3 DESC, juice LIMIT 1000
      """, values(choice))
    {
      guard let juice = Juice.ID(row[0]) else { continue }
      sales.juices[juice] = SalesComparison.Pair(
        now: SalesFigures(glasses: row.number(1), outOfStock: row.number(3)),
        before: SalesFigures(glasses: row.number(2), outOfStock: row.number(4)))
    }
    for row in try rows(
      """
      SELECT currency, \(compared("amount")) FROM own JOIN juice.sold USING (kiosk)
      WHERE \(condition) GROUP BY currency ORDER BY count(*) DESC, currency LIMIT \(Self.maximumCurrencies)
      """, values(choice))
    {
      guard let currency = Currency(row[0]) else { continue }
      for (column, isNow) in [(1, true), (2, false)] {
        let units = Money(row[column], currency)?.units ?? .max
        sales.total.add(SalesFigures(takings: [currency: units]), isNow: isNow)
      }
    }
    for row in try rows(
      """
      SELECT currency, sum(sold), sum(taken), sum(given_back), sum(written_off), sum(open)
      FROM own JOIN juice.money USING (kiosk)
      WHERE \(Self.chosen) AND day BETWEEN \(day(period.days.lowerBound)) AND \(day(period.days.upperBound))
      GROUP BY 1 HAVING sum(taken) > 0 ORDER BY count(*) DESC, 1 LIMIT \(Self.maximumCurrencies)
      """, values(choice))
    {
      guard let currency = Currency(row[0]) else { continue }
      func units(_ column: Int) -> Int {
        let units = Money(row[column].replacing("-", with: ""), currency)?.units
        return units.map { row[column].hasPrefix("-") ? -$0 : $0 } ?? .max
      }
      var sums = MoneySums()
      (sums.sold, sums.taken, sums.givenBack) = (units(1), units(2), units(3))
      (sums.writtenOff, sums.open) = (units(4), units(5))
      sales.money.append((currency, sums))
    }
    sales.money.sort { $0.currency < $1.currency }
    for row in try rows(
      """
      SELECT day - '1970-01-01'::date, sum(glasses) FROM own JOIN juice.sales USING (kiosk)
      WHERE \(Self.chosen) AND day BETWEEN \(day(period.days.lowerBound)) AND \(day(period.days.upperBound))
      GROUP BY 1
      """, values(choice))
    {
      sales.days[Int64(row.number(0))] = row.number(1)
    }
    let start = try rows(
      """
      SELECT EXISTS (SELECT FROM own JOIN juice.sales USING (kiosk)
          WHERE \(Self.chosen) AND day <= \(day(period.before.lowerBound))),
        (SELECT min(day) - '1970-01-01'::date FROM own JOIN juice.sales USING (kiosk) WHERE \(condition))
      """, values(choice)
    ).first
    if let start, start.bool(0) == false { sales.knownSince = start.text(1).flatMap { Int64($0) } }
    guard choice.kiosk != nil else { return sales }
    for row in try rows(
      """
      , sold AS (
        SELECT at AT TIME ZONE $4 AS at, CASE WHEN status = 'out_of_stock' THEN 0 ELSE quantity END AS glasses
        FROM own JOIN juice.event USING (kiosk)
        WHERE \(Self.chosen) AND kiosk = $3 AND status IN ('ready', 'made', 'out_of_stock')
          AND at >= (\(day(period.before.lowerBound)))::timestamp AT TIME ZONE $4
          AND at < (\(day(period.days.upperBound)) + 1)::timestamp AT TIME ZONE $4
          AND NOT EXISTS (SELECT FROM juice.misdated wrong
            WHERE wrong.kiosk = event.kiosk AND wrong.epoch = event.epoch AND wrong.seq = event.seq)
          -- The entries of a closed day are deleted: there are no hours to compare.
          AND NOT EXISTS (SELECT FROM juice.closed_day closed WHERE closed.kiosk = $3
            AND closed.day BETWEEN \(day(period.before.lowerBound)) AND \(day(period.days.upperBound)))
      )
      SELECT extract(hour FROM at)::int, at >= \(day(period.days.lowerBound)), sum(glasses),
        count(*) FILTER (WHERE glasses = 0)
      FROM sold GROUP BY 1, 2
      """, values(choice) + [timeZone])
    {
      sales.hours[row.number(0), default: .init()].add(
        SalesFigures(glasses: row.number(2), outOfStock: row.number(3)), isNow: row.bool(1))
    }
    return sales
  }

  /// Returns the rows of an export: the sums by day and juice, and the takings by day and currency.
  /// If there are more than `maximumRows`, the last row says so.
  func salesRows(
    _ period: SalesPeriod, _ choice: ChainSales
  ) throws(DatabaseError) -> [ExportTable.Row] {
    let condition =
      "\(Self.chosen) AND day BETWEEN \(day(period.days.lowerBound)) AND \(day(period.days.upperBound))"
    let rows = try rows(
      """
      SELECT day, juice, sum(glasses), sum(out_of_stock), NULL::numeric, ''
      FROM own JOIN juice.sales USING (kiosk) WHERE \(condition) AND juice <> '' GROUP BY 1, 2
      UNION ALL
      SELECT day, '', 0, 0, sum(amount), currency FROM own JOIN juice.sold USING (kiosk)
      WHERE \(condition) GROUP BY day, currency
      ORDER BY 1, 2 LIMIT \(Self.maximumRows + 1)
      """, values(choice))
    let cut: [ExportTable.Row] =
      rows.count > Self.maximumRows
      ? [["", "", "incomplete: choose a shorter time", "", "", "", ""]] : []
    return rows.prefix(Self.maximumRows).map { row in
      [
        CivilDate(row[0]).map { .day($0) } ?? "", .number(""), .text(row[1]), .number(row[2]),
        .number(row[3]),
        .number(row[4]), .text(row[5]),
      ]
    } + cut
  }

  private func day(_ day: Int64) -> String { "'\(CivilDate(daysSinceEpoch: day))'::date" }
}

extension SalesComparison.Pair {
  fileprivate mutating func add(_ figures: SalesFigures, isNow: Bool?) {
    if isNow == true { now += figures } else { before += figures }
  }
}
