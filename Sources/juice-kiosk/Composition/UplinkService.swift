import ConfigurationFiles
import KioskCore
import KioskMessages
import Ledger
import Logging
import Program
import ServiceLifecycle
import Uplink

/// The way up as a service.
struct UplinkService: Service {
  let uplink: Uplink

  func run() async { await cancelWhenGracefulShutdown { await uplink.run() } }
}

extension Uplink {
  /// - Parameters:
  ///   - outbox: of the controller that writes the ledger.
  ///   - menus: of whoever reloads the kiosk.
  /// - Returns: `nil` if the ledger is not to be carried up.
  static func build(
    _ configuration: KioskConfiguration, outbox: Outbox, menus: MenuDesk, logger: Logger
  ) throws(Failure) -> Uplink? {
    guard let uplink = configuration.uplink else { return nil }
    let broker = try uplink.broker.makeBroker()
    let settings = UplinkSettings(
      topics: KioskTopics(root: uplink.root, kiosk: configuration.kiosk.id),
      clientID: uplink.broker.clientID, pace: uplink.entriesPerSecond)
    do throws(LedgerError) {
      return try Uplink(
        settings: settings, broker: broker,
        ledger: KioskLedger(path: configuration.ledgerPath, readOnly: true), outbox: outbox,
        menus: menus,
        clock: .system(wall: WallClock(timeZone: configuration.kiosk.timeZone)), logger: logger)
    } catch {
      throw Failure(error)
    }
  }
}
