/// Tracks which retained topics hold a message of this kiosk, to clear those that a new configuration
/// does not use.
struct PublishedTopics: Sendable {
  /// The topics that the ledger has recorded.
  private(set) var known: Set<String>
  private var pending: (current: Set<String>, serial: UInt64, since: Duration)?

  /// Time after which the broker has saved to disk that the obsolete topics are cleared, if the
  /// connection lasts as long. A broker that is killed earlier restores the old messages (mosquitto saves
  /// every 30 minutes by default), so until then the kiosk clears the topics on each connection.
  private static let clearingTime = Duration.seconds(3_600)

  /// Maximum number of known topics with which a menu may bring new ones. A connection begins with a
  /// message on each known topic, and with up to 20,000 repeated answers and events; a client can
  /// have 32,768 unconfirmed messages.
  static let maximum = 5_000

  init(known: Set<String>) { self.known = known }

  /// Returns the reason why the kiosk must not use further topics now, or `nil`.
  func objection(to used: [String]) -> String? {
    guard known.count > Self.maximum, !known.isSuperset(of: used) else { return nil }
    let reason = "more than \(Self.maximum) topics have messages of this kiosk"
    guard let pending, pending.current.count <= Self.maximum else { return reason }
    return "\(reason); those of former fruits and juices are free after an hour online: try again "
      + "then"
  }

  func obsolete(comparedTo current: Set<String>) -> [String] {
    known.subtracting(current).sorted()
  }

  /// Returns the topics to record before `current` is published, or `nil` if the ledger has
  /// recorded them.
  func topicsToStore(_ current: Set<String>) -> Set<String>? {
    current.isSubset(of: known) ? nil : known.union(current)
  }

  /// Records that the ledger has stored the topics.
  mutating func stored(_ topics: Set<String>) { known = topics }

  /// Records that obsolete topics were cleared and `current` was published.
  ///
  /// - Parameters:
  ///   - serial: The serial number of the last publication.
  ///   - uptime: The time by the monotonic clock.
  mutating func published(_ current: Set<String>, serial: UInt64, at uptime: Duration) {
    let since = pending?.current == current ? pending?.since : nil
    pending = current == known ? nil : (current, serial, since ?? uptime)
  }

  /// Returns the topics to keep in the ledger; or `nil` if there are no obsolete topics, or until the
  /// broker has saved to disk that these are cleared.
  ///
  /// - Parameters:
  ///   - serial: The serial number up to which the broker has confirmed publications.
  ///   - uptime: The time by the monotonic clock.
  mutating func confirmed(through serial: UInt64, at uptime: Duration) -> Set<String>? {
    guard let pending, pending.serial <= serial, uptime - pending.since >= Self.clearingTime else {
      return nil
    }
    self.pending = nil
    known = pending.current
    return known
  }

  mutating func connectionLost() { pending = nil }
}
