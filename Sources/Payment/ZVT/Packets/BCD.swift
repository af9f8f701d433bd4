/// Numbers with one decimal digit in each half of a byte, the highest first.
enum BCD {
  /// Returns the number, or `nil` if a digit is above 9 or the number has more than 18 digits.
  static func number(_ bytes: some Collection<UInt8>) -> Int? {
    guard bytes.count <= 9 else { return nil }
    var number = 0
    for byte in bytes {
      let (high, low) = (Int(byte >> 4), Int(byte & 0xF))
      guard high <= 9, low <= 9 else { return nil }
      number = number * 100 + high * 10 + low
    }
    return number
  }

  /// Returns the digits as text, or `nil` if a digit is above 9.
  static func text(_ bytes: some Collection<UInt8>) -> String? {
    var text: [UInt8] = []
    for byte in bytes {
      guard byte >> 4 <= 9, byte & 0xF <= 9 else { return nil }
      text += [UInt8(ascii: "0") + (byte >> 4), UInt8(ascii: "0") + (byte & 0xF)]
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Encodes a number without its sign in `count` bytes. Omits the highest digits if the number needs more bytes.
  static func bytes(_ number: Int, count: Int) -> [UInt8] {
    var (rest, bytes) = (number.magnitude, [UInt8](repeating: 0, count: count))
    for index in bytes.indices.reversed() {
      let pair = UInt8(rest % 100)
      bytes[index] = (pair / 10) << 4 | (pair % 10)
      rest /= 100
    }
    return bytes
  }
}
