/// A topic filter: topic levels, of which `+` matches any one and a last `#` any number (MQTT 4.7).
package struct TopicFilter: Sendable, Hashable, CustomStringConvertible {
  package let text: String

  /// - Throws: `TopicFilterError` with what is wrong.
  package init(_ text: String) throws(TopicFilterError) {
    try Self.check(text)
    self.text = text
  }

  /// Takes any text, such as one from a configuration. To subscribe to what is no filter is refused like
  /// what the broker refuses, by name (`BrokerError.subscriptionRefused`).
  package init(unchecked text: String) { self.text = text }

  /// Whether the text is a topic filter.
  package var isValid: Bool { (try? Self.check(text)) != nil }

  private static func check(_ text: String) throws(TopicFilterError) {
    guard !text.isEmpty else { throw .empty }
    guard text.utf8.count <= 65_535 else { throw .tooLong }
    guard !text.utf8.contains(0) else { throw .nullCharacter }
    let levels = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (index, level) in levels.enumerated() where level.count > 1 {
      if level.contains(UInt8(ascii: "+")) || level.contains(UInt8(ascii: "#")) {
        throw .wildcardInsideLevel(index + 1)
      }
    }
    for (index, level) in levels.dropLast().enumerated() where level.elementsEqual("#".utf8) {
      throw .hashNotLast(index + 1)
    }
  }

  package var description: String { text }

  /// Whether a topic is one that this filter selects. A filter that starts with a wildcard selects
  /// no topic that starts with `$` (4.7.2).
  package func matches(_ topic: String) -> Bool {
    var (filter, topic) = (text, topic)
    return filter.withUTF8 { filter in topic.withUTF8 { Self.selects(filter, $0) } }
  }

  private static func selects(
    _ filter: UnsafeBufferPointer<UInt8>, _ topic: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    let (slash, plus, hash) = (UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "#"))
    let beginsWild = filter.first == plus || filter.first == hash
    if topic.first == UInt8(ascii: "$"), beginsWild { return false }
    var (position, end) = (0, 0)
    // One level of both after the other.
    while true {
      switch position < filter.count ? filter[position] : slash {
      case hash: return true
      case plus:
        position += 1
        while end < topic.count, topic[end] != slash { end += 1 }
      default:
        while position < filter.count, filter[position] != slash {
          guard end < topic.count, topic[end] == filter[position] else { return false }
          (position, end) = (position + 1, end + 1)
        }
      }
      guard position < filter.count else { return end == topic.count }
      guard end < topic.count else {
        // "sport/#" also selects "sport" itself (4.7.1.2).
        return position + 2 == filter.count && filter[position + 1] == hash
      }
      guard topic[end] == slash else { return false }
      (position, end) = (position + 1, end + 1)
    }
  }

  /// Whether there may be a topic that both select.
  package func overlaps(_ other: TopicFilter) -> Bool {
    var (left, right) = (Levels(of: text), Levels(of: other.text))
    while true {
      let pair = (left.next(), right.next())
      if pair.0?.elementsEqual("#".utf8) == true || pair.1?.elementsEqual("#".utf8) == true {
        return true
      }
      guard let one = pair.0, let another = pair.1 else { return pair.0 == nil && pair.1 == nil }
      let isWild = one.elementsEqual("+".utf8) || another.elementsEqual("+".utf8)
      guard isWild || one.elementsEqual(another) else { return false }
    }
  }
}

/// The levels of a topic, one after the other: a broker asks too often to make an array each time.
private struct Levels: IteratorProtocol {
  private var rest: Substring.UTF8View?

  init(of topic: String) { rest = topic.utf8[...] }

  mutating func next() -> Substring.UTF8View? {
    guard let levels = rest else { return nil }
    guard let end = levels.firstIndex(of: UInt8(ascii: "/")) else {
      rest = nil
      return levels
    }
    rest = levels[levels.index(after: end)...]
    return levels[..<end]
  }
}

/// Why a text is not a topic filter. Levels count from 1.
package enum TopicFilterError: Error, Hashable {
  /// A filter has at least one character.
  case empty
  /// More than 65,535 bytes (1.5.4).
  case tooLong
  /// U+0000 is not allowed in a topic (4.7.3).
  case nullCharacter
  /// A wildcard must be a whole level (4.7.1).
  case wildcardInsideLevel(Int)
  /// `#` must be the last level (4.7.1.2).
  case hashNotLast(Int)
}
