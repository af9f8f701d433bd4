import KioskCore
import KioskProtocol
import MessageBroker

/// What the retained topics say of the state, and when it is to be told again.
///
/// While orders follow each other it is told now and then: what nobody could have read before it has
/// changed again costs the broker, and each display, as much as an order.
struct StatePublisher: Sendable {
  /// The state is not behind for longer, however many orders come.
  private static let longestDelay = Duration.milliseconds(50)

  private var lastPublished: Kiosk
  /// When it became another than the one that was told, by the clock that nobody sets.
  private var changedAt: Duration?

  init(lastPublished: Kiosk) { self.lastPublished = lastPublished }

  var isBehind: Bool { changedAt != nil }

  func isOverdue(at uptime: Duration) -> Bool {
    changedAt.map { uptime - $0 >= Self.longestDelay } ?? false
  }

  /// The state may be another.
  mutating func changed(at uptime: Duration) { changedAt = changedAt ?? uptime }

  mutating func published(_ core: Kiosk) { (lastPublished, changedAt) = (core, nil) }

  /// What is to be told now, which counts as told.
  mutating func due(_ core: Kiosk, _ topics: KioskTopics, at now: Timestamp) -> [Message] {
    defer { published(core) }
    return topics.changes(from: lastPublished, to: core, at: now)
  }
}
