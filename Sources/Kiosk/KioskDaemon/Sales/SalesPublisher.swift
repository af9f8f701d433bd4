import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker
import TimeZones

/// Publishes sales reports, forecasts and the history, at a limited rate.
///
/// Once the kiosk is online, the publisher reads the ledger between orders, one page at a time. It
/// combines the changes of two seconds in one publication. The type is noncopyable, because the
/// controller would copy it in each turn, with its reports and its history.
struct SalesPublisher: ~Copyable, Sendable {
  private let settings: KioskSettings
  private var history: SalesHistory?
  /// The earlier days while they are read, otherwise `nil`.
  private var calendar: SalesCalendar?
  /// The message with the earlier days, or `nil` before they are read.
  private var dailySales: Message?
  private var hasNewDailySales = false
  /// The last published reports, or `nil` if all reports must be published.
  private var lastPublished: (sales: SalesReport, forecast: ForecastReport, history: HistoryReport)?
  private var publishedAt: Timestamp?
  private var hasChanged = true
  /// The time of the last entry.
  private var addedAt: Timestamp?
  /// The time at which `due` last read a page or computed the reports.
  private var readAt: Timestamp?

  /// Usual minimum time between the last entry and the reading of a page, because reading delays orders.
  private static let idleDelay = Duration.milliseconds(50)
  /// Time since the last page after which the publisher reads the next page even while orders arrive.
  private static let longestPause = Duration.milliseconds(250)
  /// Minimum time between two publications.
  private static let minimumInterval = Duration.seconds(2)
  /// Maximum time between two computations of the reports. The usual sales until now, and the times at
  /// which fruits are used up, change even without an order.
  private static let maximumAge = Duration.seconds(60)

  init(settings: KioskSettings) { self.settings = settings }

  mutating func add(_ entry: LedgerEntry) {
    history?.add(entry)
    hasChanged = true
    addedAt = entry.at
  }

  /// Discards the history, which may differ from the ledger.
  mutating func ledgerFailed() { (history, calendar) = (nil, nil) }

  /// Discards the history: after a change of the clock, the ledger corrects the times of earlier entries.
  mutating func clockSet() { (history, hasChanged) = (nil, true) }

  /// Makes `due` return all reports, whether they have changed or not.
  ///
  /// - Parameter keepingInterval: Whether the time since the last publication still counts.
  mutating func reset(keepingInterval: Bool = false) {
    (lastPublished, hasChanged, hasNewDailySales) = (nil, true, true)
    if !keepingInterval { publishedAt = nil }
  }

  /// Returns the time until `due` reads a page or computes the reports.
  func wait(at now: Timestamp) -> Duration {
    guard history?.isComplete == true else { return pause(at: now) }
    let wait = wait(untilPublicationAt: now)
    return calendar == nil ? wait : min(wait, pause(at: now))
  }

  private func wait(untilPublicationAt now: Timestamp) -> Duration {
    guard let publishedAt else { return .zero }
    let interval = hasChanged ? Self.minimumInterval : Self.maximumAge
    return now.isWithin(interval, of: publishedAt) ? interval - now.since(publishedAt) : .zero
  }

  /// Returns the time until the next page is to be read.
  private func pause(at now: Timestamp) -> Duration {
    guard let addedAt, now.isWithin(Self.idleDelay, of: addedAt), let readAt,
      now.isWithin(Self.longestPause, of: readAt)
    else { return .zero }
    return min(Self.idleDelay - now.since(addedAt), Self.longestPause - now.since(readAt))
  }

  /// Reads the next page, if one is left, and returns the messages to publish now.
  ///
  /// - Parameter core: The state after the last entry of the ledger.
  mutating func due(
    at now: Timestamp, reading ledger: KioskLedger, core: borrowing Kiosk
  ) throws(LedgerError) -> [Message] {
    guard wait(at: now) == .zero else { return [] }
    if history?.today != settings.wallClock.day(at: now) {
      // A new history, so that all its hours are by the same rules.
      WallClock.refresh()
      history = SalesHistory(
        menu: settings.menu, wallClock: settings.wallClock, through: core.seq, at: now)
      calendar = SalesCalendar(
        menu: settings.menu, wallClock: settings.wallClock, through: core.seq, at: now)
    }
    defer { readAt = now }
    if let history, history.isComplete, wait(untilPublicationAt: now) > .zero {
      try readCalendar(ledger, at: now)
      return newDailySales()
    }
    try history?.read(ledger)
    guard let history, history.isComplete else { return [] }
    let sales = history.report(at: now)
    let forecast = history.forecast(
      stock: core.stock, expires: core.batches.expiries, at: now)
    // A report that differs only in its time has not changed.
    var before = lastPublished
    before?.sales.at = now
    before?.forecast.at = now
    (lastPublished, publishedAt, hasChanged) = ((sales, forecast, history.lastServices), now, false)
    var messages = newDailySales()
    let topics = settings.topics
    if before?.sales != sales { messages.append(topics.retained(topics.sales, sales.payload)) }
    if before?.forecast != forecast {
      messages.append(topics.retained(topics.forecast, forecast.payload))
    }
    if before?.history != history.lastServices {
      messages.append(topics.retained(topics.history, history.lastServices.payload))
    }
    return messages
  }

  /// Reads the next page of the earlier days.
  private mutating func readCalendar(
    _ ledger: KioskLedger, at now: Timestamp
  ) throws(LedgerError) {
    try calendar?.read(ledger)
    guard let calendar, calendar.isComplete else { return }
    let payload = calendar.report(at: now)?.payload ?? []
    dailySales = settings.topics.retained(settings.topics.dailySales, payload)
    (self.calendar, hasNewDailySales) = (nil, true)
  }

  private mutating func newDailySales() -> [Message] {
    guard hasNewDailySales, let dailySales else { return [] }
    hasNewDailySales = false
    return [dailySales]
  }
}
