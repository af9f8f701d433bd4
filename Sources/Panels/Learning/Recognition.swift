import KioskMessages

/// A device that was recognised by a press.
package struct Recognition: Hashable, Sendable {
  package let dialect: Dialect
  /// The device's own topic.
  package let topic: String
  package let press: Signal.Press

  /// The device that most likely sent a message; `nil` if the message is no press.
  package init?(_ payload: [UInt8], on topic: String) {
    for (dialect, device) in Self.candidates(for: payload, on: topic) {
      if let press = try? dialect.read(payload, on: topic, of: device).presses.first {
        self.dialect = dialect
        self.topic = device
        self.press = press
        return
      }
    }
    return nil
  }

  private static func candidates(
    for payload: [UInt8], on topic: String
  ) -> [(Dialect, String)] {
    if let candidate = candidate(on: topic) { return [candidate] }
    let json = try? JSON.parse(payload)
    if case .string? = json?["action"] { return [(.zigbee2MQTT, topic)] }
    return GenericFormat(guessing: json).map { [(.generic($0), topic)] } ?? []
  }

  /// A device of a kind that tells of its presses below its own topic.
  private static func candidate(on topic: String) -> (Dialect, String)? {
    let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
    let dialect: Dialect
    let length: Int
    switch (levels.dropLast(2).last, levels.dropLast().last, levels[levels.count - 1]) {
    case (_, "input_event", let input) where input.isNumber: (dialect, length) = (.shellyGen1, 2)
    case (_, "events", "rpc"): (dialect, length) = (.shellyGen2, 2)
    case ("binary_sensor", let object?, "state") where !object.isEmpty,
      ("event", let object?, "state") where !object.isEmpty:
      (dialect, length) = (.esphome, 3)
    case (_, _, "RESULT"): (dialect, length) = (.tasmota, 1)
    case (_, _, let last) where last.hasPrefix("BUTTON") && last.dropFirst(6).isNumber:
      (dialect, length) = (.tasmota, 1)
    default: return nil
    }
    let device = levels.dropLast(length).joined(separator: "/")
    return device.isEmpty ? nil : (dialect, device)
  }
}

extension Recognition {
  /// What to write into the configuration.
  ///
  /// - Parameters:
  ///   - name: of the panel.
  ///   - juice: for the press.
  package func yaml(name: String, juice: String) -> String {
    var lines = [
      "panels:", "  - name: \(name)", "    device: \(dialect.name.rawValue)",
      "    topic: \(topic.yaml)",
    ]
    if case .generic(let format) = dialect {
      if let action = format.action { lines.append("    action: \(action.description.yaml)") }
      if let counter = format.counter { lines.append("    counter: \(counter.description.yaml)") }
    }
    lines.append("    buttons: {\((press.names.first ?? "").yaml): \(juice)}")
    return lines.joined(separator: "\n")
  }
}

extension String {
  /// As YAML takes it for text, whatever it holds.
  fileprivate var yaml: String {
    if wholeMatch(of: /[A-Za-z\/][A-Za-z0-9_\/.-]*/) != nil, !Self.notText.contains(lowercased()) {
      return self
    }
    guard unicodeScalars.contains(where: \.isInvisible) else {
      return "'\(replacing("'", with: "''"))'"
    }
    // Single quotes would fold a line break.
    let escaped = unicodeScalars.map { scalar in
      guard scalar.isInvisible || scalar == "\"" || scalar == "\\" else { return String(scalar) }
      let digits = String(scalar.value, radix: 16)
      return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
    }
    return "\"\(escaped.joined())\""
  }

  private static let notText: Set = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
}

extension Unicode.Scalar {
  /// Nothing to see, but a reader of YAML may obey it.
  fileprivate var isInvisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension GenericFormat {
  /// Where in a message of an unknown device the press and its counter most likely are; `nil` if no
  /// press seems to be in it.
  ///
  /// - Parameter json: `nil` for a message that is plain text.
  fileprivate init?(guessing json: JSON?) {
    self.init()
    guard let json, case .object = json else { return }
    action = Self.place(
      in: json,
      of: [
        "action", "event", "event_type", "click", "press", "button", "key", "command", "type",
        "value",
        "state",
      ])
    guard action != nil else { return nil }
    counter = Self.place(
      in: json, of: ["counter", "count", "cnt", "event_cnt", "seq", "sequence", "timestamp", "ts"])
  }

  /// The first place of a word under one of the names, the likelier name first.
  private static func place(in json: JSON, of names: [String]) -> JSONPointer? {
    let words = words(in: json, at: "")
    for name in names {
      if let word = words.first(where: { $0.key.lowercased() == name }) { return word.place }
    }
    return nil
  }

  private static func words(
    in json: JSON, at path: String
  ) -> [(key: String, place: JSONPointer)] {
    guard case .object(let members) = json else { return [] }
    return members.flatMap { member in
      let key = member.key.replacing("~", with: "~0").replacing("/", with: "~1")
      let path = "\(path)/\(key)"
      guard member.value.word == nil else {
        return JSONPointer(path).map { [(member.key, $0)] } ?? []
      }
      return words(in: member.value, at: path)
    }
  }
}
