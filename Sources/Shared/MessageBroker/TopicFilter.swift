/// A topic filter: `+` matches any single level, and a final `#` any number of levels (MQTT 4.7).
package struct TopicFilter: Sendable, Hashable, CustomStringConvertible {
  package let text: String

  /// Creates a filter.
  ///
  /// - Throws: `TopicFilterError` if the text is not a topic filter.
  package init(_ text: String) throws(TopicFilterError) {
    try Self.check(text)
    self.text = text
  }

  /// Stores any text, such as one from a configuration. Subscribing to an invalid filter fails with
  /// `BrokerError.subscriptionRefused`, like one that the broker refuses.
  package init(unchecked text: String) { self.text = text }

  /// Whether the text is a topic filter. The caller needs no reason.
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

  /// Returns whether this filter matches a topic. A filter that starts with a wildcard matches no
  /// topic that starts with `$` (4.7.2).
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
    // Compares one level of both in each turn.
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
        // "sport/#" also matches "sport" itself (4.7.1.2).
        return position + 2 == filter.count && filter[position + 1] == hash
      }
      guard topic[end] == slash else { return false }
      (position, end) = (position + 1, end + 1)
    }
  }

  /// Returns whether both filters can match one topic, without the rule for `$` topics (4.7.2).
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

extension TopicFilter {
  /// Returns whether this filter matches every topic that the other one matches.
  package func covers(_ other: TopicFilter) -> Bool {
    if other.text.utf8.first == UInt8(ascii: "$"), "+#".utf8.contains(text.utf8.first ?? 0) {
      return false
    }
    var (left, right) = (Levels(of: text), Levels(of: other.text))
    while true {
      let (one, another) = (left.next(), right.next())
      if one?.elementsEqual("#".utf8) == true { return true }
      guard let one, let another else { return one == nil && another == nil }
      let isWild = one.elementsEqual("+".utf8) && !another.elementsEqual("#".utf8)
      guard isWild || one.elementsEqual(another) else { return false }
    }
  }

  /// The text before the first level with a wildcard, or `nil` if no level has a wildcard.
  fileprivate var prefixBeforeWildcard: Substring.UTF8View? {
    guard let wildcard = text.utf8.firstIndex(where: "+#".utf8.contains) else { return nil }
    return text.utf8[..<wildcard]
  }
}

extension [TopicFilter] {
  /// Returns the filters that no other one covers, without duplicates. A broker may deliver a copy
  /// of a message for each subscription that matches it (MQTT 5, 3.3.4), and a press would count
  /// twice.
  package func withoutCovered() -> [TopicFilter] {
    var seen: Set<TopicFilter> = []
    let filters = filter { seen.insert($0).inserted }
    // Compares only filters that begin alike, because a kiosk may have 10,000 panels.
    var patterns: [String: [TopicFilter]] = [:]
    for filter in filters {
      guard let prefix = filter.prefixBeforeWildcard else { continue }
      patterns[String(Substring(prefix)), default: []].append(filter)
    }
    guard !patterns.isEmpty else { return filters }
    return filters.filter { filter in
      // "sport/#" also covers "sport".
      let levels = "\(filter.text)/".utf8
      let slashes = levels.indices.filter { levels[$0] == UInt8(ascii: "/") }
      let ends = [levels.startIndex] + slashes.map { levels.index(after: $0) }
      return !ends.contains { end in
        patterns[String(Substring(levels[..<end]))]?.contains {
          $0 != filter && $0.covers(filter)
        } ?? false
      }
    }
  }
}

/// Iterates over the levels of a topic without allocating an array for each call.
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

/// The reason why a text is not a topic filter. Levels count from 1.
package enum TopicFilterError: Error, Hashable {
  /// The text is empty.
  case empty
  /// The text has more than 65,535 bytes (1.5.4).
  case tooLong
  /// The text contains U+0000 (4.7.3).
  case nullCharacter
  /// A wildcard shares a level with other characters (4.7.1).
  case wildcardInsideLevel(Int)
  /// `#` is not the last level (4.7.1.2).
  case hashNotLast(Int)
}
