import KioskProtocol
package import YAMLConfiguration

extension KioskConfiguration {
  /// The upstream broker to which the kiosk publishes the ledger's entries, and the maximum rate.
  package struct Uplink: Sendable, Equatable {
    package var broker = BrokerConfiguration()
    package var root = "kiosk"
    package var entriesPerSecond = 200

    package init() {}
  }
}

extension KioskConfiguration.Uplink {
  /// Reads the section. Returns `nil` if the uplink is not configured or has no valid addresses.
  ///
  /// - Parameter isWanted: Whether the file or the environment contains a key of the section.
  init?(_ section: inout Section, isWanted: Bool, kiosk: KioskConfiguration.Kiosk) {
    self.init()
    broker.section = "uplink"
    // The client identifier differs from that of the kiosk, because both may use the same broker.
    broker.clientID = "juice-kiosk-\(kiosk.id)-uplink"
    root = kiosk.root
    let tls = section.section("tls") { BrokerConfiguration.TLS(&$0) }
    if section.has("tls") { broker.tls = tls }
    broker.readAccount(&section)
    section.read("root", .root, into: &root)
    section.read("entries_per_second", .integer(1...10_000), into: &entriesPerSecond)
    guard isWanted, broker.readAddresses(&section) else { return nil }
  }
}
