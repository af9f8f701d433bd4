/// The topics on which the broker has refused a message since the kiosk last went online or was last
/// reloaded, for the log and, in `health`, for `juice-kiosk doctor`.
struct Refusals {
  /// The reasons by topic, at most `maximumCount`.
  private(set) var reasons: [String: String] = [:]

  /// Maximum number of topics, which bounds the size of `health`.
  private static let maximumCount = 50

  /// Records refused topics.
  ///
  /// - Returns: One new topic for each new reason.
  mutating func note(_ refused: [String: String]) -> [(topic: String, reason: String)] {
    var reported = Set(reasons.values)
    var news: [(String, String)] = []
    for (topic, reason) in refused.sorted(by: { $0.key < $1.key })
    where reasons[topic] == nil && reasons.count < Self.maximumCount {
      reasons[topic] = reason
      if reported.insert(reason).inserted { news.append((topic, reason)) }
    }
    return news
  }
}
