package import JuiceDomain
package import KioskProtocol

/// What is known of one kiosk; `nil` for what it has not told yet.
package struct KioskState: Sendable, Identifiable {
  package let id: KioskID
  package private(set) var name: LocalizedName?
  package private(set) var place: String?
  package private(set) var status: KioskStatus?
  /// When it went offline; `nil` if that was before anybody listened here.
  package private(set) var offlineSince: Timestamp?
  /// The latest time in its messages.
  package private(set) var lastMessageAt: Timestamp?
  package private(set) var service: ServiceState?
  /// How far its clock is ahead of the one here; negative if it is behind.
  package private(set) var clockLead = Duration.zero
  package private(set) var disk: HostReport.Disk?
  package private(set) var stock: StockReport?
  package private(set) var alerts: [Fruit.ID: StockAlert] = [:]
  package private(set) var machines: [MachineID: MachineReport] = [:]
  package private(set) var menu: MenuReport?
  package private(set) var forecast: ForecastReport?
  package private(set) var soldToday: Int?
  /// Empty where juices have no price.
  package private(set) var takenToday = Takings()
  /// Glasses that are usually sold by this time of the day.
  package private(set) var usuallySold: Double?
  /// The zone of its days, as the IANA database calls it.
  package private(set) var timeZone: String?
  /// Decoded when it is asked for: thirty days of a thousand kiosks are a lot.
  private var salesPayload: [UInt8] = []
  /// The latest first.
  package private(set) var orders = Recent()
  /// Restocks, openings and closings; the latest first.
  package private(set) var services = Recent()

  /// So many machines of one kiosk are kept at most.
  package static let maximumMachines = 20

  init(id: KioskID) { self.id = id }

  /// What people call it: its name, or its id.
  package func title(_ language: Language) -> String { name?[language] ?? id.text }

  package var sales: SalesReport? { try? SalesReport(payload: salesPayload) }

  /// Whether the kiosk is there, as far as anybody can tell.
  package var isOnline: Bool { status == .online }

  /// - Returns: whether it could be read.
  mutating func receive(
    _ topic: ArraySlice<String>, _ payload: [UInt8], menu: MenuReport?, isRetained: Bool,
    at now: Timestamp
  ) -> Bool {
    switch (topic.first, topic.count) {
    case ("status", 1):
      guard let status = KioskStatus(rawValue: text(payload)) else { return false }
      if status == .online {
        offlineSince = nil
      } else if self.status == .online || !isRetained {
        offlineSince = offlineSince ?? now
      }
      self.status = status
    case ("service", 1):
      guard let service = ServiceState(rawValue: text(payload)) else { return false }
      self.service = service
    case ("alert", 2):
      guard let last = topic.last, let fruit = Fruit.ID(last) else { return false }
      let alert = StockAlert(rawValue: text(payload))
      // `nil` clears the alert, which is no news if nobody knew of one.
      guard alerts[fruit] != nil || (alert != nil && alerts.count < 1_000) else { return false }
      alerts[fruit] = alert
    case ("machine", 2):
      guard let last = topic.last, let machine = MachineID(last) else { return false }
      if payload.isEmpty { return machines.removeValue(forKey: machine) != nil }
      guard machines[machine] != nil || machines.count < Self.maximumMachines,
        let report = try? MachineReport(payload: payload)
      else { return false }
      machines[machine] = report
    case ("menu", 1):
      guard let menu else { return false }
      self.menu = menu
    case ("stock", 1):
      guard let stock = try? StockReport(payload: payload) else { return false }
      self.stock = stock
      updateLastMessage(at: stock.at)
    case ("health", 1):
      guard let host = try? HostReport(payload: payload) else { return false }
      // A report that the broker has kept may be old, but not of the future.
      if !isRetained || host.at > now { clockLead = host.at.since(now) }
      disk = host.disk
      updateLastMessage(at: host.at)
    case ("info", 1):
      guard let info = try? KioskInfo(payload: payload) else { return false }
      (name, place) = (info.name, info.place)
      updateLastMessage(at: info.startedAt)
    case ("sales", 1):
      guard let sales = try? SalesReport(payload: payload) else { return false }
      salesPayload = payload
      soldToday = sales.hours.reduce(0) { $0 + $1.tally.glasses }
      takenToday = sales.hours.reduce(into: Takings()) { $0 += $1.tally.takings }
      usuallySold = sales.usual
      timeZone = sales.timeZone
      updateLastMessage(at: sales.at)
    case ("forecast", 1):
      guard let forecast = try? ForecastReport(payload: payload) else { return false }
      self.forecast = forecast
      updateLastMessage(at: forecast.at)
    case ("history", 1):
      guard let history = try? HistoryReport(payload: payload) else { return false }
      for entry in history.entries { _ = services.add(entry) }
    case ("events", 1):
      guard let entry = try? LedgerEntry(payload: payload) else { return false }
      updateLastMessage(at: entry.at)
      switch entry.outcome {
      case .ready, .outOfStock, .rejected(_, order: .some), .made, .failed, .returned:
        return orders.add(entry)
      case .restocked, .service, .decided: return services.add(entry)
      // The machine's report tells of an order that was accepted.
      case .accepted, .opened, .rejected: return false
      }
    default: return false
    }
    return true
  }

  private mutating func updateLastMessage(at time: Timestamp) {
    lastMessageAt = max(lastMessageAt ?? time, time)
  }

  private func text(_ payload: [UInt8]) -> String { String(decoding: payload, as: UTF8.self) }
}

/// The latest entries of a ledger, the latest first. Events come at least once: here each counts once.
package struct Recent: Sendable, RandomAccessCollection {
  package static let limit = 30

  private var entries: [LedgerEntry] = []

  package init() {}

  package var startIndex: Int { 0 }
  package var endIndex: Int { entries.count }
  package subscript(position: Int) -> LedgerEntry { entries[position] }

  /// - Returns: whether it was not there yet.
  package mutating func add(_ entry: LedgerEntry) -> Bool {
    let place = entries.firstIndex { $0.at <= entry.at && $0.seq <= entry.seq } ?? entries.count
    guard place < Self.limit, !entries.contains(entry) else { return false }
    entries.insert(entry, at: place)
    if entries.count > Self.limit { entries.removeLast() }
    return true
  }
}
