package import KioskProtocol

/// The last value of a device's counter or contact. Of a counter with late copies the last values, the
/// newest first.
///
/// Several gateways receive one remote, each with its own delay. One gateway may deliver the copy of
/// a press after another gateway has delivered the next press: 12, 13, 12.
package struct RecentCounters: Hashable, Sendable {
  private var counters: [Counter]

  fileprivate struct Counter: Hashable {
    let value: String
    /// The time of the press, or `nil` if there are no late copies.
    let at: Timestamp?
  }

  /// The time for which a copy may be late.
  static let copyTime = Duration.seconds(30)
  /// The maximum number of stored counters.
  static let kept = 8

  init() { counters = [] }

  package init(_ value: String) { counters = [Counter(value: value, at: nil)] }

  /// The last value.
  var last: String? { counters.first?.value }

  /// The values of the counters.
  var values: [String] { counters.map(\.value) }

  /// Returns whether a press with the counter was received less than `copyTime` before. Compares
  /// the uptimes if the uptime of the press is known. Otherwise the clock may have been set back
  /// since, and a press less than `copyTime` later counts as well.
  ///
  /// - Parameter uptime: The uptime at that press, or `nil` for a press before this process started.
  func contains(_ value: String, at now: Moment, receivedAt uptime: Duration?) -> Bool {
    counters.contains { counter in
      guard counter.value == value, let at = counter.at else { return false }
      if let uptime { return now.uptime - uptime < Self.copyTime }
      let time = now.timestamp
      return time.isWithin(Self.copyTime, of: at) || at.isWithin(Self.copyTime, of: time)
    }
  }

  /// Returns the counters after one more press.
  func adding(_ value: String, at now: Timestamp) -> RecentCounters {
    var next = self
    next.counters =
      [Counter(value: value, at: now)]
      + counters.filter { $0.value != value && $0.at != nil }.prefix(Self.kept - 1)
    return next
  }
}

extension RecentCounters: StateRecord {
  package static let kind = StateKey.Kind.mark

  package init(_ members: inout Members<Self>) throws(JSONError) {
    counters = try members.all("counters", \.counters)
  }
}

extension RecentCounters.Counter: FormattedMessage {
  init(_ members: inout Members<Self>) throws(JSONError) {
    value = try members.required("value", \.value)
    at = members.optional("at", \.at)
  }
}
