import KioskMessages

extension KioskConfiguration {
  /// Where the ledger is carried up to.
  package struct Uplink: Sendable, Equatable {
    package var broker = Broker()
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
    let tls = section.section("tls") { KioskConfiguration.TLS(&$0) }
    if section.has("tls") { broker.tls = tls }
    broker.readAccount(&section)
    section.read("root", .topic, into: &root)
    section.read("entries_per_second", .integer(1...10_000), into: &entriesPerSecond)
    guard isWanted, broker.readAddresses(&section) else { return nil }
  }
}

extension Format where Value == KioskConfiguration.Broker.Address {
  /// A host, and its port if that is not the usual one: `broker.local`, `10.0.0.7:1884`,
  /// `[fe80::1]:1884`.
  static func address(usualPort: Int) -> Self {
    Format { scalar throws(Diagnostic) in
      let text = try Format<String>.text.read(scalar)
      guard let parts = text.wholeMatch(of: /(\[[0-9A-Fa-f:.]+\]|[^:\/@\s\[\]]+)(?::([0-9]{1,5}))?/)
      else {
        throw Diagnostic(
          "\(text.quoted) is not an address",
          hint: "write it like 'broker.local:8883' or '[fe80::1]:8883'")
      }
      let port = parts.2.map { Int($0) ?? 0 } ?? usualPort
      guard (1...65535).contains(port) else {
        throw Diagnostic("the port of \(text.quoted) must be from 1 to 65535")
      }
      let host = String(parts.1).trimmingPrefix("[")
      return Value(host: String(host.last == "]" ? host.dropLast() : host), port: port)
    }
  }
}
