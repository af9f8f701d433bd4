import KioskProtocol

extension GenericFormat {
  /// Guesses the positions of the press, its button and its counter in a message of an unknown
  /// device. Returns `nil` if the message seems to hold no press.
  ///
  /// - Parameter levels: The levels of the topic; empty if the topic must not count as evidence.
  init?(guessing json: JSON, on levels: [Substring]) {
    self.init()
    let places = Place.all(in: json)
    let isForButtons = levels.contains(where: NoiseFilter.namesButton)
    // OpenMQTTGateway has a topic for each radio: 433toMQTT, IRtoMQTT
    // (docs.openmqttgateway.com/use/rf.html).
    let isOfRadio = levels.last?.hasSuffix("toMQTT") ?? false
    let press = places.compactMap { place in
      place.rank(onTopicForButtons: isForButtons, ofRadio: isOfRadio).map { (place, rank: $0) }
    }.min { $0.rank < $1.rank }?.0
    guard let press else { return nil }
    action = press.pointer
    if press.isTextOfMeshtastic {
      (key, counter) = (JSONPointer("/from"), JSONPointer("/id"))
      return
    }
    let siblings = places.filter { $0.parent == press.parent && $0.pointer != press.pointer }
    if Place.actionNames.contains(press.stem) { key = Self.first(of: Place.buttons, in: siblings) }
    key = key ?? Place.device(in: siblings, others: places, of: press, on: levels)?.pointer
    counter =
      Self.first(of: Place.counters, in: siblings) ?? Self.first(of: Place.counters, in: places)
  }

  private static func first(of names: [String], in places: [Place]) -> JSONPointer? {
    for name in names {
      if let place = places.first(where: { $0.letters == name }) { return place.pointer }
    }
    return nil
  }
}

/// The position of a word in a JSON text.
private struct Place {
  /// The name of the member, in lower case.
  let name: String
  let pointer: JSONPointer
  let parent: String
  private let ancestors: [String]
  private let word: String
  /// Whether the object that holds the word also holds a command of a Zigbee cluster:
  /// `"0006!01":""` (tasmota.github.io/docs/Zigbee/#receiving-commands).
  private let isOfCommand: Bool

  /// The name without its number: `button` for `button_1`.
  var stem: String {
    let stem = name.reversed().drop { $0.isNumber || "_-".contains($0) }
    return String(stem.reversed())
  }

  /// Names of members that hold an action, the most likely first.
  static let actionNames = [
    "action", "event", "event_type", "click", "press", "gesture", "buttonevent",
  ]
  static let buttons = ["button", "btn", "key", "buttonid", "keyid", "input", "channel", "idx"]
  /// `pid` is the packet id of a Shelly BLU (`ble/universal-blu-to-mqtt.shelly.js`, bthome.io).
  static let counters = [
    "counter", "count", "cnt", "eventcnt", "seq", "sequence", "packet", "packetid", "pid",
    "messageid", "msgid", "fcnt", "timestamp", "ts",
  ]
  private static let devices = [
    "address", "addr", "mac", "deviceid", "devid", "sensorid", "remoteid", "ieeeaddress",
  ]
  private static let codes = ["keycode", "command", "cmd"]
  /// Names of members that may hold any value.
  private static let values = ["code", "id", "value", "state", "type", "data"]
  private static let longest = 256

  /// The name without underscores and hyphens: `packetid` for `packet_id`.
  var letters: String { name.filter { !"_-".contains($0) } }

  /// Returns the member that identifies the device, so that another device on the same topic cannot
  /// order. Returns `nil` if there is none, or if the topic contains its value. A member `id` may
  /// identify the message: it counts only beside a `model` (rtl_433) or with a press of deCONZ.
  static func device(
    in siblings: [Place], others: [Place], of press: Place, on levels: [Substring]
  ) -> Place? {
    let hasModel = siblings.contains { $0.name == "model" }
    let isOurs = { (place: Place) in
      place.pointer != press.pointer
        && (devices.contains(place.letters)
          || place.name == "id" && (hasModel || press.name == "buttonevent"))
    }
    guard let device = siblings.first(where: isOurs) ?? others.first(where: isOurs) else {
      return nil
    }
    func plain(_ text: some StringProtocol) -> String {
      text.lowercased().filter { $0.isLetter || $0.isNumber }
    }
    return levels.contains { plain($0) == plain(device.word) } ? nil : device
  }

  /// Returns the rank of the member as a press, 0 for the most likely; or `nil` if it is no press.
  func rank(onTopicForButtons isForButtons: Bool, ofRadio: Bool) -> Int? {
    if isOfCommand, !Self.aboutTheDevice.contains(name), !name.contains("!") { return 10 }
    guard !NoiseFilter.isNothing(word), !Self.counters.contains(letters) else {
      return nil
    }
    if let deed = Self.actionNames.firstIndex(of: stem) { return deed }
    if Self.buttons.prefix(3).contains(stem) { return 11 }
    if Self.codes.contains(stem) { return 12 }
    // RfReceived, IrReceived (tasmota.github.io/docs/RF-Protocol).
    if name == "data", ancestors.last?.hasSuffix("received") ?? false { return 13 }
    if isTextOfMeshtastic { return 13 }
    let isValue = Self.values.contains(stem)
    if ancestors.contains(where: NoiseFilter.namesButton), !NoiseFilter.namesMeasurement(name) {
      return isValue ? 14 : 15
    }
    return isValue && (isForButtons || ofRadio && name == "value") ? 16 : nil
  }

  /// Whether the place is that of a text message in a packet of Meshtastic, which names the sender
  /// in `from` and the packet in `id` (meshtastic.org/docs/software/integrations/mqtt).
  var isTextOfMeshtastic: Bool { pointer.description == "/payload/text" }

  private static let aboutTheDevice: Set = [
    "device", "endpoint", "group", "linkquality", "manufacturer", "modelid", "name",
  ]

  static func all(in json: JSON) -> [Place] { all(in: json, at: "", below: []) }

  private static func all(in json: JSON, at parent: String, below ancestors: [String]) -> [Place] {
    guard case .object(let members) = json else { return [] }
    let isOfCommand = members.contains { $0.key.firstMatch(of: /^[0-9A-F]{4}![0-9A-F]{2}$/) != nil }
    return members.flatMap { member -> [Place] in
      let key = member.key.replacing("~", with: "~0").replacing("/", with: "~1")
      let path = "\(parent)/\(key)"
      let name = member.key.lowercased()
      func place(_ value: JSON, at path: String) -> Place? {
        guard let word = value.word, path.utf8.count <= longest,
          let pointer = JSONPointer(path)
        else { return nil }
        return Place(
          name: name, pointer: pointer, parent: parent, ancestors: ancestors, word: word,
          isOfCommand: isOfCommand)
      }
      switch member.value {
      case .object: return all(in: member.value, at: path, below: ancestors + [name])
      // One element for each button of a remote: `"button":[0,1,0,0]`.
      case .array(let elements):
        return elements.enumerated().compactMap { place($1, at: "\(path)/\($0)") }
      default: return [place(member.value, at: path)].compactMap(\.self)
      }
    }
  }
}
