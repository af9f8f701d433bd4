/// The part of a kiosk's health that concerns its computer.
package struct HostReport: Hashable, Sendable {
  /// The time of the report by the computer's clock.
  package let at: Timestamp
  /// The disk of the ledger, or `nil` if the kiosk does not report it.
  package let disk: Disk?

  /// The disk that stores the ledger.
  package struct Disk: Hashable, Sendable {
    /// The free space in bytes.
    package let free: Int
    /// The size of the ledger in bytes.
    package let ledger: Int

    package init(free: Int, ledger: Int) {
      self.free = free
      self.ledger = ledger
    }

    package enum FreeSpace: Sendable {
      case enough
      /// Less than 256 MB or than the ledger's size: an update may have to write a copy of it.
      case low
      /// Less than 16 MB: the kiosk will reject orders.
      case full
    }

    package var freeSpace: FreeSpace {
      free < 16_000_000 ? .full : free < max(256_000_000, ledger) ? .low : .enough
    }
  }

  /// Parses a `KioskHealth` payload.
  ///
  /// - Throws: `JSONError` if the payload contains no time.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let at = json.text("at").flatMap(Timestamp.init) else {
      throw JSONError(offset: 0, problem: "at is missing")
    }
    self.at = at
    disk = json.integer("disk_free").map { Disk(free: $0, ledger: json.integer("ledger") ?? 0) }
  }
}
