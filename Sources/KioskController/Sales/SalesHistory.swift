package import JuiceDomain
package import KioskCore
package import KioskMessages
package import Ledger

/// What the orders of the last days came to, hour by hour on the kiosk's wall.
///
/// It is what the ledger says, kept in memory: read once, a page at a time, and from then on each
/// committed entry is added. When the day changes, whatever the reason, it is read anew. Its size
/// depends on the menu, not on how much was sold.
package struct SalesHistory: Sendable {
  let wall: WallClock
  let menu: Menu
  /// Counted from 1970-01-01.
  package let today: Int
  private(set) var hours: [Int: Hour] = [:]
  /// The last restocks, openings, closings and decisions about jobs, the latest first.
  private(set) var services: [LedgerEntry] = []
  /// The first thing that is known; `nil` if nothing is.
  private(set) var beginning: Timestamp?
  /// The last entry that is still to be read.
  private var unread: Int

  struct Hour: Sendable {
    var sales = SalesReport.Tally()
    var used: FruitAmounts = [:]

    mutating func use(_ amounts: FruitAmounts) {
      for (fruit, amount) in amounts { used[fruit] = (used[fruit] ?? 0) + amount }
    }
  }

  /// - Parameter seq: the last entry of the ledger; later ones are to be added.
  package init(menu: Menu, wall: WallClock, through seq: Int, at now: Timestamp) {
    self.menu = menu
    self.wall = wall
    today = wall.day(at: now)
    unread = seq
  }

  /// Whether all that the ledger holds of these days has been read.
  package var isComplete: Bool { unread == 0 }

  var days: ClosedRange<Int> { today - SalesReport.dayCount + 1...today }

  // MARK: Reading the ledger

  /// So many entries are read at once: what takes a millisecond.
  private static let page = 500

  /// Reads on, from the newest entries to the oldest.
  package mutating func read(_ ledger: KioskLedger) throws(LedgerError) {
    guard !isComplete else { return }
    let activity = try ledger.activity(through: unread, limit: Self.page, since: start)
    // Clocks jump, but not for a whole page: what lies before one that is too old is too old.
    unread = activity.span == nil ? 0 : activity.before
    if let first = activity.span?.lowerBound { begin(at: first) }
    for orders in activity.orders {
      count(
        orders.status, of: orders.juice, orders: orders.count, glasses: orders.glasses,
        for: orders.amount, in: wall.hour(at: orders.at))
    }
    for used in activity.used { use([used.fruit: used.amount], in: wall.hour(at: used.at)) }
    services += activity.services.prefix(HistoryReport.limit - services.count)
  }

  // MARK: Adding to it

  /// Adds an entry that was committed after those which are read.
  package mutating func add(_ entry: LedgerEntry) {
    begin(at: entry.at)
    let hour = wall.hour(at: entry.at)
    switch entry.outcome {
    case .ready(let order, let used, _):
      count(
        .ready, of: order.juice, orders: 1, glasses: order.quantity, for: entry.amount, in: hour)
      use(used, in: hour)
    case .accepted(_, let used, _, _, _):
      use(used, in: hour)
    case .decided(_, _, let used):
      use(used, in: hour)
      serve(entry)
    case .made(let end):
      count(
        .made, of: end.order.juice, orders: 1, glasses: end.order.quantity, for: entry.amount,
        in: hour)
    case .failed(_, _, let changes), .returned(_, _, let changes):
      use(changes.times(-1), in: hour)
    case .outOfStock(let order, _):
      count(.outOfStock, of: order.juice, orders: 1, glasses: 0, in: hour)
    case .rejected(_, let order) where entry.source?.kind == .order:
      count(.rejected, of: order?.juice, orders: 1, glasses: 0, in: hour)
    case .restocked, .service:
      serve(entry)
    case .rejected, .opened:
      break
    }
  }

  private mutating func serve(_ entry: LedgerEntry) {
    services.insert(entry, at: 0)
    services = Array(services.prefix(HistoryReport.limit))
  }

  /// Not later than the first of the days: a day is longer than any time zone is away from UTC.
  private var start: Timestamp {
    Timestamp(milliseconds: Int64(days.lowerBound - 1) * 86_400_000)
  }

  private mutating func begin(at time: Timestamp) {
    guard time >= start else { return }
    beginning = min(beginning ?? time, time)
  }

  private mutating func count(
    _ status: LedgerEntry.Status, of juice: Juice.ID?, orders: Int, glasses: Int,
    for amount: Money? = nil, in hour: Int
  ) {
    guard days.contains(WallClock.day(of: hour)) else { return }
    switch (status, juice) {
    case (.ready, let juice?), (.made, let juice?):
      hours[hour, default: Hour()].sales.made[juice, default: 0] += glasses
      if let amount { hours[hour, default: Hour()].sales.takings.add(amount, for: juice) }
    case (.outOfStock, let juice?):
      hours[hour, default: Hour()].sales.outOfStock[juice, default: 0] += orders
    case (.rejected, let juice?) where menu.juice(juice) != nil:
      hours[hour, default: Hour()].sales.rejected[juice, default: 0] += orders
    case (.rejected, _): hours[hour, default: Hour()].sales.unnamed += orders
    default: break
    }
  }

  private mutating func use(_ amounts: FruitAmounts, in hour: Int) {
    guard days.contains(WallClock.day(of: hour)) else { return }
    hours[hour, default: Hour()].use(amounts)
  }
}
