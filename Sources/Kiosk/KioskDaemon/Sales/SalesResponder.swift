import KioskCore
import KioskProtocol
import Ledger
import MessageBroker
import TimeZones

/// Answers requests for the sales and charges in the ledger and for the record of food safety. Each turn of the
/// loop in `Controller.run` answers one request with one page of sales or of a day of the record. So
/// requests delay an order by the query for one page at most.
struct SalesResponder: Sendable {
  /// Maximum number of queued requests. The kiosk drops further ones; their senders repeat them.
  private static let maximumRequests = 8

  private let settings: KioskSettings
  private var requests: [(sender: Request.ID, request: ReportRequest)] = []

  private enum ReportRequest {
    case sales(SalesRequest)
    case safety(SafetyRequest)
    case charges(ChargesRequest)

    init?(payload: [UInt8]) {
      if let request = try? SafetyRequest(payload: payload) {
        self = .safety(request)
      } else if let request = try? ChargesRequest(payload: payload) {
        self = .charges(request)
      } else if let request = try? SalesRequest(payload: payload) {
        self = .sales(request)
      } else {
        return nil
      }
    }
  }

  init(settings: KioskSettings) { self.settings = settings }

  var isIdle: Bool { requests.isEmpty }

  /// Discards the requests. Called when the connection is lost; the senders repeat their requests.
  mutating func reset() { requests = [] }

  mutating func handle(_ deliveries: [Delivery]) {
    for delivery in deliveries where requests.count < Self.maximumRequests {
      // The broker would deliver a retained request again on each connection.
      guard delivery.excess == nil, !delivery.message.retain,
        let sender = settings.topics.sender(requestingReportOn: delivery.message.topic),
        let request = ReportRequest(payload: delivery.message.payload)
      else { continue }
      requests.append((sender, request))
    }
  }

  /// Returns the answer to the oldest request, and removes the request.
  ///
  /// - Parameter core: The state after the last entry of the ledger.
  mutating func due(
    reading ledger: KioskLedger, core: borrowing Kiosk
  ) throws(LedgerError) -> [Message] {
    guard !requests.isEmpty else { return [] }
    let (sender, oldest) = requests.removeFirst()
    let request: SalesRequest
    switch oldest {
    case .sales(let sales): request = sales
    case .charges(let charges):
      let page = try ledger.charges(before: charges.before, id: charges.id)
      return [
        Message(topic: settings.topics.reportResult(for: sender), payload: page.payload)
      ]
    case .safety(let safety):
      let day = try ledger.safety(
        on: safety.day, after: safety.after, limit: SafetyDay.maximumEntries, id: safety.id,
        settings)
      return [
        Message(topic: settings.topics.reportResult(for: sender), payload: day.payload)
      ]
    }
    let last = min(request.last ?? core.seq, core.seq)
    var page = SalesExtract(
      id: request.id, epoch: core.epoch, last: last, next: nil,
      timeZone: settings.wallClock.name, sums: [])
    if last > 0 {
      let activity = try ledger.activity(
        through: last, limit: SalesExtract.maximumEntries, since: request.since)
      // Entries with a wrong time fill less than a page: if a whole page is too old, so are all earlier entries.
      let isOver = activity.span == nil && activity.isWhole
      page.next = isOver || activity.before == 0 ? nil : activity.before
      page.sums = activity.orders.compactMap(SalesExtract.Sum.init)
      page.money = try ledger.money(after: activity.before, through: last, step: activity.step)
    }
    return [Message(topic: settings.topics.reportResult(for: sender), payload: page.payload)]
  }
}

extension SalesExtract.Sum {
  /// Returns `nil` for orders without a juice: the kiosk has rejected them.
  fileprivate init?(_ orders: KioskLedger.Activity.Orders) {
    guard let juice = orders.juice, let status = Status(rawValue: orders.status.rawValue) else {
      return nil
    }
    self.init(
      at: orders.at, status: status, juice: juice, orders: orders.count, glasses: orders.glasses,
      amount: orders.amount)
  }
}
