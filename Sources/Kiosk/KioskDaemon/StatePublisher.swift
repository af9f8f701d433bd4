import KioskCore
import KioskProtocol
import MessageBroker

/// Determines which retained messages have changed, and when to publish them.
///
/// The controller publishes the state when no deliveries are waiting, and at least every 50 ms
/// during a burst of orders. Publishing more often would cost the broker and each display as much
/// as an order, for states that are replaced before they can be read.
struct StatePublisher: ~Copyable, Sendable {
  /// Maximum delay of a changed state during a burst of orders.
  private static let longestDelay = Duration.milliseconds(50)

  private var lastPublished: Kiosk
  /// The uptime of the first change since the last publication, or `nil` if there is none.
  private var changedAt: Duration?

  init(lastPublished: consuming Kiosk) { self.lastPublished = lastPublished }

  var isBehind: Bool { changedAt != nil }

  func isOverdue(at uptime: Duration) -> Bool {
    changedAt.map { uptime - $0 >= Self.longestDelay } ?? false
  }

  /// Records that the state may have changed.
  mutating func changed(at uptime: Duration) { changedAt = changedAt ?? uptime }

  mutating func published(_ core: borrowing Kiosk) {
    lastPublished = core.copy()
    changedAt = nil
  }

  /// Returns the messages to publish now, and counts them as published.
  mutating func due(_ core: borrowing Kiosk, _ topics: KioskTopics, at now: Timestamp) -> [Message]
  {
    let messages = topics.changes(from: lastPublished, to: core, at: now)
    published(core)
    return messages
  }
}
