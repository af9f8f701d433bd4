package import JuiceDomain

/// A message that the kiosk publishes for a device.
package struct Push: Hashable, Sendable {
  package var topic: String
  package var payload: Template

  package init(topic: String, payload: Template) {
    self.topic = topic
    self.payload = payload
  }
}

/// A screen, a part of one, or a lamp that shows the state of the kiosk.
package struct Display: Hashable, Sendable {
  package var content: Content
  package var retain: Bool
  /// The message by which the device reports that it has restarted and shows nothing.
  package var birth: Birth?
  /// Maximum number of updates per second. Faster changes are combined.
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
    /// One of two messages, depending on whether a glass of the juice can be made.
    case availability(Juice.ID, available: Push?, soldOut: Push?)
  }

  /// The topics of its messages.
  package var topics: [String] {
    switch content {
    case .text(let push): [push.topic]
    case .availability(_, let available, let soldOut):
      [available, soldOut].compactMap { $0?.topic }
    }
  }

  /// Returns the current message, or `nil` if no message is configured for this availability.
  ///
  /// - Parameters:
  ///   - value: Returns the text for a placeholder.
  ///   - servings: Returns the number of glasses of a juice that can be made.
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

  /// Whether the display shows the status of the kiosk.
  package var showsStatus: Bool {
    if case .text(let push) = content {
      push.payload.placeholders.contains(.kioskStatus)
    } else {
      false
    }
  }
}

/// The messages that report the results of a panel's orders to its device.
package struct Feedback: Hashable, Sendable {
  /// The customer must pay.
  package var pay: Push?
  package var ready: Push?
  package var outOfStock: Push?
  package var rejected: Push?

  package init(
    pay: Push? = nil, ready: Push? = nil, outOfStock: Push? = nil, rejected: Push? = nil
  ) {
    self.pay = pay
    self.ready = ready
    self.outOfStock = outOfStock
    self.rejected = rejected
  }
}
