// Finds radio remotes that several gateways receive: each gateway publishes the press.
extension Dialect {
  /// Returns the ids of the remotes that a panel names: Bluetooth addresses in upper case without
  /// separators, and numbers or codes of at least five characters.
  ///
  /// - Parameters:
  ///   - topic: The device's own topic; for `generic` a filter.
  ///   - words: The names of the bound presses.
  package func remotes(of topic: String, saying words: some Sequence<String>) -> Set<String> {
    switch self {
    case .shellyGen2:
      // `38:39:8f:71:ee:ff_single`
      return Set(words.compactMap { String($0.prefix { $0 != "_" }).address })
    case .generic:
      if let address = Self.remote(on: topic) { return [address] }
      return Set(
        words.flatMap { word in
          word.uppercased().split { !$0.isHexDigit }.map(String.init).filter { part in
            part.count >= 5 && part.contains(where: \.isNumber)
          }
        })
    case .zigbee2MQTT, .tasmota, .shellyGen1, .esphome: return []
    }
  }

  /// Returns the Bluetooth address that is the last level of a topic, or `nil` if it is none:
  /// `home/TheengsGateway/BTtoMQTT/38398F71EEFF`.
  static func remote(on topic: String) -> String? {
    guard let level = topic.split(separator: "/").last, level.utf8.count <= 17 else { return nil }
    return String(level).address
  }
}

extension PanelBinding {
  /// The ids of the radio remotes that the panel names; see `Dialect.remotes`.
  package var remotes: Set<String> { dialect.remotes(of: topic, saying: buttons.keys) }

  /// Returns the warnings about remotes that several panels receive by different gateways.
  package static func sharedRemotes(of panels: [PanelBinding]) -> [String] {
    panels.indices.flatMap { index in
      panels[..<index].compactMap { other in
        let panel = panels[index]
        guard panel.topic != other.topic, panel.name != other.name,
          let remote = panel.remotes.intersection(other.remotes).min()
        else { return nil }
        let names = "panels \(other.name) and \(panel.name) receive the same remote \(remote): "
        return panel.countsRemotes && other.countsRemotes && panel.dialect == other.dialect
          ? names + "a press counts once, for the panel that receives it first"
          : names
            + "a press counts twice; bind the remote in one panel, with a wildcard in its topic"
      }
    }
  }

  /// Whether the messages have a counter that is common to all panels of the same dialect which
  /// receive the remote.
  private var countsRemotes: Bool {
    switch dialect {
    case .shellyGen2: true
    case .generic(let format): format.counter != nil && Dialect.remote(on: topic) != nil
    case .zigbee2MQTT, .tasmota, .shellyGen1, .esphome: false
    }
  }
}

extension String {
  /// The Bluetooth address that the text consists of, in upper case without separators; or `nil`.
  fileprivate var address: String? {
    let digits = filter { $0 != ":" && $0 != "-" }
    return digits.utf8.count == 12 && digits.allSatisfy(\.isHexDigit) ? digits.uppercased() : nil
  }
}
