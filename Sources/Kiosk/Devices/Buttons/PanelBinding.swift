package import KioskProtocol

/// A device with buttons, and what its presses mean.
package struct PanelBinding: Hashable, Sendable {
  /// The panel's name in the ledger, and where its results go: `order/<name>/result`.
  package var name: String
  package var dialect: Dialect
  /// The device's own topic; for a generic device a topic filter.
  package var topic: String
  /// What a press asks for, by the name of the press in lower case.
  package var buttons: [String: Command]
  /// An equal press within this time of the last one counts as the same press; `nil`: the kiosk's own
  /// setting.
  package var debounce: Duration?
  package var feedback: Feedback

  package init(
    name: String, dialect: Dialect, topic: String, buttons: [String: Command],
    debounce: Duration? = nil, feedback: Feedback = Feedback()
  ) {
    self.name = name
    self.dialect = dialect
    self.topic = topic
    self.buttons = buttons
    self.debounce = debounce ?? dialect.usualDebounce
    self.feedback = feedback
  }

  package var filters: [String] { dialect.filters(of: topic) }

  /// What a message of the device asks of the kiosk: nothing if its press is not bound.
  ///
  /// - Parameters:
  ///   - topic: the topic on which the message came; one that the filters select.
  ///   - isRetained: whether the broker had kept the message. Nobody presses now, but what it marks has
  ///     happened.
  /// - Throws: `Unreadable` if the message may hold a press that cannot be read.
  package func read(
    _ payload: [UInt8], on topic: String, isRetained: Bool
  ) throws(Unreadable) -> PanelMessage {
    let signal = try dialect.read(payload, on: topic, of: self.topic)
    // guard: a message of a device that the broker kept is no press
    let presses = isRetained ? [] : signal.presses
    return PanelMessage(
      requests: presses.compactMap { press in
        press.names.lazy.compactMap { buttons[$0] }.first.map { command in
          let source = Source(kind: command.kind, name: name)
          return PanelMessage.PanelRequest(
            source: source, request: Request(id: press.id, command: command),
            debounce: dialect.debounce(of: press, usually: debounce))
        }
      },
      mark: signal.mark.map { PanelMessage.Mark($0, of: name, isRetained: isRetained) })
  }
}

/// What the kiosk reads from a message of a bound device.
package struct PanelMessage: Hashable, Sendable {
  package let requests: [PanelRequest]
  package let mark: Mark?

  package struct PanelRequest: Hashable, Sendable {
    package let source: Source
    package let request: Request
    /// An equal press within this time counts as the same press; `nil`: the kiosk's own setting.
    package let debounce: Duration?
  }

  /// What to remember of a message, so that the kiosk knows it when it comes again.
  package struct Mark: Hashable, Sendable {
    /// No two devices share a key.
    package let key: String
    package let value: String
    /// An equal value under this other key also means the same message.
    package let alternateKey: String?
    /// How often the device repeats its last event, however old that is; `nil`: never.
    package let repetition: Duration?
  }
}

extension PanelMessage.Mark {
  /// A counter in a retained message may be older than the last one, and comes again with each
  /// subscription. So it has a key of its own. A retained state of a contact is always the newest.
  fileprivate init(_ mark: Signal.Mark, of panel: String, isRetained: Bool) {
    let live = "\(panel)/\(mark.key)"
    let kept = live + " (kept)"
    value = mark.value
    repetition = mark.kind == .repeatedCounter && !isRetained ? ShellyGen1.repetition : nil
    switch (mark.kind, isRetained) {
    case (.contact, _): (key, alternateKey) = (live, nil)
    case (_, false): (key, alternateKey) = (live, kept)
    case (_, true): (key, alternateKey) = (kept, nil)
    }
  }
}
