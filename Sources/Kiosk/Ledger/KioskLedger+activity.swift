import GRDB
package import JuiceDomain
import KioskCore
package import KioskProtocol

extension KioskLedger {
  /// A page of entries with their corrected times.
  package struct Activity: Hashable, Sendable {
    /// The entries, newest first.
    package var entries: [Dated] = []
    /// The `seq` of the entry before the page, or 0 if the page begins with the first entry.
    package var before: Int
    /// Whether the page has as many entries as requested, or begins with the first entry.
    package var isWhole = true
    /// The correction of the entries' times, in milliseconds.
    package var step: Int64 = 0

    package init(before: Int) { self.before = before }

    /// An entry, and its time corrected by changes of the clock.
    package struct Dated: Hashable, Sendable {
      package let entry: LedgerEntry
      package let at: Timestamp
    }

    /// The times of the earliest and the latest entry, or `nil` if none is in the requested time.
    package var span: ClosedRange<Timestamp>? {
      guard let first = entries.map(\.at).min(), let last = entries.map(\.at).max() else {
        return nil
      }
      return first...last
    }

    /// Orders made at least in part, out of stock or rejected, by quarter of an hour, juice, status
    /// and currency.
    ///
    /// UTC offsets are multiples of 15 minutes, so that the receiver can assign the sums to hours
    /// and days of a time zone.
    package var orders: [Orders] {
      var sums: [Orders.Key: Orders] = [:]
      for dated in entries where dated.entry.isOrder {
        let (entry, quarter) = (dated.entry, dated.at.quarter)
        let key = Orders.Key(
          at: quarter, status: entry.status, juice: entry.outcome.order?.juice,
          currency: entry.amount?.currency)
        // A rejected order may contain any quantity, so only the quantities of made glasses are added up.
        let isMade = entry.status == .ready || entry.status == .made
        let (glasses, amount) = (isMade ? entry.outcome.order?.quantity ?? 0 : 0, entry.amount)
        sums[key, default: Orders(key)].add(glasses, amount)
      }
      return Array(sums.values)
    }

    package struct Orders: Hashable, Sendable {
      /// The start of the quarter of an hour.
      package let at: Timestamp
      package let status: LedgerEntry.Status
      package let juice: Juice.ID?
      package private(set) var count = 0
      /// The number of glasses of orders that were made completely; otherwise 0.
      package private(set) var glasses = 0
      /// The sum of the prices in one currency, or `nil` for orders without a price.
      package private(set) var amount: Money?

      fileprivate struct Key: Hashable {
        let at: Timestamp
        let status: LedgerEntry.Status
        let juice: Juice.ID?
        let currency: Currency?
      }

      fileprivate init(_ key: Key) { (at, status, juice) = (key.at, key.status, key.juice) }

      package init(
        at: Timestamp, status: LedgerEntry.Status, juice: Juice.ID?, count: Int, glasses: Int,
        amount: Money? = nil
      ) {
        (self.at, self.status, self.juice) = (at, status, juice)
        (self.count, self.glasses, self.amount) = (count, glasses, amount)
      }

      fileprivate mutating func add(_ glasses: Int, _ price: Money?) {
        count += 1
        self.glasses = self.glasses &+ glasses
        amount = price.map { Money(units: $0.units &+ (amount?.units ?? 0), $0.currency) }
      }
    }
  }

  /// Returns one page of entries. A query over a whole ledger would delay orders.
  ///
  /// If the clock was set while the kiosk ran, the call corrects the times of the earlier entries
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
      activity.entries = try database.rows(
        Self.page, [activity.before, seq, start.milliseconds, step]
      ).map { row in
        let entry = try LedgerEntry(row)
        return Activity.Dated(
          entry: entry, at: Timestamp(milliseconds: entry.at.milliseconds + step))
      }
      return activity
    }
  }

  // Selects the correction of an entry's time, and the last earlier entry with another correction.
  private static let clock = """
    SELECT (SELECT SUM(step) FROM clock WHERE first <= ?1 AND last >= ?1),
      (SELECT MAX(entry) FROM (SELECT first - 1 AS entry FROM clock UNION SELECT last FROM clock)
        WHERE entry < ?1)
    """

  private static let page = """
    SELECT seq, event FROM entry WHERE seq > ?1 AND seq <= ?2 AND at + ?4 >= ?3 ORDER BY seq DESC
    """
}

extension LedgerEntry {
  /// Whether the entry is the result of an order in the sums of orders.
  fileprivate var isOrder: Bool {
    switch outcome {
    case .ready, .made, .outOfStock: true
    case .failed: amount != nil
    case .rejected: source?.kind == .order
    default: false
    }
  }
}

extension Timestamp {
  /// The start of the quarter of an hour that contains this time.
  var quarter: Timestamp {
    Timestamp(
      milliseconds: milliseconds - milliseconds.flooredQuotient(by: 900_000).remainder)
  }
}
