import JuiceDomain
import KioskProtocol
import Postgres

/// Today, and two consecutive spans of the same number of whole days. The later span ends with
/// yesterday.
struct ChainPeriod: Sendable, Equatable {
  /// The supported lengths of a span, in days.
  static let lengths = [7, 28]

  /// Today's date in the archive's time zone.
  let today: CivilDate
  let days: Int

  fileprivate func day(before days: Int) -> String { "'\(today)'::date - \(days)" }

  /// An SQL condition that selects today and the days of both spans.
  fileprivate var condition: String {
    "day >= \(day(before: 2 * days)) AND day <= '\(today)'::date"
  }

  /// Returns SQL for three columns: the sums of today, of the later span and of the earlier span.
  fileprivate func sums(_ column: String) -> String {
    """
    coalesce(sum(\(column)) FILTER (WHERE day = '\(today)'::date), 0),
      coalesce(sum(\(column)) FILTER (WHERE day >= \(day(before: days)) AND day < '\(today)'::date), 0),
      coalesce(sum(\(column)) FILTER (WHERE day < \(day(before: days))), 0)
    """
  }
}

extension ChainQuery {
  /// Returns whether the user may see a kiosk.
  func contains(_ kiosk: KioskID) throws(DatabaseError) -> Bool {
    try count("SELECT count(*) FROM own WHERE kiosk = $2", [kiosk.text]) > 0
  }

  /// Returns the kiosks that the user may see.
  func kiosks() throws(DatabaseError) -> Set<KioskID> {
    Set(try rows("SELECT kiosk FROM own").compactMap { $0.kiosk(0) })
  }

  /// Returns the name of a kiosk, or `nil` if it has none or the user may not see the kiosk.
  func name(of kiosk: KioskID) throws(DatabaseError) -> String? {
    try rows("SELECT name FROM own WHERE kiosk = $2", [kiosk.text]).first?.text(0)
  }

  /// Returns the regions of the given kiosks, without the kiosks that have no region.
  func regions(of kiosks: [KioskID]) throws(DatabaseError) -> [KioskID: String] {
    let rows = try rows(
      "SELECT kiosk, region FROM own WHERE region <> '' AND kiosk = ANY ($2::text[])",
      ["{\(kiosks.map(\.text).joined(separator: ","))}"])
    return Dictionary(rows.compactMap { row in row.kiosk(0).map { ($0, row[1]) } }) { $1 }
  }

  /// Returns rows of region, number of kiosks and number of offline kiosks; then glasses and
  /// out-of-stock orders, each of today and both spans.
  func regions(_ period: ChainPeriod) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT region, count(*), count(*) FILTER (WHERE NOT is_online), sum(g1), sum(g2), sum(g3), sum(o1), sum(o2), sum(o3)
      FROM \(own(with: "juice.sales", [period.sums("glasses"), period.sums("out_of_stock")],
        as: "g1, g2, g3, o1, o2, o3", period)) LEFT JOIN juice.presence USING (kiosk)
      GROUP BY region ORDER BY region = '', region LIMIT 1000
      """)
  }

  /// Returns an SQL expression that joins `own` with the sums of each kiosk. For regions, it looks
  /// up each kiosk separately, because a join would read the whole chain.
  ///
  /// - Parameter key: A column by which the sums of a kiosk are grouped.
  private func own(
    with view: String, _ sums: [String], by key: String? = nil, as columns: String,
    _ period: ChainPeriod
  ) -> String {
    let selected = ([key].compactMap(\.self) + sums).joined(separator: ", ")
    guard isOfRegions else {
      return """
        own LEFT JOIN (
          SELECT kiosk, \(selected) FROM \(view) WHERE \(period.condition) GROUP BY kiosk\(key.map { ", \($0)" } ?? "")
        ) summed (kiosk, \(columns)) USING (kiosk)
        """
    }
    return """
      own LEFT JOIN LATERAL (
        SELECT \(selected) FROM \(view) summed WHERE summed.kiosk = own.kiosk AND \(period.condition)
        \(key.map { "GROUP BY \($0)" } ?? "")
      ) summed (\(columns)) ON true
      """
  }

  /// Returns rows of region, currency, and takings of today and both spans.
  func takings(_ period: ChainPeriod) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT region, currency, a1, a2, a3 FROM (
        SELECT region, currency, sum(a1) AS a1, sum(a2) AS a2, sum(a3) AS a3,
          row_number() OVER (PARTITION BY region ORDER BY count(*) DESC, currency) AS number
        FROM \(own(with: "juice.sold", [period.sums("amount")], by: "currency", as: "currency, a1, a2, a3", period))
        WHERE currency IS NOT NULL GROUP BY region, currency
      ) money WHERE number <= \(Self.maximumCurrencies) ORDER BY region, currency
      """)
  }

  /// An SQL expression that selects the kiosks with `$2` in their id, name or place: those of the
  /// region `$3`, or of all regions if `$3` is NULL.
  private static let matching = """
    own WHERE strpos(lower(concat_ws(' ', kiosk, name, place)), lower($2)) > 0
      AND ($3::text IS NULL OR region = $3)
    """

  func count(matching text: String, in region: String?) throws(DatabaseError) -> Int {
    try count("SELECT count(*) FROM \(Self.matching)", [text, region])
  }

  /// Returns rows of kiosk, region, name, place, online state and time of its last change; then
  /// glasses and out-of-stock orders, each of today and both spans.
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

  /// Returns the row of `kiosks(matching:in:_:_:)` for one kiosk, with the time of the last receipt
  /// of an event, or `nil` if the kiosk does not exist or the user may not see it.
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

  /// Returns rows of kiosk, currency, and takings of today and both spans.
  func takings(
    of kiosks: [KioskID], _ period: ChainPeriod
  ) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT kiosk, currency, a1, a2, a3 FROM (
        SELECT kiosk, currency, \(period.sums("amount")),
          row_number() OVER (PARTITION BY kiosk ORDER BY count(*) DESC, currency)
        FROM own JOIN juice.sold USING (kiosk)
        WHERE kiosk = ANY ($2::text[]) AND \(period.condition) GROUP BY kiosk, currency
      ) money (kiosk, currency, a1, a2, a3, number)
      WHERE number <= \(Self.maximumCurrencies) ORDER BY kiosk, currency
      """, ["{\(kiosks.map(\.text).joined(separator: ","))}"])
  }

  /// Returns rows of juice, glasses and out-of-stock orders, each of today and both spans.
  func juices(of kiosk: KioskID, _ period: ChainPeriod) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT juice, \(period.sums("glasses")), \(period.sums("out_of_stock"))
      FROM own JOIN juice.sales USING (kiosk) WHERE kiosk = $2 AND \(period.condition) AND juice <> ''
      GROUP BY juice ORDER BY 3 DESC, 2 DESC, juice LIMIT 100
      """, [kiosk.text])
  }

  /// Returns the latest 20 entries of a kiosk's latest ledger, without those of the status
  /// `sensor_hour`: rows of time, status, source, juice, quantity, reason, amount and currency.
  func entries(of kiosk: KioskID) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT \(Self.milliseconds("at")), status, source, juice, quantity, reason, amount, currency
      FROM (
        SELECT kiosk, epoch FROM own JOIN juice.ledger USING (kiosk) WHERE kiosk = $2
        ORDER BY last_received DESC, epoch DESC LIMIT 1
      ) newest JOIN juice.event USING (kiosk, epoch)
      WHERE status <> 'sensor_hour' ORDER BY seq DESC LIMIT 20
      """, [kiosk.text])
  }

  /// Returns those of the latest 20 rollouts that include a kiosk that the user may see: rows of
  /// version, state, region, and the times of start and last change; then the numbers of these
  /// kiosks with the results `taken`, `refused`, `silent`, `waiting` and `unsent`.
  func rollouts() throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT version, state, rollout.region, \(Self.milliseconds("began")), \(Self.milliseconds("changed")),
        count(*) FILTER (WHERE result = 'taken'), count(*) FILTER (WHERE result = 'refused'),
        count(*) FILTER (WHERE result = 'silent'), count(*) FILTER (WHERE result IN ('waiting', 'lost')),
        count(*) FILTER (WHERE result = 'unsent')
      FROM (SELECT * FROM juice.rollout ORDER BY version DESC LIMIT 20) rollout
        JOIN juice.rollout_result USING (version) JOIN own USING (kiosk)
      GROUP BY version, state, rollout.region, began, changed ORDER BY version DESC
      """)
  }

  /// Returns at most 100 kiosks where the latest rollout failed, as rows of kiosk, name, place,
  /// region and the text with which the kiosk refused the menu, or NULL if the kiosk is silent.
  func failures() throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT kiosk, name, place, region, detail FROM own JOIN juice.rollout_result USING (kiosk)
      WHERE version = (SELECT max(version) FROM juice.rollout) AND result IN ('refused', 'silent')
      ORDER BY kiosk LIMIT 100
      """)
  }

  /// Returns the time up to which all entries are summed up, the number of days that cannot be
  /// summed up, and the time of the latest message of a kiosk if the archive receives nothing.
  func summedUp() throws(DatabaseError) -> Row? {
    try rows(
      """
      SELECT \(Self.milliseconds("until")), failed, (
        SELECT \(Self.milliseconds("received")) FROM juice.archive_status, juice.reception
        WHERE connected = 0 OR silent_seconds > 270)
      FROM juice.summed_up
      """
    ).first
  }
}
