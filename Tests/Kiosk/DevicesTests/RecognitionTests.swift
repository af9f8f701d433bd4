import Devices
import Testing

/// One press is enough to recognize a device.
@Suite struct RecognitionTests {
  private static let families: [(String, String, Dialect.Name, String, String)] = [
    (
      "zigbee2mqtt/hallway", #"{"action":"single","linkquality":87}"#, .zigbee2mqtt,
      "zigbee2mqtt/hallway", "single"
    ),
    (
      "stat/hall/RESULT", #"{"Button1":{"Action":"SINGLE"}}"#, .tasmota, "stat/hall", "1_single"
    ),
    ("stat/hall/BUTTON2", #"{"ACTION":"HOLD"}"#, .tasmota, "stat/hall", "2_long"),
    (
      "shellies/ix3/input_event/0", #"{"event":"S","event_cnt":4}"#, .shellyGen1, "shellies/ix3",
      "0_single"
    ),
    (
      "i4/events/rpc",
      #"{"method":"NotifyEvent","params":{"events":[{"component":"input:2","event":"double_push","ts":1.5}]}}"#,
      .shellyGen2, "i4", "2_double"
    ),
    ("hall/binary_sensor/bell/state", "ON", .esphome, "hall", "bell"),
    ("hall/event/bell/state", #"{"event_type":"press"}"#, .esphome, "hall", "bell_press"),
    ("a/b/BUTTON", "kiwi", .generic, "a/b/BUTTON", "kiwi"),
    ("RESULT", "kiwi", .generic, "RESULT", "kiwi"),
    ("event//state", "kiwi", .generic, "event//state", "kiwi"),
    ("nodered/press", "kiwi", .generic, "nodered/press", "kiwi"),
    ("acme/7/up", #"{"d":{"key":"A","n":12}}"#, .generic, "acme/7/up", "a"),
  ]

  @Test(arguments: families)
  func oneForEachFamily(
    topic: String, payload: String, name: Dialect.Name, device: String, press: String
  ) throws {
    let recognition = try #require(Recognition(Array(payload.utf8), on: topic))
    #expect(recognition.dialect.name == name)
    #expect(recognition.topic == device)
    #expect(recognition.press.names.first == press)
  }

  @Test func everyFamilyIsRecognised() {
    #expect(Set(Self.families.map(\.2)) == Set(Dialect.Name.allCases))
  }

  @Test(arguments: [
    ("zigbee2mqtt/hallway", #"{"action":""}"#), ("stat/hall/RESULT", #"{"POWER":"ON"}"#),
    ("shellies/ix3/input_event/0", #"{"event":"","event_cnt":4}"#),
    ("hall/binary_sensor/bell/state", "OFF"), ("acme/7/up", #"{"uptime":12}"#),
  ]) func whatIsNoPressIsNotRecognised(topic: String, payload: String) {
    #expect(Recognition(Array(payload.utf8), on: topic) == nil)
  }

  /// A publisher must not be able to change the configuration that a user pastes.
  @Test(arguments: [
    "\n", "\r", "\u{85}", "\u{2028}", "\u{1B}", "\u{202E}", "\u{FEFF}", "\u{FFFF}",
  ])
  func whatCannotBeSeenIsWrittenInDigits(text: String) throws {
    let escaped = text.utf16.map { #"\u"# + String(Int($0) + 0x10000, radix: 16).suffix(4) }
      .joined()
    let payload = #"{"action":"x\#(escaped)broker: {host: evil}","linkquality":9}"#
    let recognition = try #require(
      Recognition(Array(payload.utf8), on: "z/\(text)broker: {host: evil}"))
    let digits = text.unicodeScalars.map {
      #"\U"# + String(Int64($0.value) + 0x1_0000_0000, radix: 16).suffix(8)
    }.joined()
    #expect(
      recognition.summary
        == #""x\#(digits)broker: {host: evil}" on "z/\#(digits)broker: {host: evil}""#)
    #expect(
      recognition.yaml(name: "p", juice: "kiwi") == """
        panels:
          - name: p
            device: zigbee2mqtt
            topic: "z/\(digits)broker: {host: evil}"
            buttons: {"x\(digits)broker: {host: evil}": kiwi}
        """)
  }

  @Test func whatIsTooLongIsNotLearned() {
    func isLearned(_ action: String, on topic: String) -> Bool {
      Recognition(Array(#"{"action":"\#(action)","linkquality":9}"#.utf8), on: topic) != nil
    }
    #expect(isLearned(String(repeating: "x", count: 64), on: String(repeating: "t", count: 256)))
    #expect(!isLearned(String(repeating: "x", count: 65), on: "t"))
    #expect(!isLearned("x", on: String(repeating: "t", count: 257)))
    let key = String(repeating: "k", count: 300)
    #expect(Recognition(Array(#"{"\#(key)":{"click":"x"}}"#.utf8), on: "t") == nil)
  }

  @Test func printsWhatToPaste() throws {
    let recognition = try #require(
      Recognition(Array(#"{"d":{"key":"yes","n":1,"cnt":12}}"#.utf8), on: "acme/7 up"))
    #expect(
      recognition.yaml(name: "panel1", juice: "kiwi") == """
        panels:
          - name: panel1
            device: generic
            topic: "acme/7 up"
            action: /d/key
            counter: /d/cnt
            buttons: {"yes": kiwi}
        """)
  }
}
