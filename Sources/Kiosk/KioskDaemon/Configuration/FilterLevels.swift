/// A topic filter, split into its levels.
struct FilterLevels: Equatable, CustomStringConvertible {
  let description: String
  private let levels: [String]

  init(_ filter: String) {
    description = filter
    levels = filter.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
  }

  /// Whether there is a topic that matches both filters (MQTT 4.7.1).
  func overlaps(_ other: FilterLevels) -> Bool {
    var (left, right) = (levels[...], other.levels[...])
    // "sport/#" also matches "sport" itself.
    while left.first != "#", right.first != "#" {
      guard let one = left.first, let another = right.first else {
        return left.isEmpty && right.isEmpty
      }
      guard one == "+" || another == "+" || one == another else { return false }
      left.removeFirst()
      right.removeFirst()
    }
    return true
  }
}
