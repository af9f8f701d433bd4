import Devices
import KioskProtocol

/// The last value of each device counter and contact, by its key. A message with the same value is
/// a repeat, not a press.
struct DeviceMarks: Sendable {
  private var values: Journaled<String, RecentCounters>
  /// The uptime at the last reconnect after the kiosk was offline for an unknown time, or longer
  /// than the maximum age of an order. A press before that reconnect must not count.
  private var reconnectedAt: Duration?
  /// The keys of devices that repeat their last message, and have sent a message since the
  /// reconnect.
  private var receivedSinceReconnect: Set<String> = []
  /// The uptime at which this process received each counter with late copies, by key and value.
  private var uptimes: [String: [String: Duration]] = [:]

  /// The number of keys of each panel and remote.
  private var counts: [String: Int] = [:]

  /// The maximum number of keys of a panel or remote: a device that sends ever new keys must not exhaust
  /// the memory, or stop other devices.
  static let maximum = 1_000

  /// Creates the marks from the content of the ledger, without those of removed panels.
  init(_ values: [String: RecentCounters], of panels: [PanelBinding]) {
    self.values = Journaled(values)
    let owners = panels.reduce(into: Set<String>()) { $0.formUnion($1.markOwners) }
    for key in values.keys {
      let owner = PanelMessage.Mark.owner(of: key)
      if owners.contains(owner) {
        counts[owner, default: 0] += 1
      } else {
        self.values[key] = nil
      }
    }
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: DeviceMarks) {
    (reconnectedAt, receivedSinceReconnect) = (other.reconnectedAt, other.receivedSinceReconnect)
    uptimes = other.uptimes.filter { values[$0.key] != nil }
  }

  /// Records a reconnect of the kind that `reconnectedAt` describes.
  mutating func reconnected(at now: Moment) {
    reconnectedAt = now.uptime
    receivedSinceReconnect = []
  }

  /// Stores the mark of a message.
  ///
  /// - Returns: Whether the message counts: it has no mark; or its mark is for one key, has a new
  ///   value and is stored, and the message cannot be a repeat of an old press or the late copy of
  ///   a recent one.
  mutating func register(_ mark: PanelMessage.Mark?, at now: Moment) -> Bool {
    guard let mark else { return true }
    guard !mark.isForAll else {
      for key in values.records.keys where key.utf8.starts(with: mark.key.utf8) {
        values[key] = RecentCounters(mark.value)
      }
      return false
    }
    let known = [mark.key, mark.alternateKey].compactMap(\.self)
    let isFirst = values[mark.key] == nil
    // guard: a device's counter that has not moved is no press
    guard !known.contains(where: { values[$0]?.last == mark.value }) else {
      if mark.repetition != nil { receivedSinceReconnect.insert(mark.key) }
      if isFirst { store(mark, at: now) }
      return false
    }
    // guard: a copy that arrives after the next press is no press
    if isLateCopy(mark, at: now) { return false }
    guard store(mark, at: now) else { return false }
    guard let repetition = mark.repetition else { return true }
    // The first message of a device that repeats its last message, and its first message after the
    // reconnect, may repeat a press that is hours old.
    let isFirstSince = receivedSinceReconnect.insert(mark.key).inserted
    guard !isFirst else { return false }
    guard let reconnectedAt, now.uptime - reconnectedAt < repetition else { return true }
    return !isFirstSince
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction) { values.save(in: &transaction) }

  private func isLateCopy(_ mark: PanelMessage.Mark, at now: Moment) -> Bool {
    guard let counters = values[mark.key] else { return false }
    return counters.contains(mark.value, at: now, receivedAt: uptimes[mark.key]?[mark.value])
  }

  /// Stores a mark, unless its key is new and its panel or remote has `maximum` keys already.
  ///
  /// - Returns: Whether the mark is stored.
  @discardableResult
  private mutating func store(_ mark: PanelMessage.Mark, at now: Moment) -> Bool {
    let before = values[mark.key]
    if before == nil {
      let owner = PanelMessage.Mark.owner(of: mark.key)
      guard counts[owner, default: 0] < Self.maximum else { return false }
      counts[owner, default: 0] += 1
    }
    guard mark.hasLateCopies else {
      values[mark.key] = RecentCounters(mark.value)
      return true
    }
    let counters = (before ?? RecentCounters()).adding(mark.value, at: now.timestamp)
    values[mark.key] = counters
    var known = uptimes[mark.key]?.filter { counters.values.contains($0.key) } ?? [:]
    known[mark.value] = now.uptime
    uptimes[mark.key] = known
    return true
  }
}
