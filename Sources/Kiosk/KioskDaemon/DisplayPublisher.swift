import Devices
import KioskCore
import KioskProtocol
import MessageBroker

/// Tracks the message that each display shows, and limits the rate of the display's updates.
struct DisplayPublisher: Sendable {
  private var screens: [Screen]

  private struct Screen {
    let display: Display
    /// The message that the display shows, or `nil` if the message is unknown.
    var shown: Message?
    var shownAt: Timestamp?
    /// Whether the state may have changed since `due` last checked this display.
    var hasChanges = true

    /// Returns the time until the next update is allowed, or `nil` if it is allowed now.
    func delay(at now: Timestamp) -> Duration? {
      let interval = Duration.seconds(1) / display.maximumPerSecond
      guard let shownAt, now.isWithin(interval, of: shownAt) else { return nil }
      return interval - now.since(shownAt)
    }

    mutating func reset() { (shown, hasChanges) = (nil, true) }
  }

  init(_ displays: [Display]) { screens = displays.map { Screen(display: $0) } }

  /// Records that the state may have changed.
  mutating func stateChanged() {
    for index in screens.indices { screens[index].hasChanges = true }
  }

  /// Records that the content of the displays is unknown.
  mutating func connectionLost() {
    for index in screens.indices {
      screens[index].reset()
      screens[index].shownAt = nil
    }
  }

  /// Resets each display whose birth message has arrived: it has restarted, and shows nothing. The limit of
  /// its updates still applies.
  mutating func handle(_ deliveries: [Delivery]) {
    for index in screens.indices {
      guard let birth = screens[index].display.birth else { continue }
      let isBack = deliveries.contains {
        birth.matches(topic: $0.message.topic, payload: $0.message.payload)
      }
      if isBack { screens[index].reset() }
    }
  }

  /// Returns the messages to publish now, and counts them as shown.
  mutating func due(at now: Timestamp, showing message: (Display) -> Message?) -> [Message] {
    var messages: [Message] = []
    for index in screens.indices where screens[index].hasChanges {
      guard screens[index].delay(at: now) == nil else { continue }
      screens[index].hasChanges = false
      let next = message(screens[index].display)
      guard next != screens[index].shown else { continue }
      // Also without a message: after it, the next one may equal the last one.
      screens[index].shown = next
      guard let next else { continue }
      screens[index].shownAt = now
      messages.append(next)
    }
    return messages
  }

  /// Returns the time until the next update of a display, or `nil` if no display has changes.
  func wait(at now: Timestamp) -> Duration? {
    screens.lazy.filter(\.hasChanges).map { $0.delay(at: now) ?? .zero }.min()
  }
}
