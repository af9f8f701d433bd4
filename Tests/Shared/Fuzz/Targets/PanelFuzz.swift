import Devices
import JuiceDomain
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

/// Targets for the messages of third-party devices, and for their configuration.
enum PanelFuzz {
  private static let devices = Dialect.Name.allCases.flatMap { devices(of: $0) }

  private static func devices(of name: Dialect.Name) -> [(dialect: Dialect, topic: String)] {
    switch name {
    case .zigbee2mqtt: [(.zigbee2MQTT, "z/b"), (.zigbee2MQTT, "z/b/action")]
    case .tasmota: [(.tasmota, "stat/b")]
    case .shellyGen1: [(.shellyGen1, "shellies/b")]
    case .shellyGen2: [(.shellyGen2, "b")]
    case .esphome: [(.esphome, "b")]
    case .generic:
      [
        GenericFormat(),
        GenericFormat(
          action: JSONPointer("/d/0/a"), key: JSONPointer("/k"), counter: JSONPointer("/n")),
      ].map { (.generic($0), "g/b") }
    }
  }

  /// Each press has a name, and is the same press when it is decoded again; a retained message is
  /// never a press.
  static func panel(_ bytes: [UInt8]) {
    guard let (topic, payload) = message(bytes) else { return }
    for (dialect, device) in devices { read(payload, on: topic, of: device, dialect) }
    discovery(payload, on: topic)
    guard let recognition = Recognition(payload, on: topic) else { return }
    expect(!recognition.press.names.isEmpty, "a press without a name")
  }

  /// Each device that `learn` recognizes has a name, and the state that it stores is bounded.
  private static func discovery(_ payload: [UInt8], on topic: String) {
    var discovery = DeviceDiscovery(at: .zero)
    for second in [0, 1, 40] {
      switch discovery.observe(payload, on: topic, at: .seconds(second)) {
      case .press(let recognition), .uncertain(let recognition):
        expect(!recognition.press.names.isEmpty, "a press without a name")
      case .nothing: break
      }
    }
    _ = discovery.resolve(at: .seconds(60))
    expect(discovery.due == nil, "something is kept for ever")
  }

  /// A value is a number of thousandths, written as people read it and as a number.
  static func sensor(_ payload: [UInt8]) {
    for pointer in [nil, JSONPointer("/temperature")] {
      guard let value = SensorBinding(topic: "t", value: pointer).read(payload) else { continue }
      for text in [value.decimalText, "\(Double(value) / 1000)"] {
        expect(JSON.string(text).thousandths == value, "\(value) is read back from \(text)")
      }
    }
  }

  /// The YAML that `learn` prints binds the press that was made, or is refused with a message.
  static func learn(_ bytes: [UInt8]) {
    guard let (topic, payload) = message(bytes), let recognition = Recognition(payload, on: topic),
      !recognition.topic.contains(where: { "+#".contains($0) })
    else { return }
    let yaml = recognition.yaml(name: "panel1", juice: "kiwi")
    let isOneLine = ([recognition.summary] + yaml.split(separator: "\n").map(String.init))
      .allSatisfy {
        $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
      }
    expect(isOneLine, "a control character: \(recognition.summary), \(yaml)")
    for line in yaml.split(separator: "\n") {
      let isOurs = ["panels:", "  - name: ", "    "].contains { line.hasPrefix($0) }
      expect(isOurs, "a line of the device's own: \(line)")
    }
    guard let configuration = try? KioskConfiguration.parse(yaml: yaml, file: "k.yaml") else {
      return
    }
    guard let panel = configuration.panels.first else { return expect(false, "no panel: \(yaml)") }
    expect(panel.topic == recognition.topic, "\(recognition.topic) is pasted as \(panel.topic)")
    let isBound = recognition.press.names.contains { panel.buttons[$0] != nil }
    expect(isBound, "\(recognition.press) is pasted as \(panel.buttons.keys)")
  }

  /// The first line of the input is a topic, the rest a payload.
  private static func message(_ bytes: [UInt8]) -> (topic: String, payload: [UInt8])? {
    let parts = bytes.split(
      separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let topic = String(validating: parts[0], as: UTF8.self) else { return nil }
    return (topic, parts.count > 1 ? Array(parts[1]) : [])
  }

  private static func read(
    _ payload: [UInt8], on topic: String, of device: String, _ dialect: Dialect
  ) {
    let signal: Signal
    do {
      signal = try dialect.read(payload, on: topic, of: device)
    } catch {
      expect(!error.description.isEmpty, "unreadable without words")
      return
    }
    for press in signal.presses {
      expect(press.names.allSatisfy { !$0.isEmpty }, "a press without a name in \(press)")
      expect(press.names.allSatisfy { $0 == $0.lowercased() }, "not in lower case: \(press)")
    }
    let names = Set(signal.presses.flatMap(\.names))
    let binding = PanelBinding(
      name: "p", dialect: dialect, topic: device,
      buttons: Dictionary(uniqueKeysWithValues: names.map { ($0, .order(Order(juice: "kiwi"))) }))
    let live = try? binding.read(payload, on: topic, isRetained: false)
    expect(
      live?.requests.count == signal.presses.count, "\(signal) became \(String(describing: live))")
    let again = try? binding.read(payload, on: topic, isRetained: false)
    expect(again == live, "read again as \(String(describing: again))")
    let kept = try? binding.read(payload, on: topic, isRetained: true)
    expect(kept?.requests.isEmpty == true, "what was kept is a press: \(String(describing: kept))")
  }

  /// A template without values is its text; with values, it contains them.
  static func template(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    do {
      let template = try Template(text)
      let filled = template.fill { _ in "\u{1F353}" }
      let count = filled.unicodeScalars.count { $0 == "\u{1F353}" }
      let before = text.unicodeScalars.count { $0 == "\u{1F353}" }
      expect(count - before == template.placeholders.count, "\(count) of \(template.placeholders)")
      if template.placeholders.isEmpty { expect(filled == text, "\(text) became \(filled)") }
    } catch {
      expect(!error.placeholder.isEmpty, "a gap without words")
    }
    if let pointer = JSONPointer(text) { expect(pointer.description == text, "\(pointer)") }
  }
}
