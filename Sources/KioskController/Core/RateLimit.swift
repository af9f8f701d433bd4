import KioskMessages

/// How many commands a sender has given in the running second. What it remembers is gone with the
/// second.
struct RateLimit: Sendable {
  let perSecond: Int
  private var second: Int64 = 0
  private var counts: [Source: Int] = [:]

  /// - Parameter perSecond: 0: no limit.
  init(perSecond: Int) { self.perSecond = perSecond }

  mutating func admit(_ source: Source, at now: Timestamp) -> Bool {
    guard perSecond > 0 else { return true }
    if now.milliseconds / 1000 != second {
      second = now.milliseconds / 1000
      counts.removeAll(keepingCapacity: counts.count < 1000)
    }
    counts[source, default: 0] += 1
    return counts[source, default: 0] <= perSecond
  }
}
