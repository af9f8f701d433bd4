import JuiceDomain
import KioskProtocol

/// `<id>/events/rpc`, a `NotifyEvent` with an array of events
/// (shelly-api-docs.shelly.cloud/gen2/General/Notifications), for Gen2 and later.
///
/// `btn_down` and `btn_up` come beside each press, and firmware 1.1.0 said everything twice: the two
/// messages of one press have the same component, key, event and `ts`.
///
/// At a gateway for Bluetooth, a device is a component (`bthomedevice:200`), and `idx` says which of
/// its keys it was, from 0 on; a key may have a component of its own as well (`bthomesensor:203`),
/// which says each push once more (.../gen2/DynamicComponents/BTHome).
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

  static let push = "_push"
  /// What can be done to a button.
  static let words = ["single", "double", "triple", "long"].flatMap { [$0, $0 + push] }

  private static func press(_ json: JSON, at time: JSON?) -> Signal.Press? {
    guard case .string(let event)? = json["event"], event.hasSuffix(push),
      case .string(let component)? = json["component"]
    else { return nil }
    let button = json["idx"]?.word.map { "\(component)_\($0)" } ?? component
    return Signal.Press(
      inputs: inputs(component, button),
      words: [String(event.dropLast(push.count)), event],
      wordsAlone: !component.hasPrefix(sensor),
      id: time?.word.flatMap { Request.ID(escaping: "\($0)-\(button)-\(event)") })
  }

  /// Only an input of the device itself is known by its number: each kind of component counts from
  /// 0 or from 200.
  private static func inputs(_ component: String, _ button: String) -> [String] {
    if component.hasPrefix(input) { return [String(component.dropFirst(input.count))] }
    return button == component ? [component] : [button, component]
  }

  private static let input = "input:"
  /// The kind of component that repeats the pushes of another one.
  package static let sensor = "bthomesensor:"
}

extension Identifier where Entity == Request {
  /// The beginning of the text; `_` stands for each byte that an id cannot hold.
  fileprivate init?(escaping text: String) {
    let bytes = text.utf8.prefix(64).map { $0.isIdentifierCharacter ? $0 : UInt8(ascii: "_") }
    self.init(String(decoding: bytes, as: UTF8.self))
  }
}
