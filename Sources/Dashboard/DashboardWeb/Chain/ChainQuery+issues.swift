import JuiceDomain
import Postgres

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

  private static func value(_ kiosk: KioskID?) -> [String?] { kiosk.map { [$0.text] } ?? [] }
}
