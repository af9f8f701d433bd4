extension KioskConfiguration {
  /// Where the durable record is.
  package struct Ledger: Sendable, Equatable {
    package var path = "/var/lib/juice-kiosk/ledger.sqlite"

    package init() {}
  }
}

extension KioskConfiguration.Ledger {
  init(_ section: inout Section) {
    section.read("path", .path, into: &path)
  }
}
