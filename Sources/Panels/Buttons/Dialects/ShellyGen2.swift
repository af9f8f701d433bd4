import JuiceMaker
import KioskMessages

/// `<id>/events/rpc`, a `NotifyEvent` with an array of events
/// (shelly-api-docs.shelly.cloud/gen2/General/Notifications), for Gen2 and later.
///
/// `btn_down` and `btn_up` come beside each press, and firmware 1.1.0 said everything twice: what
/// belongs together has the same component, event and `ts`.
enum ShellyGen2 {
  static func read(_ payload: [UInt8]) throws(Unreadable) -> Signal {
    let json = try JSON.object(payload)
    guard json["method"] == .string("NotifyEvent") else { return Signal() }
    guard let parameters = json["params"], case .array(let events)? = parameters["events"] else {
      throw Unreadable("a NotifyEvent without events")
    }
    return Signal(
      presses: events.compactMap { press($0, at: $0["ts"] ?? parameters["ts"]) })
  }

  private static let push = "_push"
  /// What can be done to a button.
  static let words = ["single", "double", "triple", "long"].flatMap { [$0, $0 + push] }

  private static func press(_ json: JSON, at time: JSON?) -> Signal.Press? {
    guard case .string(let event)? = json["event"], event.hasSuffix(push),
      case .string(let component)? = json["component"]
    else { return nil }
    return Signal.Press(
      input: component.split(separator: ":").last.map(String.init),
      words: [String(event.dropLast(push.count)), event],
      id: time?.word.flatMap { Request.ID(escaping: "\($0)-\(component)-\(event)") })
  }
}

extension Identifier where Entity == Request {
  /// The beginning of the text, with what an id cannot hold replaced.
  fileprivate init?(escaping text: String) {
    let bytes = text.utf8.prefix(64).map { $0.isOfIdentifier ? $0 : UInt8(ascii: "_") }
    self.init(String(decoding: bytes, as: UTF8.self))
  }
}
