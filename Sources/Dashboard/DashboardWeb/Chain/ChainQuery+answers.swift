import JuiceDomain
import KioskProtocol
import Postgres

/// Two consecutive spans of the same number of whole days; the later one ends with yesterday.
struct ChainPeriod: Sendable, Equatable {
  /// The supported lengths of a span, in days.
  static let lengths = [7, 28]

  /// Today's date in the archive's time zone.
  let today: CivilDate
  let days: Int

  fileprivate func day(before days: Int) -> String { "'\(today)'::date - \(days)" }

  /// An SQL condition that selects the days of both spans.
  fileprivate var condition: String { "day >= \(day(before: 2 * days)) AND day < '\(today)'::date" }

  /// Returns two columns: the sum over the later span and the sum over the earlier one.
  fileprivate func sums(_ column: String) -> String {
    """
    coalesce(sum(\(column)) FILTER (WHERE day >= \(day(before: days))), 0),
      coalesce(sum(\(column)) FILTER (WHERE day < \(day(before: days))), 0)
    """
  }
}

extension ListSlice {
  fileprivate var limit: String { "LIMIT \(Self.length) OFFSET \(start)" }
}

/// A kind of problem with kiosks that the archive detects and that needs a person.
enum ChainIssue: String, CaseIterable, Sendable {
  case soldOut = "sold-out"
  case missing, conflicts
  case sharedIDs = "shared-ids"
  case clocks

  /// A query for a kiosk, the subject, a first and a last number, an amount and a time.
  fileprivate var view: String {
    switch self {
    case .soldOut:
      """
      SELECT kiosk, fruit AS what, NULL::bigint AS low, NULL::bigint AS high, NULL::bigint AS amount, since AS at
      FROM juice.sold_out_now
      """
    case .missing:
      "SELECT kiosk, epoch::text AS what, first AS low, last AS high, entries AS amount, since AS at FROM juice.missing"
    case .conflicts:
      """
      SELECT kiosk, epoch::text AS what, min(seq) AS low, max(seq) AS high, count(*) AS amount, max(detected) AS at
      FROM juice.conflict GROUP BY kiosk, epoch
      """
    case .sharedIDs:
      """
      SELECT kiosk, epoch || ', ' || other AS what, NULL::bigint AS low, NULL::bigint AS high,
        NULL::bigint AS amount, latest AS at
      FROM juice.shared_id
      """
    case .clocks:
      """
      SELECT kiosk, NULL::text AS what, NULL::bigint AS low, NULL::bigint AS high,
        extract(epoch FROM ahead)::bigint AS amount, latest AS at
      FROM juice.clock_ahead
      """
    }
  }

  fileprivate var order: String {
    switch self {
    case .soldOut, .missing: "at, kiosk, what, high"
    case .conflicts, .sharedIDs: "at DESC, kiosk, what"
    case .clocks: "amount DESC, kiosk, at"
    }
  }
}

extension ChainQuery {
  /// Returns whether the user may see a kiosk.
  func contains(_ kiosk: KioskID) throws(DatabaseError) -> Bool {
    try count("SELECT count(*) FROM own WHERE kiosk = $2", [kiosk.text]) > 0
  }

  /// Returns rows of region, number of kiosks and number of offline kiosks; then glasses and
  /// out-of-stock orders, each over both spans.
  func regions(_ period: ChainPeriod) throws(DatabaseError) -> [Row] {
    try rows(
      """
      , sold (kiosk, glasses, glasses_before, short, short_before) AS (
        SELECT kiosk, \(period.sums("glasses")), \(period.sums("out_of_stock"))
        FROM juice.sales WHERE \(period.condition) GROUP BY kiosk
      )
      SELECT region, count(*), count(*) FILTER (WHERE NOT is_online), sum(glasses), sum(glasses_before),
        sum(short), sum(short_before)
      FROM own LEFT JOIN juice.presence USING (kiosk) LEFT JOIN sold USING (kiosk)
      GROUP BY region ORDER BY region = '', region LIMIT 1000
      """)
  }

  /// Returns the number of glasses sold today.
  func glassesToday(_ period: ChainPeriod) throws(DatabaseError) -> Int {
    try count(
      """
      SELECT coalesce(sum(glasses), 0) FROM own JOIN juice.sales USING (kiosk)
      WHERE day = '\(period.today)'::date
      """)
  }

  /// Returns rows of region, currency, and takings over both spans.
  func takings(_ period: ChainPeriod) throws(DatabaseError) -> [Row] {
    try rows(
      """
      , taken (kiosk, currency, amount, amount_before) AS (
        SELECT kiosk, currency, \(period.sums("amount"))
        FROM juice.takings WHERE \(period.condition) GROUP BY kiosk, currency
      )
      SELECT region, currency, sum(amount), sum(amount_before)
      FROM own JOIN taken USING (kiosk) GROUP BY region, currency ORDER BY region, currency LIMIT 4000
      """)
  }

  /// Selects the kiosks with `$2` in their id, name or place, of the region `$3` or, if it is NULL,
  /// of all regions.
  private static let matching = """
    own WHERE strpos(lower(concat_ws(' ', kiosk, name, place)), lower($2)) > 0
      AND ($3::text IS NULL OR region = $3)
    """

  func count(matching text: String, in region: String?) throws(DatabaseError) -> Int {
    try count("SELECT count(*) FROM \(Self.matching)", [text, region])
  }

  /// Returns rows of kiosk, region, name, place, whether it is online and since when; then glasses
  /// and out-of-stock orders, each over both spans.
  func kiosks(
    matching text: String, in region: String?, _ slice: ListSlice, _ period: ChainPeriod
  ) throws(DatabaseError) -> [Row] {
    try rows(
      """
      , shown AS MATERIALIZED (SELECT * FROM \(Self.matching) ORDER BY region, kiosk \(slice.limit))
      SELECT kiosk, region, name, place, is_online, \(Self.milliseconds("since")), sold.*
      FROM shown LEFT JOIN juice.presence USING (kiosk) CROSS JOIN LATERAL (
        SELECT \(period.sums("glasses")), \(period.sums("out_of_stock"))
        FROM juice.sales WHERE sales.kiosk = shown.kiosk AND \(period.condition)
      ) sold ORDER BY region, kiosk
      """, [text, region])
  }

  /// Returns the row of `kiosks(matching:in:_:_:)` for one kiosk, with the time of its last event,
  /// or `nil` if the kiosk does not exist or the user may not see it.
  func kiosk(_ kiosk: KioskID, _ period: ChainPeriod) throws(DatabaseError) -> Row? {
    try rows(
      """
      , shown AS MATERIALIZED (SELECT * FROM own WHERE kiosk = $2)
      SELECT kiosk, region, name, place, is_online, \(Self.milliseconds("since")), sold.*,
        (SELECT \(Self.milliseconds("max(last_received)")) FROM juice.ledger WHERE ledger.kiosk = shown.kiosk)
      FROM shown LEFT JOIN juice.presence USING (kiosk) CROSS JOIN LATERAL (
        SELECT \(period.sums("glasses")), \(period.sums("out_of_stock"))
        FROM juice.sales WHERE sales.kiosk = shown.kiosk AND \(period.condition)
      ) sold
      """, [kiosk.text]
    ).first
  }

  /// Returns rows of kiosk, currency, and takings over both spans.
  func takings(
    of kiosks: [KioskID], _ period: ChainPeriod
  ) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT kiosk, currency, \(period.sums("amount")) FROM own JOIN juice.takings USING (kiosk)
      WHERE kiosk = ANY ($2::text[]) AND \(period.condition)
      GROUP BY kiosk, currency ORDER BY kiosk, currency
      """, ["{\(kiosks.map(\.text).joined(separator: ","))}"])
  }

  /// Returns rows of juice, glasses and out-of-stock orders, each over both spans.
  func juices(of kiosk: KioskID, _ period: ChainPeriod) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT juice, \(period.sums("glasses")), \(period.sums("out_of_stock"))
      FROM own JOIN juice.sales USING (kiosk) WHERE kiosk = $2 AND \(period.condition) AND juice <> ''
      GROUP BY juice ORDER BY 2 DESC, juice LIMIT 100
      """, [kiosk.text])
  }

  /// Returns the latest entries as rows of time, status, source, juice, quantity, reason, amount
  /// and currency.
  func entries(of kiosk: KioskID) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT \(Self.milliseconds("at")), status, source, juice, quantity, reason, amount, currency
      FROM (
        SELECT kiosk, epoch FROM own JOIN juice.ledger USING (kiosk) WHERE kiosk = $2
        ORDER BY last_received DESC, epoch DESC LIMIT 1
      ) newest JOIN juice.event USING (kiosk, epoch) ORDER BY seq DESC LIMIT 20
      """, [kiosk.text])
  }

  /// Returns the number of rows of an issue.
  ///
  /// - Parameter kiosk: The kiosk to count, or `nil` for all.
  func count(of issue: ChainIssue, at kiosk: KioskID? = nil) throws(DatabaseError) -> Int {
    try count(
      "SELECT count(*) FROM own JOIN (\(issue.view)) issue USING (kiosk) \(Self.condition(kiosk))",
      Self.value(kiosk))
  }

  /// Returns rows of kiosk, region, name and place, followed by the other columns of `view`.
  func rows(
    of issue: ChainIssue, _ slice: ListSlice, at kiosk: KioskID? = nil
  ) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT kiosk, region, name, place, what, low, high, amount, \(Self.milliseconds("at"))
      FROM own JOIN (\(issue.view)) issue USING (kiosk) \(Self.condition(kiosk))
      ORDER BY \(issue.order) \(slice.limit)
      """, Self.value(kiosk))
  }

  private static func condition(_ kiosk: KioskID?) -> String {
    kiosk == nil ? "" : "WHERE kiosk = $2"
  }

  private static func value(_ kiosk: KioskID?) -> [String?] { kiosk.map { [$0.text] } ?? [] }

  private static func milliseconds(_ time: String) -> String {
    "(extract(epoch FROM \(time)) * 1000)::bigint"
  }
}
