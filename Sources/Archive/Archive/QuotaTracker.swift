import JuiceDomain
import KioskProtocol

/// The limits of what the archive stores of one kiosk, so that one account cannot fill the database
/// or delay the others. The archive requests entries above a limit when it stores entries of the
/// kiosk again.
///
/// A kiosk that sells 300 juices a day and sends its ledger of two years at once reaches no limit.
struct QuotaTracker {
  /// A kind of limit.
  enum Quota: String {
    /// Entries received in an hour.
    case entries
    /// Bytes of the entries received in an hour.
    case bytes
    /// Different days of the entries received in an hour.
    case days
    /// Ledgers, which each backup that is restored adds one to.
    case ledgers
    /// Ranges of missing entries.
    case gaps

    var limit: Int {
      switch self {
      case .entries: 250_000
      case .bytes: 500_000_000
      case .days: 2000
      case .ledgers: 100
      case .gaps: 10_000
      }
    }
  }

  /// The entries received from a kiosk in an hour.
  private struct Usage {
    let began: ContinuousClock.Instant
    var entries = 0
    var bytes = 0
    /// Days since 1970 in UTC.
    var days: Set<Int64> = []
  }

  static let period = Duration.seconds(3600)

  private var usages: [KioskID: Usage] = [:]

  /// Records entries of a kiosk.
  ///
  /// - Parameter bytes: The length of all the entries.
  /// - Returns: The quota that they exceed, with the rest of its hour, or `nil` if they exceed none.
  mutating func add(
    _ times: some Collection<Timestamp>, bytes: Int, of kiosk: KioskID,
    at now: ContinuousClock.Instant
  ) -> (quota: Quota, rest: Duration)? {
    var usage = usages.removeValue(forKey: kiosk) ?? Usage(began: now)
    if now - usage.began >= Self.period { usage = Usage(began: now) }
    usage.entries += times.count
    usage.bytes += bytes
    var last: Int64?
    for time in times where usage.days.count <= Quota.days.limit {
      let day = time.milliseconds / 86_400_000
      if day != last { usage.days.insert(day) }
      last = day
    }
    usages[kiosk] = usage
    let rest = Self.period - (now - usage.began)
    if usage.entries > Quota.entries.limit { return (.entries, rest) }
    if usage.bytes > Quota.bytes.limit { return (.bytes, rest) }
    return usage.days.count > Quota.days.limit ? (.days, rest) : nil
  }
}
