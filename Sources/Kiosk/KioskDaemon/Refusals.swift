/// What the broker has not taken on this connection: for the log and, by way of `health`, for the doctor.
struct Refusals {
  /// By topic; the first ones.
  private(set) var reasons: [String: String] = [:]

  /// So that `health` stays small.
  private static let maximumCount = 50

  /// - Returns: the topics that are new, one for each reason that is.
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
