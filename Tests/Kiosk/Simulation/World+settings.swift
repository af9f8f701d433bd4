import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger

// The kiosk's settings and its new ledger.
extension World {
  static func settings(_ rules: Schedule.Rules) throws -> KioskSettings {
    var settings = KioskSettings(
      topics: KioskTopics(root: "kiosk", kiosk: "k1"),
      stock: KioskSettings.Stock(initial: [:], capacities: [:], lowMarks: [:]),
      orders: KioskSettings.Orders(
        maximumAge: .seconds(Model.maximumAge), debounce: .milliseconds(rules.debounce),
        maximumPerSecond: rules.perSecond),
      version: "simulation")
    settings.machines = rules.makers.map(\.settings)
    let devices = Terminal.all(rules.terminals).compactMap { PaymentDeviceID($0) }
    if !devices.isEmpty {
      settings.payment = KioskSettings.Payment(
        devices: devices.map { KioskSettings.Payment.Device(name: $0) },
        freePanels: [Auditor.freePanel])
    }
    if rules.hasHours { settings.hours = HoursModel.hours }
    if rules.hasSensors { settings.sensors = [SensorModel.settings] }
    try ConfigurationVariant.usual.apply(to: &settings, hasDates: rules.hasDates)
    return settings
  }

  /// The file of a ledger that a kiosk has opened and not used yet. Copying it is faster than
  /// creating one.
  static let newLedger = Result {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "juice-simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "ledger.sqlite")
    do {
      let ledger = try KioskLedger(path: file.path)
      let rules = Schedule.Rules()
      let opening = Kiosk.opening(
        settings: try settings(rules), state: try ledger.state(),
        at: Moment(timestamp: Timestamp(milliseconds: 0), day: 0, uptime: .zero))
      if let opening { try ledger.commit(opening) }
    }
    return try Data(contentsOf: file)
  }
}
