package import JuiceDomain
package import KioskProtocol
package import Ledger
package import TimeZones

/// The sales of the 13 months before today by day, read from the ledger one page per call.
///
/// Entries that are committed later belong to later days. Create a new calendar when the day changes.
package struct SalesCalendar: Sendable {
  private let menu: Menu
  private let wallClock: WallClock
  /// The days, counted from 1970-01-01.
  private let days: Range<Int>
  private var tallies: [Int64: SalesReport.Tally] = [:]
  /// The `seq` of the last entry that `read` has still to read, or 0 if there is none.
  private var unread: Int

  /// Creates an empty calendar.
  ///
  /// - Parameter seq: The last entry to read from the ledger.
  package init(menu: Menu, wallClock: WallClock, through seq: Int, at now: Timestamp) {
    (self.menu, self.wallClock, unread) = (menu, wallClock, seq)
    let today = wallClock.day(at: now)
    days = today - DailySales.dayCount..<today
  }

  package var isComplete: Bool { unread == 0 }

  /// Reads the next page, from the newest entries to the oldest.
  package mutating func read(_ ledger: KioskLedger) throws(LedgerError) {
    guard !isComplete else { return }
    // One day earlier: each UTC offset is shorter than a day.
    let start = Timestamp(milliseconds: Int64(days.lowerBound - 1) * 86_400_000)
    let activity = try ledger.activity(
      through: unread, limit: SalesHistory.page, since: start)
    unread = activity.next
    for orders in activity.orders where orders.status != .rejected {
      let day = wallClock.day(at: orders.at)
      guard days.contains(day) else { continue }
      tallies[Int64(day), default: SalesReport.Tally()].count(
        orders.status, of: orders.juice, orders: orders.count, glasses: orders.glasses,
        for: orders.amount, on: menu)
    }
  }

  /// Returns the sales, or `nil` if there are none. Of a long menu, the earliest days are omitted.
  package func report(at now: Timestamp) -> DailySales? {
    var known = tallies.filter { !$0.value.isEmpty }
    while true {
      let report = DailySales(
        at: now, timeZone: wallClock.name,
        to: CivilDate(daysSinceEpoch: Int64(days.upperBound - 1)), known)
      guard let report, report.payload.count > DailySales.maximumSize else { return report }
      let middle = (report.from.daysSinceEpoch + report.to.daysSinceEpoch) / 2
      known = known.filter { $0.key > middle }
    }
  }
}
