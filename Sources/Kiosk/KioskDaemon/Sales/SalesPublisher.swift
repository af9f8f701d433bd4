import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

/// What the kiosk tells of its sales, and when.
///
/// Nobody waits for it: the ledger is read once the kiosk is online, a page at a time between orders,
/// and what changes is told together with what changes soon after.
struct SalesPublisher: Sendable {
  private let settings: KioskSettings
  private var history: SalesHistory?
  /// What was told on this connection.
  private var lastPublished: (sales: SalesReport, forecast: ForecastReport, history: HistoryReport)?
  private var publishedAt: Timestamp?
  private var hasChanged = true
  /// The last entry.
  private var addedAt: Timestamp?
  /// A page of the ledger.
  private var readAt: Timestamp?

  /// A page is read once no order has come for this long, since it would hold up the next one,
  private static let idleDelay = Duration.milliseconds(50)
  /// or this long after the last page, so that it is all read some day.
  private static let longestPause = Duration.milliseconds(250)
  /// What is new is told no more often.
  private static let minimumInterval = Duration.seconds(2)
  /// Time itself changes what is usual by now, and when a fruit will be gone.
  private static let maximumAge = Duration.seconds(60)

  init(settings: KioskSettings) { self.settings = settings }

  mutating func add(_ entry: LedgerEntry) {
    history?.add(entry)
    hasChanged = true
    addedAt = entry.at
  }

  /// What is known may not be what the ledger holds.
  mutating func ledgerFailed() { history = nil }

  /// Nobody may know what was told.
  mutating func reset() { (lastPublished, publishedAt, hasChanged) = (nil, nil, true) }

  /// Until something is to be read or told.
  func wait(at now: Timestamp) -> Duration {
    guard history?.isComplete == true else { return pause(at: now) }
    guard let publishedAt else { return .zero }
    let interval = hasChanged ? Self.minimumInterval : Self.maximumAge
    return now.isWithin(interval, of: publishedAt) ? interval - now.since(publishedAt) : .zero
  }

  /// While the ledger is not read yet.
  private func pause(at now: Timestamp) -> Duration {
    guard let addedAt, now.isWithin(Self.idleDelay, of: addedAt), let readAt,
      now.isWithin(Self.longestPause, of: readAt)
    else { return .zero }
    return min(Self.idleDelay - now.since(addedAt), Self.longestPause - now.since(readAt))
  }

  /// What is to be told now.
  ///
  /// - Parameter core: what the ledger's last entry has come to.
  mutating func due(
    at now: Timestamp, reading ledger: KioskLedger, core: Kiosk
  ) throws(LedgerError) -> [Message] {
    guard wait(at: now) == .zero else { return [] }
    if history?.today != settings.wallClock.day(at: now) {
      history = SalesHistory(
        menu: settings.menu, wallClock: settings.wallClock, through: core.seq, at: now)
    }
    try history?.read(ledger)
    readAt = now
    guard let history, history.isComplete else { return [] }
    let sales = history.report(at: now)
    let forecast = history.forecast(stock: core.stock, at: now)
    // That it is later is no news.
    var before = lastPublished
    before?.sales.at = now
    before?.forecast.at = now
    (lastPublished, publishedAt, hasChanged) = ((sales, forecast, history.lastServices), now, false)
    var messages: [Message] = []
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
}
