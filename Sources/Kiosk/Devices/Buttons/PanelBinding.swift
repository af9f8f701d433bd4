package import KioskProtocol

/// A device with buttons, and the commands that their presses cause.
package struct PanelBinding: Hashable, Sendable {
  /// The panel's name in the ledger and in the topics of its results, as `order/<name>/result`.
  package var name: String
  package var dialect: Dialect
  /// The device's own topic; for a generic device a topic filter.
  package var topic: String
  /// The commands, by the names of presses in lower case.
  package var buttons: [String: Command]
  /// The time after a press within which an equal press does not count again, or `nil` for the
  /// kiosk's setting. A dialect can have a default of its own.
  package var debounce: Duration?
  package var feedback: Feedback
  /// Whether an ESPHome device sleeps between presses and does not publish `OFF` before it sleeps.
  /// If so, its birth message counts as `OFF` of each contact.
  package var sleeps: Bool

  package init(
    name: String, dialect: Dialect, topic: String, buttons: [String: Command],
    debounce: Duration? = nil, feedback: Feedback = Feedback(), sleeps: Bool = false
  ) {
    self.name = name
    self.dialect = dialect
    self.topic = topic
    self.buttons = buttons
    self.debounce = debounce ?? dialect.usualDebounce
    self.feedback = feedback
    self.sleeps = sleeps
  }

  package var filters: [String] {
    dialect.filters(of: topic) + (sleeps ? [ESPHome.status(of: topic)] : [])
  }

  /// Reads the requests in a message of the device. A press that is not bound is no request.
  ///
  /// - Parameters:
  ///   - topic: The topic of the message, selected by the filters.
  ///   - isRetained: Whether the broker had retained the message. A retained message is no press,
  ///     but may have a mark.
  /// - Throws: `Unreadable` if the message may contain a press but cannot be read.
  package func read(
    _ payload: [UInt8], on topic: String, isRetained: Bool
  ) throws(Unreadable) -> PanelMessage {
    let signal =
      sleeps && topic == ESPHome.status(of: self.topic)
      ? ESPHome.start(payload) : try dialect.read(payload, on: topic, of: self.topic)
    // guard: a message of a device that the broker kept is no press
    let presses = isRetained ? [] : signal.presses
    let requests = presses.compactMap { press in
      press.names.lazy.compactMap { buttons[$0] }.first.map { command in
        let source = Source(kind: command.kind, name: name)
        return PanelMessage.PanelRequest(
          source: source, request: Request(id: press.id, command: command),
          debounce: debounce, leastDebounce: press.leastDebounce)
      }
    }
    guard let mark = signal.mark, !mark.kind.isOfPress || signal.presses.contains(where: isBound)
    else { return PanelMessage(requests: requests, mark: nil) }
    guard mark.value.utf8.count <= Signal.Mark.maximumSize else {
      throw Unreadable(
        "a counter of \(mark.value.utf8.count) bytes; at most \(Signal.Mark.maximumSize)")
    }
    return PanelMessage(
      requests: requests, mark: PanelMessage.Mark(mark, of: name, isRetained: isRetained))
  }

  private func isBound(_ press: Signal.Press) -> Bool {
    press.names.contains { buttons[$0] != nil }
  }

  /// The names of the panel and of its remotes, as `PanelMessage.Mark.owner(of:)` returns them.
  package var markOwners: Set<String> { remotes.reduce(into: [name]) { $0.insert("remote \($1)") } }
}

/// The content of a message of a bound device.
package struct PanelMessage: Hashable, Sendable {
  package let requests: [PanelRequest]
  package let mark: Mark?

  package struct PanelRequest: Hashable, Sendable {
    package let source: Source
    package let request: Request
    /// The time within which an equal press is the same press, or `nil` for the kiosk's setting.
    package let debounce: Duration?
    /// The minimum debounce, regardless of the configuration.
    package let leastDebounce: Duration
  }

  /// A value by which a repeated message is recognized.
  package struct Mark: Hashable, Sendable {
    /// The key, unique to the device and its counter or contact: its owner, a slash and a name.
    package let key: String
    package let value: String
    /// Another key, or `nil`. A message is also a repeat if the last value of this key is equal.
    package let alternateKey: String?
    /// The interval at which the device repeats its last message, regardless of the message's age;
    /// or `nil` if the device does not repeat messages, or the message is retained.
    package let repetition: Duration?
    /// Whether a gateway may deliver a copy after the next press.
    package let hasLateCopies: Bool
    /// Whether the value replaces the values of all marks whose keys begin with `key`.
    package let isForAll: Bool

    /// Returns the panel, or the remote of several panels, that a key belongs to.
    package static func owner(of key: String) -> String { String(key.prefix { $0 != "/" }) }
  }
}

extension Signal.Mark.Kind {
  /// Whether a press that is not bound needs no mark. Another panel may bind the press of a remote, and
  /// receive it later by another gateway.
  fileprivate var isOfPress: Bool {
    switch self {
    case .counter, .remoteCounter: true
    case .contact, .start, .repeatedCounter: false
    }
  }
}

extension PanelMessage.Mark {
  /// Creates the mark of a panel. The counter of a retained message gets a key of its own, because
  /// the message may be older than the last press, and the broker delivers it with each
  /// subscription. A retained state of a contact is always the newest.
  ///
  /// Returns `nil` for a retained birth message: the device may have started long ago.
  fileprivate init?(_ mark: Signal.Mark, of panel: String, isRetained: Bool) {
    // The name of a panel has no space.
    let owner = if case .remoteCounter(let remote) = mark.kind { "remote \(remote)" } else { panel }
    let live = "\(owner)/\(mark.key)"
    hasLateCopies = owner != panel || mark.kind == .counter
    isForAll = mark.kind == .start
    if isForAll, isRetained { return nil }
    let kept = live + " (kept)"
    value = mark.value
    repetition = mark.kind == .repeatedCounter && !isRetained ? ShellyGen1.repetition : nil
    switch (mark.kind, isRetained) {
    case (.contact, _), (.start, _): (key, alternateKey) = (live, nil)
    case (_, false): (key, alternateKey) = (live, kept)
    case (_, true): (key, alternateKey) = (kept, nil)
    }
  }
}
