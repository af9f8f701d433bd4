package import JuiceDomain

/// A message that the kiosk pushes to a device.
package struct Push: Hashable, Sendable {
  package var topic: String
  package var payload: Template

  package init(topic: String, payload: Template) {
    self.topic = topic
    self.payload = payload
  }
}

/// A screen, a part of one, or a lamp, which shows what the kiosk tells it to.
package struct Display: Hashable, Sendable {
  package var content: Content
  package var retain: Bool
  /// The device's own message that it has come back, and shows nothing yet.
  package var birth: Birth?
  /// Changes that follow each other more quickly are shown as one.
  package var maximumPerSecond: Int

  package init(
    content: Content, retain: Bool = false, birth: Birth? = nil,
    maximumPerSecond: Int = Self.usualMaximumPerSecond
  ) {
    self.content = content
    self.retain = retain
    self.birth = birth
    self.maximumPerSecond = maximumPerSecond
  }

  package static let usualMaximumPerSecond = 2

  package enum Content: Hashable, Sendable {
    case text(Push)
    /// One of two messages, by whether a glass of the juice can be made.
    case availability(Juice.ID, available: Push?, soldOut: Push?)
  }

  /// The message for now; `nil` if there is none for this case.
  ///
  /// - Parameters:
  ///   - value: what to put into a gap of a template.
  ///   - servings: how many glasses of a juice can be made.
  package func push(
    filling value: (Template.Placeholder) -> String?, servings: (Juice.ID) -> Int
  ) -> (topic: String, payload: String)? {
    let push: Push? =
      switch content {
      case .text(let push): push
      case .availability(let juice, let available, let soldOut):
        servings(juice) > 0 ? available : soldOut
      }
    return push.map { ($0.topic, $0.payload.fill(value)) }
  }

  /// Whether the display shows if the kiosk is online.
  package var showsStatus: Bool {
    if case .text(let push) = content {
      push.payload.placeholders.contains(.kioskStatus)
    } else {
      false
    }
  }
}

/// What a panel is told about its own orders, in messages that its device understands.
package struct Feedback: Hashable, Sendable {
  package var ready: Push?
  package var outOfStock: Push?
  package var rejected: Push?

  package init(ready: Push? = nil, outOfStock: Push? = nil, rejected: Push? = nil) {
    self.ready = ready
    self.outOfStock = outOfStock
    self.rejected = rejected
  }
}
