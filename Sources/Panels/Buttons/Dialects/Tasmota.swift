import KioskMessages

/// `stat/<name>/RESULT` `{"Button1":{"Action":"SINGLE"}}` with `SetOption73 1`
/// (tasmota.github.io/docs/Buttons-and-Switches), in other builds `stat/<name>/BUTTON1`
/// `{"ACTION":"SINGLE"}`; the case varies.
///
/// Everything else that a device answers is on these topics too. There is no counter.
enum Tasmota {
  static func read(_ payload: [UInt8], levels: [String]) throws(Unreadable) -> Signal {
    guard let level = levels.first?.lowercased() else { return Signal() }
    if level == "result" {
      guard case .object(let members) = try JSON.object(payload) else { return Signal() }
      return Signal(presses: members.compactMap { press(of: $0.key, in: $0.value) })
    }
    guard level.hasPrefix(button), let json = try? JSON.parse(payload) else { return Signal() }
    return Signal(presses: [press(of: level, in: json)].compactMap(\.self))
  }

  private static let button = "button"

  private static func press(of key: String, in json: JSON) -> Signal.Press? {
    guard key.lowercased().hasPrefix(button), case .object(let members) = json,
      case .string(let action)? = members.first(where: { $0.key.lowercased() == "action" })?.value
    else { return nil }
    let words: [String]
    switch action.lowercased() {
    // The end of a hold.
    case "clear", "": return nil
    case "quad": words = ["quadruple", action]
    case "penta": words = ["quintuple", action]
    case "hold": words = ["long", action]
    // Of HOLD the user may choose the text (SetOption32, StateText).
    default: words = [action]
    }
    return Signal.Press(input: String(key.dropFirst(button.count)), words: words)
  }
}
