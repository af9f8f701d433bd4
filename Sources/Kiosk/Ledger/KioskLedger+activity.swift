import GRDB
package import JuiceDomain
import KioskCore
package import KioskProtocol

extension KioskLedger {
  /// Sums over a page of entries, computed in the database.
  package struct Activity: Hashable, Sendable {
    /// Orders made at least in part, out of stock or rejected, by quarter of an hour, juice, status and currency.
    package var orders: [Orders] = []
    /// Fruit used by orders and programs, less returned fruit, by quarter of an hour.
    package var used: [Amount] = []
    /// Fruit added by restocks and as initial stock, less expired and removed fruit, by
    /// quarter of an hour.
    package var added: [Amount] = []
    /// The removals of fruit, each with its corrected time.
    package var removals: [Removed] = []
    /// All openings and closings, newest first.
    package var switches: [Switch] = []
    /// The latest entries that `HistoryReport` contains, newest first, with their uncorrected times.
    package var services: [LedgerEntry] = []
    /// The times of the earliest and the latest entry, or `nil` if none is in the requested time.
    package var span: ClosedRange<Timestamp>?
    /// The `seq` of the entry before the page, or 0 if the page begins with the first entry.
    package var before: Int
    /// Whether the page has as many entries as requested, or begins with the first entry.
    package var isWhole = true
    /// The correction of the entries' times, in milliseconds.
    package var step: Int64 = 0

    /// The last entry that is still to be read, or 0 if all earlier entries are too old.
    ///
    /// Entries with a wrong time fill less than a page: if a whole page is too old, so are all earlier entries.
    package var next: Int { span == nil && isWhole ? 0 : before }

    package init(before: Int) { self.before = before }

    package struct Orders: Hashable, Sendable {
      /// The start of the quarter of an hour.
      package let at: Timestamp
      package let status: LedgerEntry.Status
      package let juice: Juice.ID?
      package let count: Int
      /// The number of glasses of orders that were made completely; otherwise 0.
      package let glasses: Int
      /// The sum of the prices in one currency, or `nil` for orders without a price.
      package let amount: Money?

      package init(
        at: Timestamp, status: LedgerEntry.Status, juice: Juice.ID?, count: Int, glasses: Int,
        amount: Money? = nil
      ) {
        self.at = at
        self.status = status
        self.juice = juice
        self.count = count
        self.glasses = glasses
        self.amount = amount
      }
    }

    package struct Switch: Hashable, Sendable {
      package let at: Timestamp
      package let state: ServiceState

      package init(at: Timestamp, state: ServiceState) {
        self.at = at
        self.state = state
      }
    }

    package struct Removed: Hashable, Sendable {
      package let at: Timestamp
      package let removal: Removal
      package let cost: Money?
    }

    package struct Amount: Hashable, Sendable {
      package let at: Timestamp
      package let fruit: Fruit.ID
      package let amount: Int

      package init(at: Timestamp, fruit: Fruit.ID, amount: Int) {
        self.at = at
        self.fruit = fruit
        self.amount = amount
      }
    }
  }

  /// Returns sums over one page of entries. A query over a whole ledger would delay orders.
  ///
  /// The query groups the sums by quarters of an hour, because UTC offsets are multiples of 15
  /// minutes. The caller assigns the sums to hours and days of a time zone.
  ///
  /// If the clock was set while the kiosk ran, the query corrects the times of the earlier entries
  /// of that process by the change. All entries of a page have the same correction, so a page may
  /// be shorter than `limit`.
  ///
  /// - Parameters:
  ///   - seq: The last entry of the page.
  ///   - limit: The maximum number of entries.
  ///   - start: The start of the requested time. Earlier entries are ignored.
  package func activity(
    through seq: Int, limit: Int, since start: Timestamp
  ) throws(LedgerError) -> Activity {
    try reading { database in
      let clock = try database.rows(Self.clock, [seq]).first
      let (step, end) = (clock?[0] as Int64? ?? 0, clock?[1] as Int? ?? 0)
      var activity = Activity(before: max(0, end, seq - limit))
      activity.isWhole = activity.before == max(0, seq - limit)
      activity.step = step
      let page: StatementArguments = [activity.before, seq, start.milliseconds, step]
      let times = try database.rows(
        "SELECT MIN(\(Self.time)), MAX(\(Self.time)) FROM entry WHERE \(Self.page)", page
      ).first
      if let first = times?[0] as Int64?, let last = times?[1] as Int64? {
        activity.span = Timestamp(milliseconds: first)...Timestamp(milliseconds: last)
      }
      for row in try database.rows(Self.ordersAndUse, page) {
        if let orders = Activity.Orders(row) {
          activity.orders.append(orders)
        } else if let amount = Activity.Amount(row) {
          activity.used.append(amount)
        }
      }
      activity.added = try database.rows(Self.added, page).compactMap(Activity.Amount.init)
      activity.removals = try database.rows(Self.removals, page).compactMap { row in
        let entry = try LedgerRow(row).entry
        guard let removal = entry.outcome.removal else { return nil }
        return Activity.Removed(
          at: Timestamp(milliseconds: row["time"]), removal: removal, cost: entry.amount)
      }
      activity.switches = try database.rows(Self.switches, page).compactMap { row in
        ServiceState(rawValue: row["status"]).map {
          Activity.Switch(at: Timestamp(milliseconds: row["at"]), state: $0)
        }
      }
      activity.services = try database.rows(Self.services, page).map { try LedgerRow($0).entry }
      return activity
    }
  }

  // Selects the correction of an entry's time, and the last earlier entry with another correction.
  private static let clock = """
    SELECT (SELECT SUM(step) FROM clock WHERE first <= ?1 AND last >= ?1),
      (SELECT MAX(entry) FROM (SELECT first - 1 AS entry FROM clock UNION SELECT last FROM clock)
        WHERE entry < ?1)
    """

  private static let time = "at + ?4"
  private static let page = "seq > ?1 AND seq <= ?2 AND \(time) >= ?3"
  private static let quarter = "(\(time)) / 900000 * 900000"

  // Selects the sums of orders, and then those of fruit, which have no status. Each event is read once. A rejected
  // order may contain any quantity, so only the quantities of made glasses are added up.
  private static let ordersAndUse = """
    WITH part AS MATERIALIZED (
      SELECT \(quarter) AS quarter, status, juice, currency, changes, COUNT(*) AS count,
        SUM(quantity) FILTER (WHERE status IN ('ready', 'made')) AS glasses, SUM(amount) AS amount
      FROM log
      WHERE \(page) AND (status IN ('ready', 'made', 'out_of_stock', 'accepted', 'awaiting_payment', 'again',
          'failed', 'returned', 'program_requested', 'program_failed')
        OR (status = 'rejected' AND source GLOB 'order/*'))
      GROUP BY quarter, status, juice, currency, changes)
    SELECT quarter, status, juice, currency, SUM(count) AS count, SUM(glasses) AS glasses,
      SUM(amount) AS amount, NULL AS fruit
    FROM part
    WHERE status IN ('ready', 'made', 'out_of_stock', 'rejected') OR (status = 'failed' AND amount IS NOT NULL)
    GROUP BY quarter, status, juice, currency
    UNION ALL
    SELECT quarter, NULL, NULL, NULL, NULL, NULL, SUM(-count * value), key
    FROM part, json_each(changes)
    WHERE status NOT IN ('made', 'out_of_stock', 'rejected')
    GROUP BY quarter, key
    """

  private static let added = """
    SELECT \(quarter) AS quarter, key AS fruit, SUM(value) AS amount
    FROM log, json_each(changes)
    WHERE \(page) AND status IN ('restocked', 'opened', 'expired', 'removed', 'sensor_discard')
    GROUP BY quarter, fruit
    """

  private static let removals = """
    SELECT *, \(time) AS time FROM entry WHERE \(page) AND status IN ('removed', 'sensor_discard')
    """

  private static let switches = """
    SELECT \(time) AS at, status FROM entry WHERE \(page) AND status IN ('open', 'closed') ORDER BY seq DESC
    """

  private static let services = """
    SELECT * FROM log WHERE \(page) AND status IN
      ('restocked', 'expired', 'removed', 'open', 'closed', 'poured', 'again', 'give_back', 'total',
        'program_requested', 'program_done', 'program_failed', 'sensor_alarm', 'sensor_blocked',
        'sensor_silent', 'sensor_gap', 'sensor_ok', 'sensor_discard', 'sensor_release', 'refunded')
      OR \(page) AND charge IS NOT NULL AND source IS NOT NULL AND machine IS NULL
        AND status <> 'awaiting_payment'
    ORDER BY seq DESC LIMIT \(HistoryReport.limit)
    """
}

extension KioskLedger.Activity.Orders {
  fileprivate init?(_ row: Row) {
    guard let status = (row["status"] as String?).flatMap(LedgerEntry.Status.init) else {
      return nil
    }
    self.init(
      at: Timestamp(milliseconds: row["quarter"]), status: status,
      juice: (row["juice"] as String?).flatMap { Juice.ID($0) }, count: row["count"],
      glasses: row["glasses"] ?? 0, amount: Money(row))
  }
}

extension KioskLedger.Activity.Amount {
  fileprivate init?(_ row: Row) {
    guard let fruit = (row["fruit"] as String?).flatMap({ Fruit.ID($0) }) else { return nil }
    self.init(
      at: Timestamp(milliseconds: row["quarter"]), fruit: fruit, amount: row["amount"])
  }
}
