/// An element of a TLV container: a tag, and its value within the packet.
struct TLVElement {
  let tag: UInt32
  let value: ArraySlice<UInt8>
}

/// Reads the elements of TLV containers (tags of up to three bytes, lengths of up to 65,535).
enum TLV {
  /// Maximum number of elements of one container.
  private static let maximumElements = 1_000

  /// Returns the elements up to the first that cannot be read, at most `maximumElements`, and whether these are all.
  /// An element whose length is beyond the end has the rest of the bytes as its value, and is the last element.
  static func elements(_ bytes: ArraySlice<UInt8>) -> (elements: [TLVElement], isWhole: Bool) {
    var (rest, elements) = (bytes, [TLVElement]())
    while !rest.isEmpty {
      guard elements.count < maximumElements, let tag = tag(&rest), let length = length(&rest)
      else { return (elements, false) }
      elements.append(TLVElement(tag: tag, value: rest.prefix(length)))
      guard length <= rest.count else { return (elements, false) }
      rest = rest.dropFirst(length)
    }
    return (elements, true)
  }

  /// Removes and returns the length at the beginning, or returns `nil` if the length is invalid.
  static func length(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard let first = rest.popFirst() else { return nil }
    switch first {
    case 0..<0x80: return Int(first)
    case 0x81: return rest.popFirst().map(Int.init)
    case 0x82:
      guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
      return Int(high) << 8 | Int(low)
    default: return nil
    }
  }

  private static func tag(_ rest: inout ArraySlice<UInt8>) -> UInt32? {
    guard let first = rest.popFirst() else { return nil }
    var tag = UInt32(first)
    guard first & 0x1F == 0x1F else { return tag }
    for _ in 0..<2 {
      guard let next = rest.popFirst() else { return nil }
      tag = tag << 8 | UInt32(next)
      if next & 0x80 == 0 { return tag }
    }
    return nil
  }
}
