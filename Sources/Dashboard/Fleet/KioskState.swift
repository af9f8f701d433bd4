package import JuiceDomain
package import KioskProtocol

/// The state of one kiosk. A published property is `nil` or empty until the dashboard receives it.
@dynamicMemberLookup
package struct KioskState: Sendable, Identifiable {
  package let id: KioskID
  /// The reports from which the kiosk's problems are derived. Their properties are members of the
  /// state, too.
  package private(set) var reports = KioskReports()
  /// The time at which the dashboard received the first message of the kiosk.
  package private(set) var receivedSince: Timestamp?
  package private(set) var name: LocalizedName?
  package private(set) var place: String?
  /// The region that the kiosk publishes, with single spaces between words, or `nil` if none.
  package private(set) var region: String?
  /// The kiosk's own words to customers, or `nil` if there are none.
  package private(set) var notice: LocalizedName?
  /// The language of the kiosk's messages to customers, or `nil` if it is unknown.
  package private(set) var language: Language?
  /// The time at which the dashboard detected that the kiosk went offline, or `nil` if the kiosk is
  /// online or was already offline when the dashboard received its status for the first time.
  package private(set) var offlineSince: Timestamp?
  /// The time at which the kiosk's program started.
  package private(set) var startedAt: Timestamp?
  /// The latest time of a report or an event of the kiosk, by the kiosk's clock.
  package private(set) var lastMessageAt: Timestamp?
  /// The times, by the dashboard's clock, until which the customers at payment devices have to pay.
  /// A device whose prompt began before the dashboard received its report has none.
  package private(set) var payDeadlines: [PaymentDeviceID: Timestamp] = [:]
  /// The entry of the latest end of day of each payment device.
  package private(set) var lastTotals: [PaymentDeviceID: LedgerEntry] = [:]
  /// The version of the chain's menu, or `nil` if the kiosk uses its own menu.
  package private(set) var menuVersion: Int?
  /// The settings, or `nil` if the kiosk has neither opening hours nor a change of an operator.
  package private(set) var settings: SettingsReport?
  package private(set) var forecast: ForecastReport?
  /// The number of glasses on the day of the latest sales report.
  package private(set) var soldToday: Int?
  /// The day of the latest sales report, in the kiosk's time zone.
  private var salesDay: CivilDate?
  /// The takings on the day of the latest sales report; empty if no glass had a price.
  package private(set) var takenToday = Takings()
  /// The mean number of glasses on the days before the latest sales report, or `nil` if it has no
  /// such day.
  package private(set) var usualGlasses: Double?
  /// The usual number of glasses up to the time of the latest sales report, or `nil` if unknown.
  package private(set) var usuallySold: Double?
  /// The IANA name of the time zone of the kiosk's days.
  package private(set) var timeZone: String?
  /// The payload of the sales report, which `receive` has decoded once without an error; empty if
  /// there is none. Only the payload is stored, because the decoded reports of a thousand kiosks
  /// need much memory.
  package private(set) var salesPayload: [UInt8] = []
  /// The payload of the sales of the days before, as `salesPayload`.
  private var dailySalesPayload: [UInt8] = []
  /// The latest orders that have ended, the newest first.
  package private(set) var orders = Recent()
  /// Restocks, removed and expired fruit, openings, closings, decisions, refunds, programs, steps of
  /// sensors, and ends of day, the newest first.
  package private(set) var services = Recent()
  /// Captures, refunds, also in cash, requests for refunds, and decisions that a charge stays captured,
  /// the newest first.
  package private(set) var captures = Recent()
  /// Steps of the charges of orders, the newest first. Each of the `orders` has at most four: hold, capture,
  /// request for a refund, refund.
  package private(set) var chargeSteps = Recent(inTicketTime: 4 * Recent.limit)

  package init(id: KioskID) { self.id = id }

  /// Returns the number of glasses that were made on a day, or `nil` if the latest sales report is of
  /// another day.
  package func sold(on day: CivilDate) -> Int? { salesDay == day ? soldToday : nil }

  package subscript<Value>(dynamicMember property: KeyPath<KioskReports, Value>) -> Value {
    reports[keyPath: property]
  }

  /// Returns the display name: the name of the kiosk, or its id.
  package func title(_ language: Language) -> String { name?[language] ?? id.text }

  package var sales: SalesReport? { try? SalesReport(payload: salesPayload) }
  package var dailySales: DailySales? { try? DailySales(payload: dailySalesPayload) }

  // The method `service(_:)` hides the member of the reports.
  package var service: ServiceState? { reports.service }

  /// Whether the last received status is `online`.
  package var isOnline: Bool { reports.status == .online }

  /// Returns the kiosk with the menu of a change, as if it were open and had all fruit in stock.
  package func preview(of change: SettingsChange) -> KioskState {
    var kiosk = KioskState(id: id)
    (kiosk.name, kiosk.notice) = (name, notice)
    kiosk.reports.menu = fileMenu.map { change.applied(to: $0, isChain: menuVersion != nil).report }
    let fruits = kiosk.menu?.menu.recipeAmounts.mapValues(\.upperBound) ?? [:]
    kiosk.reports.stock = StockReport(
      seq: 0, at: Timestamp(milliseconds: 0),
      fruits: FruitAmounts(
        fruits.map { (fruit: $0.key, amount: max($0.value, kiosk.menu?.capacities[$0.key] ?? 0)) }))
    (kiosk.reports.status, kiosk.reports.service) = (.online, .open)
    return kiosk
  }

  /// Returns the kiosk with names for what its menu lacks: of its file, such as a juice that is not sold
  /// now, else of the menus of other kiosks.
  package func named(by other: OtherNames? = nil) -> KioskState {
    var kiosk = self
    kiosk.reports.otherNames = OtherNames(
      juice: { juice in baseMenu?.menu.juice(juice)?.name ?? other?.juice(juice) },
      fruit: { fruit in
        baseMenu?.menu.fruits.first { $0.id == fruit }?.name ?? other?.fruit(fruit)
      })
    return kiosk
  }

  /// Returns amounts in the order of the menu, then those of fruits that it lacks.
  package func inMenuOrder(_ amounts: FruitAmounts) -> [FruitAmounts.Element] {
    let order = (reports.menu?.menu.fruits ?? []).map(\.id)
    return order.compactMap { fruit -> FruitAmounts.Element? in
      amounts[fruit].map { (fruit: fruit, amount: $0) }
    } + amounts.filter { !order.contains($0.fruit) }
  }

  /// Reads a message on a topic of this kiosk. Ignores an unreadable message without a log record,
  /// because any number of them may arrive; the earlier state remains. An unreadable alert is none.
  ///
  /// - Parameters:
  ///   - topic: The topic levels after the id of the kiosk.
  ///   - menu: The decoded payload, or `nil` if it is not a readable menu.
  /// - Returns: `false` if the message was ignored, or is an event that changes no list.
  mutating func receive(
    _ topic: ArraySlice<String>, _ payload: [UInt8], menu: MenuReport?, isRetained: Bool,
    at now: Timestamp
  ) -> Bool {
    receivedSince = receivedSince ?? now
    switch (topic.first, topic.count) {
    case ("status", 1):
      let wasOnline = isOnline
      guard reports.receive(topic, payload) else { return false }
      if isOnline {
        offlineSince = nil
      } else if wasOnline || !isRetained {
        offlineSince = offlineSince ?? now
      }
    case ("payment", 2):
      let device = topic.last.flatMap { PaymentDeviceID($0) }
      let old = device.flatMap { reports.payments[$0] }
      guard reports.receive(topic, payload) else { return false }
      if let device, let report = reports.payments[device] {
        setPayDeadline(of: device, report, after: old, isRetained: isRetained, at: now)
      }
    case ("menu", 1):
      guard let menu else { return false }
      reports.menu = menu
    case ("settings", 1):
      let settings = try? SettingsReport(payload: payload)
      guard settings != nil || (payload.isEmpty && self.settings != nil) else { return false }
      self.settings = settings
    case ("stock", 1):
      guard reports.receive(topic, payload), let stock = reports.stock else { return false }
      updateLastMessage(at: stock.at)
    case ("health", 1):
      guard let health = try? KioskHealth(payload: payload) else { return false }
      // A retained report may be old, but a report from the future proves that a clock is wrong.
      if !isRetained || health.at > now { reports.clockLead = health.at.since(now) }
      reports.disk = health.disk
      updateLastMessage(at: health.at)
    case ("info", 1):
      guard let info = try? KioskInfo(payload: payload) else { return false }
      (name, place) = (info.name, info.place)
      let words = (info.region ?? "").split(whereSeparator: \.isWhitespace)
      region = words.isEmpty ? nil : words.joined(separator: " ")
      (menuVersion, reports.menuProblem) = (info.menuVersion, info.menuProblem)
      (notice, language) = (info.notice, info.language)
      startedAt = info.startedAt
      updateLastMessage(at: info.startedAt)
    case ("sales", 1):
      guard let sales = try? SalesReport(payload: payload) else { return false }
      salesPayload = payload
      salesDay = sales.today
      soldToday = sales.hours.reduce(0) { $0 + $1.tally.glasses }
      takenToday = sales.hours.reduce(into: Takings()) { $0 += $1.tally.takings }
      usuallySold = sales.usual
      usualGlasses = sales.usualGlasses
      timeZone = sales.timeZone
      updateLastMessage(at: sales.at)
    case ("sales", 2):
      guard topic.last == "days" else { return false }
      let sales = try? DailySales(payload: payload)
      guard sales != nil || (payload.isEmpty && !dailySalesPayload.isEmpty) else { return false }
      dailySalesPayload = payload
      if let sales { updateLastMessage(at: sales.at) }
    case ("forecast", 1):
      guard let forecast = try? ForecastReport(payload: payload) else { return false }
      self.forecast = forecast
      updateLastMessage(at: forecast.at)
    case ("history", 1):
      guard let history = try? HistoryReport(payload: payload) else { return false }
      for entry in history.entries { _ = add(entry) }
    case ("events", 1):
      guard let entry = try? LedgerEntry(payload: payload) else { return false }
      updateLastMessage(at: entry.at)
      return add(entry)
    default: return reports.receive(topic, payload)
    }
    return true
  }

  /// The topics, after the id of the kiosk, that the kiosk clears when it no longer needs them.
  var clearableTopics: [String] {
    var topics = reports.machines.keys.map { "machine/\($0)" }
    topics += reports.payments.keys.map { "payment/\($0)" }
    topics += reports.sensors.keys.map { "sensor/\($0)" }
    topics += reports.alerts.keys.map { "alert/\($0)" }
    if settings != nil { topics.append("settings") }
    if !dailySalesPayload.isEmpty { topics.append("sales/days") }
    return topics
  }

  /// Adds an entry of the ledger to the lists.
  ///
  /// - Returns: `false` if no list has changed.
  private mutating func add(_ entry: LedgerEntry) -> Bool {
    switch entry.outcome {
    case .ready, .outOfStock, .rejected(_, order: .some), .made, .failed, .returned:
      return orders.add(entry)
    case .restocked, .expired, .removed, .service, .decided: return services.add(entry)
    case .sensor(let step): return step.kind != .hour && services.add(entry)
    // The reports of machines contain the programs that are due.
    case .program(let step): return step.kind != .due && services.add(entry)
    case .payment(let step):
      if step.job != nil { _ = chargeSteps.add(entry) }
      let kinds: [PaymentStep.Kind] = [.captured, .refund, .refunded, .paidBack, .kept]
      let isCapture = kinds.contains(step.kind) && captures.add(entry)
      let isDecision = entry.source != nil && step.machine == nil
      let isService = (isDecision || step.kind == .refunded) && services.add(entry)
      return isCapture || isService || step.job != nil
    case .total(_, let device, _):
      reports.note(entry)
      guard lastTotals[device] != nil || lastTotals.count < KioskReports.maximumMachines else {
        return false
      }
      if lastTotals[device].map({ $0.isBefore(entry) }) ?? true { lastTotals[device] = entry }
      return services.add(entry)
    // The reports of machines and payment devices contain the open orders.
    case .accepted, .opened, .rejected, .awaitingPayment: return false
    }
  }

  /// Sets the deadline of a prompt that has just begun; that of an unchanged prompt stays.
  private mutating func setPayDeadline(
    of device: PaymentDeviceID, _ report: PaymentReport, after old: PaymentReport?,
    isRetained: Bool, at now: Timestamp
  ) {
    guard report.amount != nil, let seconds = report.paySeconds, (1...3_600).contains(seconds)
    else {
      payDeadlines[device] = nil
      return
    }
    let isSame = old?.amount != nil && (old?.ticket, old?.state) == (report.ticket, report.state)
    guard !isSame else { return }
    payDeadlines[device] =
      isRetained && old == nil
      ? nil : Timestamp(milliseconds: now.milliseconds + Int64(seconds) * 1_000)
  }

  private mutating func updateLastMessage(at time: Timestamp) {
    lastMessageAt = max(lastMessageAt ?? time, time)
  }
}

/// The latest entries of a ledger, the newest first. A redelivered event is stored once.
package struct Recent: Sendable, RandomAccessCollection {
  package static let limit = 30

  private var entries: [LedgerEntry] = []
  /// Maximum number of entries if all are of the time for which a screen shows an order.
  private let busyLimit: Int

  package init(inTicketTime busyLimit: Int = Self.limit) { self.busyLimit = busyLimit }

  package var startIndex: Int { 0 }
  package var endIndex: Int { entries.count }
  package subscript(position: Int) -> LedgerEntry { entries[position] }

  /// Inserts an entry.
  ///
  /// - Returns: `false` if it is present already or older than all entries of a full list.
  package mutating func add(_ entry: LedgerEntry) -> Bool {
    let place = entries.firstIndex { $0.isBefore(entry) } ?? entries.count
    // Compares `seq` first and in place, because copying an entry takes long.
    let isKnown = entries.indices.contains { entries[$0].seq == entry.seq && entries[$0] == entry }
    guard place < busyLimit, !isKnown else { return false }
    entries.insert(entry, at: place)
    while entries.count > Self.limit, let last = entries.last,
      entries.count > busyLimit || entries[0].at.since(last.at) > KioskState.ticketTime
    {
      entries.removeLast()
    }
    return true
  }
}
