package import JuiceDomain
import KioskCore
package import KioskProtocol
package import Ledger
package import TimeZones

/// The sales of the last days, by hour of local time.
///
/// The history is a summary of the ledger in memory. `read` reads the ledger once, one page per
/// call; `add` adds each entry that is committed later. Create a new history when the day changes.
/// Its size depends on the menu, not on the number of sales.
package struct SalesHistory: Sendable {
  let wallClock: WallClock
  let menu: Menu
  /// The local day on which the history was created, counted from 1970-01-01.
  package let today: Int
  private(set) var hours: [Int: Hour] = [:]
  /// The latest entries that `HistoryReport` contains, newest first.
  private(set) var services: [LedgerEntry] = []
  /// The earliest time of a known entry of these days, or `nil` if none is known.
  private(set) var beginning: Timestamp?
  /// The `seq` of the last entry that `read` has still to read, or 0 if there is none.
  private var unread: Int
  /// The number of days in the history, including today.
  private let dayCount: Int
  /// The time of the last service command if it closed the kiosk, otherwise `nil`.
  private(set) var closedAt: Timestamp?
  /// The time of the first known opening or closing, or `nil` if none is known.
  private var switchedAt: Timestamp?

  struct Hour: Sendable {
    var sales = SalesReport.Tally()
    var used: FruitAmounts = [:]
    /// Fruit added by restocks, and as initial stock, less expired and removed fruit.
    var added: FruitAmounts = [:]
    /// The fraction of the hour in which the kiosk was closed by a service command, from 0 to 1.
    var closed = 0.0
  }

  /// Creates an empty history.
  ///
  /// - Parameters:
  ///   - seq: The last entry to read from the ledger. Add later entries with `add`.
  ///   - dayCount: The number of days, including today.
  package init(
    menu: Menu, wallClock: WallClock, through seq: Int, at now: Timestamp,
    dayCount: Int = Self.dayCount
  ) {
    self.menu = menu
    self.wallClock = wallClock
    today = wallClock.day(at: now)
    unread = seq
    self.dayCount = dayCount
  }

  /// Whether `read` has read all entries of the days in the history.
  package var isComplete: Bool { unread == 0 }

  /// The number of days that the forecast reads, plus 1 for today.
  package static let dayCount = HourlyDemand.memory / 24 + 1

  var days: ClosedRange<Int> { today - dayCount + 1...today }

  // MARK: Reading the ledger

  /// Maximum number of entries in a page. Reading a page takes 4 ms.
  static let page = 500

  /// Reads the next page, from the newest entries to the oldest.
  package mutating func read(_ ledger: KioskLedger) throws(LedgerError) {
    guard !isComplete else { return }
    let activity = try ledger.activity(through: unread, limit: Self.page, since: start)
    unread = activity.next
    if let first = activity.span?.lowerBound { begin(at: first) }
    for orders in activity.orders {
      count(
        orders.status, of: orders.juice, orders: orders.count, glasses: orders.glasses,
        for: orders.amount, in: wallClock.hour(at: orders.at))
    }
    for used in activity.used {
      count([used.fruit: used.amount], as: \.used, in: wallClock.hour(at: used.at))
    }
    for added in activity.added {
      count([added.fruit: added.amount], as: \.added, in: wallClock.hour(at: added.at))
    }
    for removed in activity.removals {
      count(removed.removal, removed.cost, in: wallClock.hour(at: removed.at))
    }
    for service in activity.switches {
      if service.state == .closed {
        if let switchedAt { close(from: service.at, to: switchedAt) } else { closedAt = service.at }
      }
      switchedAt = service.at
    }
    services += activity.services.prefix(HistoryReport.limit - services.count)
  }

  // MARK: Adding entries

  /// Adds an entry that was committed after the entries that `read` reads.
  package mutating func add(_ entry: LedgerEntry) {
    begin(at: entry.at)
    let hour = wallClock.hour(at: entry.at)
    switch entry.outcome {
    case .ready(let order, let used, _):
      count(
        .ready, of: order.juice, orders: 1, glasses: order.quantity, for: entry.amount, in: hour)
      count(used, as: \.used, in: hour)
    case .accepted(_, let used, _, _, _), .awaitingPayment(_, let used, _, _, _):
      count(used, as: \.used, in: hour)
    case .decided(_, _, let used):
      count(used, as: \.used, in: hour)
      serve(entry)
    case .made(let end):
      count(
        .made, of: end.order.juice, orders: 1, glasses: end.order.quantity, for: entry.amount,
        in: hour)
    case .failed(let end, _, let changes), .returned(let end, _, let changes):
      count(.failed, of: end.order.juice, orders: 1, glasses: 0, for: entry.amount, in: hour)
      count(changes.times(-1), as: \.used, in: hour)
    case .outOfStock(let order, _):
      count(.outOfStock, of: order.juice, orders: 1, glasses: 0, in: hour)
    case .rejected(_, let order) where entry.source?.kind == .order:
      count(.rejected, of: order?.juice, orders: 1, glasses: 0, in: hour)
    case .restocked, .expired, .removed, .sensor:
      // Removed fruit was not used by a juice: it counts as a negative restock.
      count(entry.changes, as: \.added, in: hour)
      if let removal = entry.outcome.removal { count(removal, entry.amount, in: hour) }
      if entry.status != .sensorHour { serve(entry) }
    case .opened(let amounts):
      count(amounts, as: \.added, in: hour)
    case .service(let state):
      if let closedAt { close(from: closedAt, to: entry.at) }
      closedAt = state == .closed ? entry.at : nil
      switchedAt = switchedAt ?? entry.at
      serve(entry)
    case .payment(let step)
    where step.kind == .refunded || entry.source != nil && step.machine == nil:
      serve(entry)
    case .total: serve(entry)
    case .program(let step):
      count(step.changes.times(-1), as: \.used, in: hour)
      if step.kind != .due { serve(entry) }
    case .rejected, .payment:
      break
    }
  }

  private mutating func serve(_ entry: LedgerEntry) {
    services.insert(entry, at: 0)
    services = Array(services.prefix(HistoryReport.limit))
  }

  /// A time not later than the start of the first day: each UTC offset is shorter than a day.
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
    hours[hour, default: Hour()].sales.count(
      status, of: juice, orders: orders, glasses: glasses, for: amount, on: menu)
  }

  private mutating func count(_ removal: Removal, _ cost: Money?, in hour: Int) {
    guard days.contains(WallClock.day(of: hour)) else { return }
    hours[hour, default: Hour()].sales.waste.add(
      removal.amounts, removal.reason, cost: cost.map { [$0] } ?? [])
  }

  private mutating func count(
    _ amounts: FruitAmounts, as kind: WritableKeyPath<Hour, FruitAmounts>, in hour: Int
  ) {
    guard days.contains(WallClock.day(of: hour)) else { return }
    hours[hour, default: Hour()][keyPath: kind] += amounts
  }

  /// Counts the time from `start` to `end` as closed.
  mutating func close(from start: Timestamp, to end: Timestamp) {
    let span = WallSpan(start, end, on: wallClock)
    let first = max(span.hours.lowerBound, days.lowerBound * 24)
    for hour in first..<max(first, min(span.hours.upperBound, days.upperBound * 24 + 23) + 1) {
      hours[hour, default: Hour()].closed += span.share(of: hour)
    }
  }
}

extension SalesReport.Tally {
  /// Counts orders that ended with a status.
  ///
  /// - Parameters:
  ///   - glasses: The number of glasses of orders that were made.
  ///   - amount: The price of the glasses that were made, also before a failure, or `nil` without prices.
  mutating func count(
    _ status: LedgerEntry.Status, of juice: Juice.ID?, orders: Int, glasses: Int,
    for amount: Money?, on menu: Menu
  ) {
    switch (status, juice) {
    case (.ready, let juice?), (.made, let juice?):
      made[juice, default: 0] += glasses
      if let amount { takings.add(amount, for: juice) }
    case (.failed, let juice?):
      if let amount { takings.add(amount, for: juice) }
    case (.outOfStock, let juice?): outOfStock[juice, default: 0] += orders
    case (.rejected, let juice?) where menu.juice(juice) != nil:
      rejected[juice, default: 0] += orders
    case (.rejected, _): unnamed += orders
    default: break
    }
  }
}
