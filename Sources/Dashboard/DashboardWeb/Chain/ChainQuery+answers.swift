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

extension ListSlice {
  fileprivate var limit: String { "LIMIT \(Self.length) OFFSET \(start)" }
}

/// A kind of problem with kiosks that the archive detects and that needs a person.
enum ChainIssue: String, CaseIterable, Sendable {
  case soldOut = "sold-out"
  case missing, conflicts
  case sharedIDs = "shared-ids"
  case clocks, quarantine
  case overQuota = "over-quota"
  case unlisted
  case ownMenus = "own-menus"

  /// An SQL query with the columns `kiosk`, `what`, `low` and `high` (the first and the last
  /// `seq`), `amount` (entries, seconds or repetitions) and `at`. Columns without a meaning for the
  /// issue are NULL.
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
    case .quarantine:
      // A topic without a kiosk has no row in `own`: a user of a region does not see it.
      """
      SELECT coalesce(substring(topic FROM '/([A-Za-z0-9_-]{1,64})/(?:events|status|health|menu/|replay/)'), '') AS kiosk,
        topic || ': ' || reason AS what, NULL::bigint AS low, NULL::bigint AS high, times AS amount, latest AS at
      FROM juice.quarantine
      """
    case .overQuota:
      """
      SELECT kiosk, quota AS what, NULL::bigint AS low, NULL::bigint AS high, refused AS amount, since AS at
      FROM juice.over_quota WHERE until > now()
      """
    case .unlisted:
      """
      SELECT kiosk, NULL::text AS what, NULL::bigint AS low, NULL::bigint AS high, entries AS amount, last_received AS at
      FROM juice.unlisted
      """
    case .ownMenus:
      """
      SELECT kiosk, detail AS what, NULL::bigint AS low, NULL::bigint AS high, NULL::bigint AS amount, since AS at
      FROM juice.own_menu
      """
    }
  }

  /// Whether it concerns kiosks that are not listed, too.
  fileprivate var isOfAnybody: Bool {
    switch self {
    case .quarantine, .overQuota, .unlisted: true
    case .soldOut, .missing, .conflicts, .sharedIDs, .clocks, .ownMenus: false
    }
  }

  fileprivate var order: String {
    switch self {
    case .soldOut, .missing, .ownMenus: "at, kiosk, what, high"
    case .conflicts, .sharedIDs, .quarantine, .overQuota, .unlisted: "at DESC, kiosk, what"
    case .clocks: "amount DESC, kiosk, at"
    }
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

  /// Returns the number of rows of an issue.
  ///
  /// - Parameter kiosk: The kiosk whose rows count, or `nil` for all kiosks.
  func count(of issue: ChainIssue, at kiosk: KioskID? = nil) throws(DatabaseError) -> Int {
    try count("SELECT count(*) FROM \(found(issue, at: kiosk))", Self.value(kiosk))
  }

  /// Returns rows of kiosk, region, name and place, followed by the other columns of `view`.
  func rows(
    of issue: ChainIssue, _ slice: ListSlice, at kiosk: KioskID? = nil
  ) throws(DatabaseError) -> [Row] {
    try rows(
      """
      SELECT kiosk, region, name, place, what, low, high, amount, \(Self.milliseconds("at"))
      FROM \(found(issue, at: kiosk)) ORDER BY \(issue.order) \(slice.limit)
      """, Self.value(kiosk))
  }

  /// Returns an SQL expression that joins the rows of an issue with `own`.
  ///
  /// For a region, it looks up each kiosk separately: most views group by kiosk, and would compute
  /// the whole chain before a join. The table `quarantine` has no index on kiosks.
  private func found(_ issue: ChainIssue, at kiosk: KioskID?) -> String {
    let condition = kiosk == nil ? "true" : "kiosk = $2"
    guard isOfRegions, issue != .quarantine else {
      let join = isOfRegions || !issue.isOfAnybody ? "JOIN" : "LEFT JOIN"
      return "(\(issue.view)) issue \(join) own USING (kiosk) WHERE \(condition)"
    }
    return """
      own CROSS JOIN LATERAL (
        SELECT what, low, high, amount, at FROM (\(issue.view)) issue WHERE issue.kiosk = own.kiosk OFFSET 0
      ) issue WHERE \(condition)
      """
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

  private static func value(_ kiosk: KioskID?) -> [String?] { kiosk.map { [$0.text] } ?? [] }

  private static func milliseconds(_ time: String) -> String {
    "(extract(epoch FROM \(time)) * 1000)::bigint"
  }
}
