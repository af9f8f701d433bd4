import KioskProtocol

/// The messages that are still to be delivered, the oldest first, each with its receivers.
struct NotificationQueue: Sendable, Equatable {
  /// So many messages are kept at most.
  static let limit = 100
  /// A message that could not be delivered for so long is given up.
  static let maximumAge = Duration.seconds(24 * 3600)

  private var entries: [Entry] = []

  private struct Entry: Hashable {
    let notification: Notification
    /// The names of the receivers that still have to get it.
    var receivers: [String]
  }

  init() {}

  var count: Int { entries.count }

  /// - Returns: whether the oldest message had to go.
  mutating func append(_ notification: Notification, for receivers: [String]) -> Bool {
    entries.append(Entry(notification: notification, receivers: receivers))
    guard entries.count > Self.limit else { return false }
    entries.removeFirst()
    return true
  }

  /// The receiver's oldest message, leaving out the refused ones.
  func next(for receiver: String, except refused: Set<Notification.ID> = []) -> Notification? {
    entries.first { $0.receivers.contains(receiver) && !refused.contains($0.notification.id) }?
      .notification
  }

  mutating func markDelivered(_ id: Notification.ID, to receiver: String) {
    guard let index = entries.firstIndex(where: { $0.notification.id == id }) else { return }
    entries[index].receivers.removeAll { $0 == receiver }
    if entries[index].receivers.isEmpty { entries.remove(at: index) }
  }

  /// - Returns: how many messages were given up.
  mutating func removeExpired(at now: Timestamp) -> Int {
    let before = entries.count
    entries.removeAll { now.since($0.notification.at) >= Self.maximumAge }
    return before - entries.count
  }
}

// As JSON, for the disk.
extension NotificationQueue {
  func write(to json: inout JSONWriter) {
    json.member("messages", entries) { json, entry in
      entry.notification.write(to: &json)
      json.member("to", entry.receivers)
    }
  }

  /// Leaves out messages that cannot be read, and receivers that are not in `receivers` any more.
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
