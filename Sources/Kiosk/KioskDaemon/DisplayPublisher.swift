import Devices
import KioskCore
import KioskProtocol
import MessageBroker

/// What the displays show, and when each may be told again.
struct DisplayPublisher: Sendable {
  private var screens: [Screen]

  private struct Screen {
    let display: Display
    /// `nil` if it is not known to show anything.
    var shown: Message?
    var shownAt: Timestamp?
    /// Something may have changed that it has not been told.
    var hasChanges = true

    /// When it may be told again; `nil`: now.
    func delay(at now: Timestamp) -> Duration? {
      let interval = Duration.seconds(1) / display.maximumPerSecond
      guard let shownAt, now.isWithin(interval, of: shownAt) else { return nil }
      return interval - now.since(shownAt)
    }

    mutating func reset() { (shown, shownAt, hasChanges) = (nil, nil, true) }
  }

  init(_ displays: [Display]) { screens = displays.map { Screen(display: $0) } }

  /// The state may be another.
  mutating func stateChanged() {
    for index in screens.indices { screens[index].hasChanges = true }
  }

  /// Nobody knows what the displays show.
  mutating func connectionLost() {
    for index in screens.indices { screens[index].reset() }
  }

  /// Displays that say that they are back show nothing.
  mutating func handle(_ deliveries: [Delivery]) {
    for index in screens.indices {
      guard let birth = screens[index].display.birth else { continue }
      let isBack = deliveries.contains {
        birth.matches(topic: $0.message.topic, payload: $0.message.payload)
      }
      if isBack { screens[index].reset() }
    }
  }

  /// What is to be told now.
  mutating func due(at now: Timestamp, showing message: (Display) -> Message?) -> [Message] {
    var messages: [Message] = []
    for index in screens.indices where screens[index].hasChanges {
      guard screens[index].delay(at: now) == nil else { continue }
      screens[index].hasChanges = false
      guard let message = message(screens[index].display), message != screens[index].shown else {
        continue
      }
      screens[index].shown = message
      screens[index].shownAt = now
      messages.append(message)
    }
    return messages
  }

  /// How long until the next display may be told what it waits for; `nil` if none waits.
  func wait(at now: Timestamp) -> Duration? {
    screens.lazy.filter(\.hasChanges).map { $0.delay(at: now) ?? .zero }.min()
  }
}
