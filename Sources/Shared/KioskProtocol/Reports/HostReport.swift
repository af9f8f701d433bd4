/// What a kiosk's health tells of the computer that it runs on.
package struct HostReport: Hashable, Sendable {
  /// By its clock.
  package let at: Timestamp
  /// `nil` if it does not say.
  package let disk: Disk?

  /// The disk of the ledger.
  package struct Disk: Hashable, Sendable {
    /// In bytes, like `ledger`.
    package let free: Int
    /// The size of the ledger.
    package let ledger: Int

    package init(free: Int, ledger: Int) {
      self.free = free
      self.ledger = ledger
    }

    package enum FreeSpace: Sendable {
      case enough
      /// A new version of the program may have to write the ledger anew, beside the old one.
      case low
      /// Orders will not be taken.
      case full
    }

    package var freeSpace: FreeSpace {
      free < 16_000_000 ? .full : free < max(256_000_000, ledger) ? .low : .enough
    }
  }

  /// - Throws: `JSONError` if it is not a kiosk's health.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let at = json.text("at").flatMap(Timestamp.init) else {
      throw JSONError(offset: 0, problem: "at is missing")
    }
    self.at = at
    disk = json.integer("disk_free").map { Disk(free: $0, ledger: json.integer("ledger") ?? 0) }
  }
}
