import KioskProtocol

extension Recognition {
  /// Returns the lines for the configuration: a list of panels that holds this one.
  ///
  /// Text from the device is escaped, so it cannot add a line or a key.
  ///
  /// - Parameters:
  ///   - name: The name of the panel.
  ///   - juice: The juice that the press orders.
  package func yaml(name: String, juice: String) -> String {
    "panels:\n" + entry(name: name, juice: juice)
  }

  /// Returns the lines for one more panel in a list.
  package func entry(name: String, juice: String) -> String {
    var lines = ["  - name: \(name)", "    device: \(dialect.name.rawValue)"]
    lines.append("    topic: \(topic.yaml)")
    if case .generic(let format) = dialect {
      let places = [("action", format.action), ("key", format.key), ("counter", format.counter)]
      lines += places.compactMap { name, place in
        place.map { "    \(name): \($0.description.yaml)" }
      }
    }
    lines.append("    buttons: {\(word.yaml): \(juice)}")
    if let debounce {
      lines.append("    debounce_milliseconds: \(debounce.components.seconds * 1000)")
    }
    return lines.joined(separator: "\n")
  }

  /// The press and its topic as one line of plain text.
  package var summary: String { "\(word.yaml) on \(receivedOn.yaml)" }

  /// Returns the device as a panel, for comparisons with other panels: the command of its press has no
  /// meaning.
  package func panel(name: String) -> PanelBinding {
    PanelBinding(
      name: name, dialect: dialect, topic: topic, buttons: [word: .service(.open)],
      debounce: debounce)
  }

  private var word: String { press.names.first ?? "" }
}

extension String {
  /// The text as a YAML scalar, quoted and escaped where YAML would read another text.
  fileprivate var yaml: String {
    if wholeMatch(of: /[A-Za-z\/][A-Za-z0-9_\/.-]*/) != nil, !Self.notText.contains(lowercased()) {
      return self
    }
    let escaped = unicodeScalars.map { scalar in
      if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
      guard !scalar.isSeen else { return String(scalar) }
      let digits = String(scalar.value, radix: 16)
      return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
    }
    return "\"\(escaped.joined())\""
  }

  private static let notText: Set = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
}

extension Unicode.Scalar {
  /// Whether the character is visible. A terminal or a YAML parser may interpret other characters.
  fileprivate var isSeen: Bool {
    if self == " " { return true }
    switch properties.generalCategory {
    case .spaceSeparator, .surrogate, .privateUse, .unassigned: return false
    default: return !isInvisible
    }
  }
}
