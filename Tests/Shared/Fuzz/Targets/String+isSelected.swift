extension String {
  /// A second implementation of MQTT 4.7, by recursion instead of a loop.
  func isSelected(by filter: String) -> Bool {
    func levels(_ text: String) -> [[UInt8]] {
      text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(
        Array.init)
    }
    func matches(_ filter: ArraySlice<[UInt8]>, _ topic: ArraySlice<[UInt8]>) -> Bool {
      guard let first = filter.first else { return topic.isEmpty }
      if first == Array("#".utf8) { return true }
      guard let level = topic.first, first == Array("+".utf8) || first == level else {
        return false
      }
      return matches(filter.dropFirst(), topic.dropFirst())
    }
    let (filterLevels, topicLevels) = (levels(filter), levels(self))
    if topicLevels[0].first == UInt8(ascii: "$"),
      [Array("+".utf8), Array("#".utf8)].contains(filterLevels[0])
    {
      return false
    }
    return matches(filterLevels[...], topicLevels[...])
  }
}
