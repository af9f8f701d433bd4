import KioskProtocol

/// The undelivered messages, the oldest first, each with its remaining receivers.
struct NotificationQueue: Sendable, Equatable {
  /// Maximum number of messages.
  static let limit = 100
  /// Age at which an undelivered message is discarded.
  static let maximumAge = Duration.seconds(24 * 3600)

  private var entries: [Entry] = []

  private struct Entry: Hashable {
    let notification: Notification
    /// The names of the receivers that have not received it yet.
    var receivers: [String]
  }

  init() {}

  var count: Int { entries.count }

  /// Appends a message.
  ///
  /// - Returns: Whether the oldest message was discarded because the queue was full.
  mutating func append(_ notification: Notification, for receivers: [String]) -> Bool {
    entries.append(Entry(notification: notification, receivers: receivers))
    guard entries.count > Self.limit else { return false }
    entries.removeFirst()
    return true
  }

  /// Returns the oldest message for the receiver, except for the refused ones.
  func next(for receiver: String, except refused: Set<Notification.ID> = []) -> Notification? {
    entries.first { $0.receivers.contains(receiver) && !refused.contains($0.notification.id) }?
      .notification
  }

  mutating func markDelivered(_ id: Notification.ID, to receiver: String) {
    guard let index = entries.firstIndex(where: { $0.notification.id == id }) else { return }
    entries[index].receivers.removeAll { $0 == receiver }
    if entries[index].receivers.isEmpty { entries.remove(at: index) }
  }

  /// Removes expired messages.
  ///
  /// - Returns: The number of messages removed.
  mutating func removeExpired(at now: Timestamp) -> Int {
    let before = entries.count
    entries.removeAll { now.since($0.notification.at) >= Self.maximumAge }
    return before - entries.count
  }
}

// The queue as JSON, for the disk.
extension NotificationQueue {
  func write(to json: inout JSONWriter) {
    json.member("messages", entries) { json, entry in
      entry.notification.write(to: &json)
      json.member("to", entry.receivers)
    }
  }

  /// Reads a queue. Skips messages that cannot be read, and receivers that are not in `receivers`.
  init(_ json: JSON, receivers: [String]) {
    entries = (json.elements("messages") ?? []).prefix(Self.limit).compactMap { entry in
      let to = (entry.elements("to") ?? []).compactMap { to in
        if case .string(let name) = to, receivers.contains(name) { name } else { nil }
      }
      guard let notification = Notification(entry), !to.isEmpty else { return nil }
      return Entry(notification: notification, receivers: to)
    }
  }
}
