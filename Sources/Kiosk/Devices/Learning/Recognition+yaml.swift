extension Recognition {
  /// What to write into the configuration: a list of panels with this one.
  ///
  /// Nothing that a device says can become another line, or a key.
  ///
  /// - Parameters:
  ///   - name: of the panel.
  ///   - juice: for the press.
  package func yaml(name: String, juice: String) -> String {
    "panels:\n" + entry(name: name, juice: juice)
  }

  /// The same, as one more panel of a list.
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
    return lines.joined(separator: "\n")
  }

  /// The press, and where it came: one line of plain text.
  package var summary: String { "\(word.yaml) on \(receivedOn.yaml)" }

  private var word: String { press.names.first ?? "" }
}

extension String {
  /// The text so written that YAML reads it as the same text.
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
  /// Whether there is something to see. A terminal, or a reader of YAML, may obey other characters.
  fileprivate var isSeen: Bool {
    if self == " " { return true }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate,
      .privateUse, .unassigned:
      return false
    default: return true
    }
  }
}
