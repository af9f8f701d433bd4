import KioskProtocol

/// Tasmota: `stat/<name>/RESULT` `{"Button1":{"Action":"SINGLE"}}` with `SetOption73 1`, and
/// `{"Switch1":{"Action":"ON"}}` with `SetOption114 1`
/// (tasmota.github.io/docs/Buttons-and-Switches).
///
/// With `SetOption4 1` the same message has the topic `stat/<name>/BUTTON1` (Tasmota #23574), and
/// old builds send `{"ACTION":"SINGLE"}` there (Tasmota #8177). The case of topics and members
/// varies. The device also publishes its answers to commands on these topics. There is no counter.
enum Tasmota {
  static func read(_ payload: [UInt8], levels: [String]) throws(Unreadable) -> Signal {
    guard let level = levels.first?.lowercased() else { return Signal() }
    let json: JSON
    if level == "result" {
      json = try JSON.object(payload)
    } else {
      // Messages on other topics are no presses, nor are answers that are not JSON (`Backlog`).
      guard Kind(of: level) != nil, let parsed = try? JSON.parse(payload) else { return Signal() }
      json = parsed
    }
    if let press = press(of: level, in: json) { return Signal(presses: [press]) }
    guard case .object(let members) = json else { return Signal() }
    return Signal(presses: members.compactMap { press(of: $0.key.lowercased(), in: $0.value) })
  }

  private enum Kind: String, CaseIterable {
    case button
    case `switch`

    /// Returns `nil` if the key names neither a button nor a switch.
    ///
    /// - Parameter key: The key in lower case: `button1`.
    init?(of key: String) {
      let kind = Self.allCases.first { key.hasPrefix($0.rawValue) }
      guard let kind else { return nil }
      self = kind
    }
  }

  private static func press(of key: String, in json: JSON) -> Signal.Press? {
    guard let kind = Kind(of: key), case .object(let members) = json,
      case .string(let action)? = members.first(where: { $0.key.lowercased() == "action" })?.value
    else { return nil }
    let words: [String]
    switch action.lowercased() {
    // `CLEAR` reports the end of a hold.
    case "clear", "": return nil
    case "quad": words = ["quadruple", action]
    case "penta": words = ["quintuple", action]
    case "hold": words = ["long", action]
    // The owner may choose the text for HOLD (StateText4).
    default: words = [action]
    }
    switch kind {
    case .button:
      return Signal.Press(input: String(key.dropFirst(kind.rawValue.count)), words: words)
    // A device may have buttons and switches, so a switch is bound by its full name: `switch1_on`.
    case .switch: return Signal.Press(inputs: [key], words: words, wordsAlone: false)
    }
  }
}
