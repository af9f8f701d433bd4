import Devices
import JuiceDomain
import KioskProtocol
import Testing

/// Messages of each family of devices, and the presses in them.
@Suite struct DialectTests {
  private func names(
    _ dialect: Dialect, _ device: String, _ topic: String, _ payload: String
  ) throws -> [[String]] {
    try dialect.read(Array(payload.utf8), on: topic, of: device).presses.map(\.names)
  }

  @Test(arguments: [
    (#"{"action":"single","battery":100,"linkquality":87}"#, [["single"]]),
    (#"{"action":"1_hold","linkquality":87}"#, [["1_long", "1_hold", "long", "hold"]]),
    (#"{"action":"brightness_step_up"}"#, [["brightness_step_up"]]),
    (#"{"action":"12_dial_rotate"}"#, [["12_dial_rotate", "dial_rotate"]]),
    (#"{"action":"12_"}"#, [["12_"]]), (#"{"action":"_single"}"#, [["_single"]]),
    (#"{"action":"a1_single"}"#, [["a1_single"]]),
    (#"{"action":""}"#, []), (#"{"action":null}"#, []), (#"{"battery":100}"#, []),
  ]) func zigbee2MQTT(payload: String, names expected: [[String]]) throws {
    let topic = "zigbee2mqtt/hallway"
    #expect(try names(.zigbee2MQTT, topic, topic, payload) == expected)
  }

  @Test func zigbee2MQTTsaysABareWordForHomeAssistant() throws {
    let topic = "zigbee2mqtt/hallway/action"
    #expect(try names(.zigbee2MQTT, topic, topic, "double") == [["double"]])
    #expect(try names(.zigbee2MQTT, topic, topic, "") == [])
  }

  @Test(arguments: [
    ("RESULT", #"{"Button1":{"Action":"SINGLE"}}"#, [["1_single", "single"]]),
    ("RESULT", #"{"BUTTON2":{"ACTION":"Hold"}}"#, [["2_long", "2_hold", "long", "hold"]]),
    ("BUTTON3", #"{"ACTION":"QUAD"}"#, [["3_quadruple", "3_quad", "quadruple", "quad"]]),
    ("RESULT", #"{"Button1":{"Action":"CLEAR"}}"#, []),
    ("RESULT", #"{"POWER":"ON"}"#, []), ("POWER", "ON", []), ("STATUS", #"{"Status":{}}"#, []),
    (
      "RESULT", #"{"Button1":{"Action":"SINGLE"},"Button2":{"Action":"DOUBLE"}}"#,
      [["1_single", "single"], ["2_double", "double"]]
    ),
    // SetOption4 1: the command is the topic (arendst/Tasmota #23574; support_button_v4.ino,
    // MqttButtonTopic).
    ("BUTTON1", #"{"Button1":{"Action":"SINGLE"}}"#, [["1_single", "single"]]),
    ("BUTTON1", #"{"Button1":{"Action":"CLEAR"}}"#, []),
    ("BUTTON1T", #"{"TRIG":"SINGLE"}"#, []), ("BUTTONDEBOUNCE", #"{"ButtonDebounce":50}"#, []),
    ("BUTTON", "10", []),
    // SetOption114 1 (tasmota.github.io/docs/Buttons-and-Switches/#setoption114).
    ("RESULT", #"{"Switch1":{"Action":"ON"}}"#, [["switch1_on"]]),
    ("SWITCH2", #"{"Switch2":{"Action":"HOLD"}}"#, [["switch2_long", "switch2_hold"]]),
    ("RESULT", #"{"Switch1":"OFF"}"#, []),
  ]) func tasmota(level: String, payload: String, names expected: [[String]]) throws {
    #expect(try names(.tasmota, "stat/hall", "stat/hall/\(level)", payload) == expected)
  }

  @Test(arguments: [
    (#"{"event":"S","event_cnt":4}"#, [["0_single", "0_s", "single", "s"]], "4"),
    (
      #"{"event":"LS","event_cnt":65535}"#, [["0_long_short", "0_ls", "long_short", "ls"]], "65535"
    ),
    (#"{"event":"","event_cnt":0}"#, [], "0"),
  ]) func shellyGen1(payload: String, names expected: [[String]], mark: String) throws {
    let signal = try Dialect.shellyGen1.read(
      Array(payload.utf8), on: "shellies/ix3/input_event/0", of: "shellies/ix3")
    #expect(signal.presses.map(\.names) == expected)
    #expect(signal.mark == Signal.Mark(.repeatedCounter, key: "0", value: mark))
  }

  @Test func shellyGen2CountsPushesAndNothingElse() throws {
    let payload = #"""
      {"src":"shellyplusi4-a8","dst":"x/events","method":"NotifyEvent","params":{"ts":1643540082.66,
      "events":[{"component":"input:1","id":1,"event":"btn_down","ts":1643540082.61},
      {"component":"input:1","id":1,"event":"single_push","ts":1643540082.66},
      {"component":"input:2","id":2,"event":"long_push"},
      {"component":"sys","event":"config_changed","restart_required":false}]}}
      """#
    let presses = try Dialect.shellyGen2.read(
      Array(payload.utf8), on: "shellyplusi4-a8/events/rpc", of: "shellyplusi4-a8"
    ).presses
    #expect(
      presses.map(\.names) == [
        ["1_single", "1_single_push", "single", "single_push"],
        ["2_long", "2_long_push", "long", "long_push"],
      ])
    #expect(presses.first?.id?.text == "1643540082_66-input_1-single_push")
    // An event without a time of its own has the time of the message.
    #expect(presses.last?.id?.text == "1643540082_66-input_2-long_push")
    let status =
      #"{"src":"x","method":"NotifyStatus","params":{"ts":1.5,"input:0":{"state":true}}}"#
    #expect(try names(.shellyGen2, "x", "x/events/rpc", status) == [])
  }

  /// BTHome devices (shelly-api-docs.shelly.cloud/gen2/DynamicComponents/BTHome/BTHomeDevice and
  /// .../BTHomeSensor); `idx` starts from 0 (bieniu/ha-shellies-discovery-gen2 #712, BLU RC Button
  /// 4).
  @Test(arguments: [
    (
      #""component":"bthomedevice:200","id":200,"idx":1"#,
      [
        "bthomedevice:200_1_single", "bthomedevice:200_1_single_push", "bthomedevice:200_single",
        "bthomedevice:200_single_push", "single", "single_push",
      ]
    ),
    (
      #""component":"bthomedevice:200","id":200"#,
      ["bthomedevice:200_single", "bthomedevice:200_single_push", "single", "single_push"]
    ),
    (
      #""component":"button:200","id":200"#,
      ["button:200_single", "button:200_single_push", "single", "single_push"]
    ),
    // It repeats the push of its device.
    (
      #""component":"bthomesensor:203","id":203"#,
      ["bthomesensor:203_single", "bthomesensor:203_single_push"]
    ),
    (
      #""component":"input:0","id":0"#,
      ["0_single", "0_single_push", "single", "single_push"]
    ),
  ]) func whichButtonOfAShellyGen2(component: String, names expected: [String]) throws {
    let payload =
      #"{"src":"s","dst":"s/events","method":"NotifyEvent","params":{"ts":1.5,"events":[{"#
      + component + #","event":"single_push","ts":1731931521.19}]}}"#
    #expect(try names(.shellyGen2, "s", "s/events/rpc", payload) == [expected])
  }

  /// Events that a script forwards from Bluetooth devices (`ble/ble-shelly-blu.shelly.js`).
  @Test(arguments: [
    (#""pid":12,"button":1,"address":"38:39:8F:71:EE:FF""#, ["38:39:8f:71:ee:ff_single"]),
    (#""pid":12,"button":[0,4],"address":"38:39:8f:71:ee:ff""#, ["38:39:8f:71:ee:ff_1_long"]),
    (#""pid":12,"button":254"#, ["script:1_long"]),
    (#""pid":12,"button":0,"address":"38:39:8f:71:ee:ff""#, nil),
    (#""button":1,"address":"38:39:8f:71:ee:ff""#, nil),
  ]) func aScriptForwardsPresses(data: String, names expected: [String]?) throws {
    let payload =
      #"{"src":"s","method":"NotifyEvent","params":{"ts":1.5,"events":[{"component":"script:1","#
      + #""id":1,"event":"shelly-blu","data":{\#(data)},"ts":1.5}]}}"#
    let signal = try Dialect.shellyGen2.read(Array(payload.utf8), on: "s/events/rpc", of: "s")
    #expect(signal.presses.map(\.names) == [expected].compactMap(\.self))
    if data.contains("pid") { #expect(signal.mark?.value == "12") }
    for name in expected ?? [] { #expect(Dialect.shellyGen2.recognizes(name)) }
  }

  @Test(arguments: ["12.34", "0", "\"1643540082.66\"", "null", "true"])
  func aTimeSincePowerOnIsNoID(time: String) throws {
    let payload =
      #"{"method":"NotifyEvent","params":{"events":[{"component":"input:0","#
      + #""event":"single_push","ts":\#(time)}]}}"#
    let signal = try Dialect.shellyGen2.read(Array(payload.utf8), on: "s/events/rpc", of: "s")
    #expect(signal.presses.map(\.id) == [nil])
    #expect(signal.presses.map(\.leastDebounce) == [.seconds(1)])
  }

  /// Combinations of buttons are possible (.../docs-ble/Devices/wall_us).
  @Test func twoKeysAtOnceAreTwoPresses() throws {
    let key = { (index: Int) in
      #"{"component":"bthomedevice:200","id":200,"event":"single_push","idx":\#(index),"#
        + #""ts":1731931521.5}"#
    }
    let payload = #"{"method":"NotifyEvent","params":{"events":[\#(key(0)),\#(key(1))]}}"#
    let presses = try Dialect.shellyGen2.read(
      Array(payload.utf8), on: "s/events/rpc", of: "s"
    ).presses
    #expect(Set(presses.map(\.id)).count == 2)
  }

  @Test func esphome() throws {
    let contact = "hall/binary_sensor/kiwi_button/state"
    let on = try Dialect.esphome.read(Array("ON".utf8), on: contact, of: "hall")
    #expect(on.presses.map(\.names) == [["kiwi_button", "kiwi_button_press", "press"]])
    #expect(on.mark == Signal.Mark(.contact, key: "kiwi_button", value: "ON"))
    let off = try Dialect.esphome.read(Array("OFF".utf8), on: contact, of: "hall")
    #expect(off == Signal(mark: Signal.Mark(.contact, key: "kiwi_button", value: "OFF")))
    #expect(
      try names(.esphome, "hall", "hall/event/bell/state", #"{"event_type":"double_press"}"#)
        == [["bell_double_press", "double_press"]])
  }

  @Test func aGenericDeviceSaysItWhereItsOwnerKnows() throws {
    #expect(
      try names(.generic(GenericFormat()), "nodered/press", "nodered/press", "Kiwi\n") == [["kiwi"]]
    )
    let format = GenericFormat(
      action: JSONPointer("/data/0/key"), counter: JSONPointer("/data/0/n"))
    let signal = try Dialect.generic(format).read(
      Array(#"{"data":[{"key":3,"n":17}]}"#.utf8), on: "vendor/7", of: "vendor/+")
    #expect(signal.presses.map(\.names) == [["3"]])
    #expect(signal.mark == Signal.Mark(.counter, key: "", value: "17"))
    #expect(try names(.generic(format), "vendor/+", "vendor/7", #"{"uptime":5}"#) == [])
  }

  @Test(arguments: [
    (Dialect.generic(GenericFormat()), "g", ""), (.generic(GenericFormat()), "g", "\n"),
    (.zigbee2MQTT, "d/action", ""),
    (
      .shellyGen2, "d/events/rpc",
      #"{"method":"NotifyEvent","params":{"events":[{"component":"input:0","event":"_push"}]}}"#
    ),
  ]) func whatIsNotNamedIsNoPress(dialect: Dialect, topic: String, payload: String) throws {
    let device = dialect == .shellyGen2 ? "d" : topic
    let presses = try dialect.read(Array(payload.utf8), on: topic, of: device).presses
    #expect(presses.allSatisfy { $0.names.allSatisfy { !$0.isEmpty } })
    if dialect != .shellyGen2 { #expect(presses.isEmpty) }
  }

  @Test(arguments: [
    (Dialect.zigbee2MQTT, "not JSON"), (.zigbee2MQTT, "[1]"), (.shellyGen1, #"{"event":"S"}"#),
    (.shellyGen1, #"{"event_cnt":4}"#), (.shellyGen2, #"{"method":"NotifyEvent"}"#),
    (.esphome, "maybe"), (.generic(GenericFormat(action: JSONPointer("/a"))), "{"),
    (
      .generic(GenericFormat(action: JSONPointer("/a"), counter: JSONPointer("/n"))),
      #"{"a":"on"}"#
    ),
    (.zigbee2MQTT, String(repeating: " ", count: 5000)),
  ]) func whatCannotBeToldIsSaid(dialect: Dialect, payload: String) {
    let topic = dialect == .esphome ? "d/binary_sensor/x/state" : "d/input_event/0"
    #expect(throws: Unreadable.self) {
      try dialect.read(Array(payload.utf8), on: topic, of: "d")
    }
  }
}
