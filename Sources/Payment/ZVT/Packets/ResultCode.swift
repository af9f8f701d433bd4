/// A result code of the terminal: field 27, the first byte of an abort, `xx` of a refusal `84 xx`, or the state byte.
package struct ResultCode: Hashable, Sendable {
  package let byte: UInt8

  package init(_ byte: UInt8) { self.byte = byte }

  package static let alreadyReversed = ResultCode(0xB4)
  package static let timeout = ResultCode(0x6C)

  /// A short text for a customer or an operator, in English.
  package var text: String {
    switch byte {
    case 0x05: "declined"
    case 0x6C: "cancelled"
    case 0x64, 0x65, 0x72, 0x73: "card cannot be read"
    case 0x71: "not enough credit"
    case 0x78: "card expired"
    case 0x6E, 0x79, 0x7A, 0xC5: "card not accepted"
    case 0x41, 0xFC, 0x33, 0x3D: "PIN needed"
    case 0x7D, 0x9B, 0xA1, 0xA3: "terminal has no connection"
    case 0xB1, 0xB2, 0x6A: "terminal is full"
    case 0xC2: "terminal needs a diagnosis"
    case 0xCC: "no paper"
    case 0x9C, 0xA0: "terminal is not ready"
    case 0xB4: "already reversed"
    case 0xB5: "cannot be reversed"
    case 0xB7: "amount is too high"
    case 0xB8: "reservation error"
    case 0x77: "end of day is not possible"
    case 0x6B, 0x51: "terminal must be initialised"
    case 0x6F, 0xC6: "wrong currency"
    case 0xC3: "amount is above the limit"
    case 0xC8: "amount is too small"
    case 0xDF: "out of order"
    case 0xE4: "terminal must be activated"
    case 0xF0: "end of day is due"
    default: "error \(hex)"
    }
  }

  /// Whether the code alone proves that a payment ended without moving money.
  var isDecline: Bool {
    switch byte {
    case 0x05, 0x6C, 0x64, 0x65, 0x72, 0x73, 0x71, 0x78, 0x6E, 0x79, 0x7A, 0xC5, 0x41, 0xFC, 0x33,
      0x3D:
      true
    default: false
    }
  }

  private var hex: String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.count == 1 ? "0\(digits)" : digits
  }
}
