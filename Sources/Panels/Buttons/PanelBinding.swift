package import KioskMessages

/// A device with buttons, and what its presses mean.
package struct PanelBinding: Hashable, Sendable {
  /// The panel's name in the ledger, and where its results go: `order/<name>/result`.
  package var name: String
  package var dialect: Dialect
  /// The device's own topic; of a generic one a topic filter.
  package var topic: String
  /// By the name of a press, in lower case.
  package var buttons: [String: Command]
  /// The same press again within this time of the last is the same one; `nil`: as usual.
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

  /// What a message of the device asks of the kiosk: nothing where a press is not bound.
  ///
  /// - Parameters:
  ///   - topic: on which it came; one that the filters select.
  ///   - isRetained: the broker had kept it. Nobody presses now, but what it marks has happened.
  /// - Throws: `Unreadable` if a press may be in it and cannot be told.
  package func read(
    _ payload: [UInt8], on topic: String, isRetained: Bool
  ) throws(Unreadable) -> PanelReading {
    let signal = try dialect.read(payload, on: topic, of: self.topic)
    // guard: a message of a device that the broker kept is no press
    let presses = isRetained ? [] : signal.presses
    return PanelReading(
      requests: presses.compactMap { press in
        press.names.lazy.compactMap { buttons[$0] }.first.map { command in
          let source = Source(kind: command.kind, name: name)
          return PanelReading.Asked(
            source: source, request: Request(id: press.id, command: command),
            debounce: dialect.debounce(of: press, usually: debounce))
        }
      },
      mark: signal.mark.map { PanelReading.Mark($0, of: name, isRetained: isRetained) })
  }
}

/// What a message of a bound device comes to.
package struct PanelReading: Hashable, Sendable {
  package let requests: [Asked]
  package let mark: Mark?

  package struct Asked: Hashable, Sendable {
    package let source: Source
    package let request: Request
    /// The same press again within this time is the same one; `nil`: as the kiosk has it.
    package let debounce: Duration?
  }

  /// What to remember of a message, so that the same one again is known.
  package struct Mark: Hashable, Sendable {
    /// The kiosk's own: no two devices share one.
    package let key: String
    package let value: String
    /// The same value under this key, too, means that it is the same message.
    package let twin: String?
    /// How often the device says its last event again, however old that is; `nil`: it does not.
    package let repetition: Duration?
  }
}

extension PanelReading.Mark {
  /// A counter that the broker kept may be older than the last one, and comes again with each
  /// subscription: it has a place of its own. The state of a contact is the newest in either case.
  fileprivate init(_ mark: Signal.Mark, of panel: String, isRetained: Bool) {
    let live = "\(panel)/\(mark.key)"
    let kept = live + " (kept)"
    value = mark.value
    repetition = mark.kind == .repeatedCounter && !isRetained ? ShellyGen1.repetition : nil
    switch (mark.kind, isRetained) {
    case (.contact, _): (key, twin) = (live, nil)
    case (_, false): (key, twin) = (live, kept)
    case (_, true): (key, twin) = (kept, nil)
    }
  }
}
