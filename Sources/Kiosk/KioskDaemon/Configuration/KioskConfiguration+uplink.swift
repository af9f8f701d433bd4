import KioskProtocol
package import YAMLConfiguration

extension KioskConfiguration {
  /// Where the ledger is carried up to.
  package struct Uplink: Sendable, Equatable {
    package var broker = BrokerConfiguration()
    package var root = "kiosk"
    package var entriesPerSecond = 200

    package init() {}
  }
}

extension KioskConfiguration.Uplink {
  /// - Parameter isWanted: whether the file, or the environment, has something of it.
  init?(_ section: inout Section, isWanted: Bool, kiosk: KioskConfiguration.Kiosk) {
    self.init()
    broker.section = "uplink"
    // Another client id than the kiosk's session has: both may be sessions of one broker.
    broker.clientID = "juice-kiosk-\(kiosk.id)-uplink"
    root = kiosk.root
    let tls = section.section("tls") { BrokerConfiguration.TLS(&$0) }
    if section.has("tls") { broker.tls = tls }
    broker.readAccount(&section)
    section.read("root", .topic, into: &root)
    section.read("entries_per_second", .integer(1...10_000), into: &entriesPerSecond)
    guard isWanted, broker.readAddresses(&section) else { return nil }
  }
}
