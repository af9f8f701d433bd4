import Devices
import KioskProtocol

/// The last value of each device counter and contact, by its key. A message with the same value is
/// a repeat, not a press.
struct DeviceMarks: Sendable {
  private var values: [String: String]
  /// The time of the last reconnect after the kiosk was offline for an unknown time, or longer than
  /// the maximum age of an order. A press before that reconnect must not count.
  private var reconnectedAt: Timestamp?
  /// The keys of devices that repeat their last message, and have sent a message since the
  /// reconnect.
  private var receivedSinceReconnect: Set<String> = []

  /// The maximum number of keys: a device that sends ever new keys must not exhaust the memory.
  static let maximum = 10_000

  init(_ values: [String: String]) { self.values = values }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: DeviceMarks) {
    (reconnectedAt, receivedSinceReconnect) = (other.reconnectedAt, other.receivedSinceReconnect)
  }

  /// Records a reconnect of the kind that `reconnectedAt` describes.
  mutating func reconnected(at now: Timestamp) {
    reconnectedAt = now
    receivedSinceReconnect = []
  }

  /// Stores the mark of a message.
  ///
  /// - Parameter changed: Receives the values to store in the ledger.
  /// - Returns: Whether the message counts: it has no mark; or its mark is for one key, has a new
  ///   value and is stored, and the message cannot be a repeat of an old press or the late copy of
  ///   a recent one.
  mutating func register(
    _ mark: PanelMessage.Mark?, at now: Timestamp, into changed: inout [String: String]
  ) -> Bool {
    guard let mark else { return true }
    guard !mark.isForAll else {
      for key in values.keys where key.utf8.starts(with: mark.key.utf8) {
        values[key] = mark.value
        changed[key] = mark.value
      }
      return false
    }
    let known = [mark.key, mark.alternateKey].compactMap(\.self)
    let isFirst = values[mark.key] == nil
    let counted = mark.hasLateCopies ? RecentCounters(values[mark.key]) : RecentCounters()
    // guard: a device's counter that has not moved is no press
    guard !known.contains(where: { last(of: $0, mark) == mark.value }) else {
      if mark.repetition != nil { receivedSinceReconnect.insert(mark.key) }
      if isFirst { store(mark, after: counted, at: now, into: &changed) }
      return false
    }
    // guard: a copy that arrives after the next press is no press
    if counted.contains(mark.value, at: now) { return false }
    guard store(mark, after: counted, at: now, into: &changed) else { return false }
    guard let repetition = mark.repetition else { return true }
    // The first message of a device that repeats its last message, and its first message after the
    // reconnect, may repeat a press that is hours old.
    let isFirstSince = receivedSinceReconnect.insert(mark.key).inserted
    guard !isFirst else { return false }
    guard let reconnectedAt, now.isWithin(repetition, of: reconnectedAt) else { return true }
    return !isFirstSince
  }

  /// Returns the last value of a key of the same kind as the mark.
  private func last(of key: String, _ mark: PanelMessage.Mark) -> String? {
    mark.hasLateCopies ? RecentCounters(values[key]).last : values[key]
  }

  /// Stores a mark, unless its key is new and there are `maximum` keys already.
  ///
  /// - Returns: Whether the mark is stored.
  @discardableResult
  private mutating func store(
    _ mark: PanelMessage.Mark, after counted: RecentCounters, at now: Timestamp,
    into changed: inout [String: String]
  ) -> Bool {
    guard values[mark.key] != nil || values.count < Self.maximum else { return false }
    let value = mark.hasLateCopies ? counted.adding(mark.value, at: now).text : mark.value
    values[mark.key] = value
    changed[mark.key] = value
    return true
  }
}
