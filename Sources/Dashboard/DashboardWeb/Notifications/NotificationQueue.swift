import Fleet
import KioskProtocol

/// The undelivered messages, the oldest first, each with its remaining receivers.
struct NotificationQueue: Sendable, Equatable {
  /// Maximum number of messages.
  static let limit = 100
  /// Age at which the queue discards an undelivered message.
  static let maximumAge = Duration.seconds(24 * 3600)

  typealias Instant = ContinuousClock.Instant

  private var entries: [Entry] = []

  struct Entry: Hashable {
    let notification: Notification
    /// The transitions that the message reports, without those of alerts that a later message in
    /// the queue reports, too. The whole queue has at most `AlertEvaluator.maximum` transitions.
    fileprivate(set) var transitions: [AlertEvaluator.Transition]
    /// The time of queuing on the monotonic clock, because the wall clock may be set meanwhile.
    fileprivate let queuedAt: Instant
    /// The names of the receivers that have not received the message yet.
    fileprivate(set) var receivers: [String]
  }

  init() {}

  var count: Int { entries.count }

  mutating func append(
    _ notification: Notification, about transitions: [AlertEvaluator.Transition],
    for receivers: [String], at now: Instant
  ) {
    let alerts = Set(transitions.map(\.alert))
    for index in entries.indices {
      entries[index].transitions.removeAll { alerts.contains($0.alert) }
    }
    let room = AlertEvaluator.maximum - entries.reduce(0) { $0 + $1.transitions.count }
    entries.append(
      Entry(
        notification: notification, transitions: Array(transitions.prefix(max(0, room))),
        queuedAt: now, receivers: receivers))
  }

  /// Returns the oldest message for the receiver that is neither refused nor expired, and its age.
  func next(
    for receiver: String, except refused: Set<Notification.ID> = [], at now: Instant
  ) -> (notification: Notification, age: Duration)? {
    entries.first {
      $0.receivers.contains(receiver) && !refused.contains($0.notification.id)
        && now - $0.queuedAt < Self.maximumAge
    }
    .map { ($0.notification, now - $0.queuedAt) }
  }

  mutating func markDelivered(_ id: Notification.ID, to receiver: String) {
    guard let index = entries.firstIndex(where: { $0.notification.id == id }) else { return }
    entries[index].receivers.removeAll { $0 == receiver }
    if entries[index].receivers.isEmpty { entries.remove(at: index) }
  }

  /// Removes and returns the expired messages.
  mutating func removeExpired(at now: Instant) -> [Entry] {
    let expired = entries.filter { now - $0.queuedAt >= Self.maximumAge }
    entries.removeAll { now - $0.queuedAt >= Self.maximumAge }
    return expired
  }

  /// Removes and returns the two oldest messages if there are more than `limit` messages. The
  /// caller replaces both by one message.
  mutating func removeSurplus() -> [Entry] {
    guard entries.count > Self.limit else { return [] }
    defer { entries.removeFirst(2) }
    return Array(entries.prefix(2))
  }
}

// The queue as JSON, for the disk.
extension NotificationQueue {
  func write(to json: inout JSONWriter) {
    json.member("messages", entries) { json, entry in
      entry.notification.write(to: &json)
      json.member("about", entry.transitions) { $1.write(to: &$0) }
      json.member("to", entry.receivers)
    }
  }

  /// Reads a queue. Omits unreadable messages, names that are not in `receivers`, and messages
  /// without a receiver.
  ///
  /// - Parameters:
  ///   - now: The time of the monotonic clock.
  ///   - time: The wall-clock time, which includes the time in which no dashboard ran.
  init(_ json: JSON, receivers: [String], at now: Instant, time: Timestamp) {
    entries = (json.elements("messages") ?? []).prefix(Self.limit).compactMap { entry in
      let to = (entry.elements("to") ?? []).compactMap { to in
        if case .string(let name) = to, receivers.contains(name) { name } else { nil }
      }
      guard let notification = Notification(entry), !to.isEmpty else { return nil }
      let age = min(max(.zero, time.since(notification.at)), Self.maximumAge)
      return Entry(
        notification: notification,
        transitions: (entry.elements("about") ?? []).compactMap { AlertEvaluator.Transition($0) },
        queuedAt: now - age, receivers: to)
    }
  }
}
