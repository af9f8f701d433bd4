/// One packet of ZVT: a class byte, an instruction byte and up to 65,535 bytes of data.
package struct APDU: Hashable, Sendable {
  /// Class byte and instruction byte: `0x0601` is authorisation.
  package let control: UInt16
  package let data: [UInt8]

  package init(_ control: UInt16, _ data: [UInt8] = []) {
    self.control = control
    self.data = Array(data.prefix(Int(UInt16.max)))
  }

  /// The packet as bytes. From 255 bytes of data on, the length is `FF` and two bytes, the low byte
  /// first.
  package var bytes: [UInt8] {
    let (high, low) = (UInt8(control >> 8), UInt8(truncatingIfNeeded: control))
    let count = data.count
    let length =
      count < 0xFF
      ? [UInt8(count)] : [0xFF, UInt8(truncatingIfNeeded: count), UInt8(count >> 8)]
    return [high, low] + length + data
  }

  /// The acknowledgement of any packet.
  static let acknowledgement = APDU(0x8000)
}

/// Splits a byte stream into packets. A read may contain a part of a packet, or several packets.
package struct APDUReader: Sendable {
  private var buffer: [UInt8] = []

  package init() {}

  /// Whether the beginning of a packet has arrived without its end.
  package var isInPacket: Bool { !buffer.isEmpty }

  /// Adds bytes, and returns the packets that are complete. Keeps fewer than 65,540 bytes.
  package mutating func read(_ bytes: some Sequence<UInt8>) -> [APDU] {
    buffer.append(contentsOf: bytes)
    var packets: [APDU] = []
    var rest = buffer[...]
    while let (packet, end) = Self.first(of: rest) {
      packets.append(packet)
      rest = rest[end...]
    }
    buffer = Array(rest)
    return packets
  }

  private static func first(of bytes: ArraySlice<UInt8>) -> (APDU, end: Int)? {
    guard bytes.count >= 3 else { return nil }
    let start = bytes.startIndex
    let control = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
    var (length, body) = (Int(bytes[start + 2]), start + 3)
    if length == 0xFF {
      guard bytes.count >= 5 else { return nil }
      (length, body) = (Int(bytes[start + 3]) | Int(bytes[start + 4]) << 8, start + 5)
    }
    guard bytes.endIndex - body >= length else { return nil }
    return (APDU(control, Array(bytes[body..<body + length])), body + length)
  }
}
