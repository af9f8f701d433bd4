import KioskProtocol

/// The last counters of a remote, the newest first.
///
/// Several gateways receive one remote, each with its own delay. One gateway may deliver the copy of
/// a press after another gateway has delivered the next press: 12, 13, 12.
struct RecentCounters: Sendable {
  private var counters: [(value: String, at: Timestamp)] = []

  /// The time for which a copy may be late.
  static let copyTime = Duration.seconds(30)
  /// The maximum number of stored counters.
  static let kept = 8

  init() {}

  /// Reads the text that `text` returned. Returns no counters for `nil` and for any other text.
  init(_ text: String?) {
    guard let text, let json = try? JSON.parse(Array(text.utf8)),
      case .array(let values)? = json["values"], case .array(let times)? = json["times"]
    else { return }
    counters = zip(values, times).compactMap { value, time in
      guard case .string(let value) = value, case .integer(let time) = time else { return nil }
      return (value, Timestamp(milliseconds: Int64(time)))
    }
  }

  /// The counters as the ledger stores them.
  var text: String {
    let bytes = JSONWriter.object {
      $0.member("values", counters.map(\.value))
      $0.member("times", counters.map { Int($0.at.milliseconds) })
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The counter of the last press, or `nil` if there is none.
  var last: String? { counters.first?.value }

  /// Returns whether a press with the counter was received less than `copyTime` before or after.
  /// The clock may have been set back since.
  func contains(_ value: String, at now: Timestamp) -> Bool {
    counters.contains {
      $0.value == value
        && (now.isWithin(Self.copyTime, of: $0.at) || $0.at.isWithin(Self.copyTime, of: now))
    }
  }

  /// Returns the counters after one more press.
  func adding(_ value: String, at now: Timestamp) -> RecentCounters {
    var next = self
    next.counters = [(value, now)] + counters.filter { $0.value != value }.prefix(Self.kept - 1)
    return next
  }
}
