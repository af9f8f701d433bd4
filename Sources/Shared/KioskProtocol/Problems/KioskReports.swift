package import JuiceDomain

/// The state of a kiosk as its retained topics describe it, from which its problems are derived. A
/// property is `nil` or empty until its message arrives.
package struct KioskReports: Sendable {
  package var status: KioskStatus?
  package var service: ServiceState?
  package var menu: MenuReport? { didSet { updateShortFruits() } }
  /// Names for what the menu lacks, or `nil` to show ids.
  package var otherNames: OtherNames?
  package var stock: StockReport? { didSet { updateShortFruits() } }
  package private(set) var alerts: [Fruit.ID: StockAlert] = [:] { didSet { updateShortFruits() } }
  /// The fruits with the alert `out`, or with too little stock for one glass of a juice. The second
  /// condition needs a stock and a menu; the fruits have the order of `fruits(_:)`. Not computed: it is
  /// used several times for each fruit.
  package private(set) var shortFruits: [Fruit.ID] = []
  package private(set) var machines: [MachineID: MachineReport] = [:]
  package private(set) var payments: [PaymentDeviceID: PaymentReport] = [:]
  package private(set) var sensors: [SensorID: SensorReport] = [:]
  /// The fruits that sensors block. Not computed: it is used for each juice.
  package private(set) var blockedFruits: Set<Fruit.ID> = []
  package var disk: KioskHealth.Disk?
  /// The time by which the kiosk's clock is ahead of the reader's clock; negative if it is behind, 0
  /// if unknown.
  package var clockLead = Duration.zero
  /// The reason why the kiosk does not use the menu of its chain, or `nil` if the kiosk uses that
  /// menu or has received none.
  package var menuProblem: String?
  /// The latest end of day of each payment device that was compared with the ledger.
  private var totals: [PaymentDeviceID: LedgerEntry] = [:]

  /// Maximum number of machines of one kiosk, of its payment devices, and of its sensors.
  package static let maximumMachines = 20

  package init() {}

  /// Reads a message. Ignores an unreadable one; the earlier state remains. An unreadable alert is
  /// none.
  ///
  /// - Parameter topic: The topic levels after the id of the kiosk.
  /// - Returns: `false` if the message was ignored.
  package mutating func receive(_ topic: ArraySlice<String>, _ payload: [UInt8]) -> Bool {
    let text = String(decoding: payload.prefix(64), as: UTF8.self)
    switch (topic.first, topic.count, topic.last) {
    case ("status", 1, _):
      guard let status = KioskStatus(rawValue: text) else { return false }
      self.status = status
    case ("service", 1, _):
      guard let service = ServiceState(rawValue: text) else { return false }
      self.service = service
    case ("alert", 2, let fruit?):
      guard let fruit = Fruit.ID(fruit) else { return false }
      let alert = StockAlert(rawValue: text)
      // `nil` clears the alert; clearing an absent alert changes nothing.
      guard alerts[fruit] != nil || (alert != nil && alerts.count < 1_000) else { return false }
      alerts[fruit] = alert
    case ("machine", 2, let name?):
      return update(\.machines, name, payload) { try? .init(payload: $0) }
    case ("payment", 2, let name?):
      return update(\.payments, name, payload) { try? .init(payload: $0) }
    case ("sensor", 2, let name?):
      let isRead = update(\.sensors, name, payload) { try? .init(payload: $0) }
      guard isRead else { return false }
      blockedFruits = Set(sensors.values.filter { $0.state == .blocked }.flatMap(\.fruits))
    case ("menu", 1, _):
      guard let menu = try? MenuReport(payload: payload) else { return false }
      self.menu = menu
    case ("stock", 1, _):
      guard let stock = try? StockReport(payload: payload) else { return false }
      self.stock = stock
    case ("health", 1, _):
      guard let health = try? KioskHealth(payload: payload) else { return false }
      disk = health.disk
    case ("info", 1, _):
      guard let info = try? KioskInfo(payload: payload) else { return false }
      menuProblem = info.menuProblem
    case ("history", 1, _):
      guard let history = try? HistoryReport(payload: payload) else { return false }
      for entry in history.entries { note(entry) }
    default: return false
    }
    return true
  }

  private mutating func updateShortFruits() {
    shortFruits = fruits(.out)
    guard let stock = stock?.fruits, let menu = menu?.menu else { return }
    shortFruits = menu.fruits.map(\.id).filter { fruit in
      shortFruits.contains(fruit) || stock[fruit] ?? 0 < menu.recipeAmounts[fruit]?.upperBound ?? 0
    }
  }

  private mutating func update<Device, Report>(
    _ reports: WritableKeyPath<Self, [Identifier<Device>: Report]>, _ name: String,
    _ payload: [UInt8], read: ([UInt8]) -> Report?
  ) -> Bool {
    guard let id = Identifier<Device>(name) else { return false }
    if payload.isEmpty { return self[keyPath: reports].removeValue(forKey: id) != nil }
    let count = self[keyPath: reports].count
    guard self[keyPath: reports][id] != nil || count < Self.maximumMachines,
      let report = read(payload)
    else { return false }
    self[keyPath: reports][id] = report
    return true
  }

  /// Records an end of day. One that was not compared leaves the difference of the one before.
  package mutating func note(_ entry: LedgerEntry) {
    guard case .total(_, let device, _?) = entry.outcome,
      totals[device] != nil || totals.count < Self.maximumMachines,
      totals[device].map({ $0.isBefore(entry) }) ?? true
    else { return }
    totals[device] = entry
  }

  /// The payment devices whose last compared end of day differs from the ledger, with the amount by
  /// which the device's total exceeds that of the ledger, in smallest units. Omits removed devices.
  package var dayDifferences: [(device: PaymentDeviceID, units: Int, currency: Currency)] {
    totals.sorted { $0.key < $1.key }.compactMap { device, entry in
      guard payments[device] != nil, case .total(let total, _, let units?) = entry.outcome,
        units != 0
      else { return nil }
      return (device, units, total.captured.currency)
    }
  }
}

extension LedgerEntry {
  /// Returns whether the entry was made before another entry of the kiosk. Within an epoch `seq`
  /// decides, because the clock may be set back; between epochs the time, because `seq` may repeat.
  package func isBefore(_ other: LedgerEntry) -> Bool {
    epoch == other.epoch ? seq < other.seq : at < other.at
  }
}
