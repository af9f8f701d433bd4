/// The epoch and number of an entry in a kiosk's ledger: see `KioskHealth.position`.
package struct LedgerPosition: Hashable, Sendable {
  /// The epoch of the entry; see `LedgerEntry`.
  package let epoch: Int
  /// The sequence number of the entry, from 1 to 2^53.
  package let seq: Int

  package init(epoch: Int, seq: Int) {
    self.epoch = epoch
    self.seq = seq
  }

  /// Parses a `KioskHealth` payload. Returns `nil` if it has no position: the kiosk has no entries
  /// yet, or does not report the position.
  ///
  /// - Throws: `JSONError` if the payload is not JSON, or a number is invalid or out of range.
  package init?(health payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard json["seq"] != nil, json["epoch"] != nil else { return nil }
    try self.init(json)
  }
}

extension LedgerPosition: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq, where: (1...1 << 53).contains)
    epoch = try members.required("epoch", \.epoch, where: { $0 >= 0 })
  }
}
