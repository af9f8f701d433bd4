import KioskProtocol
import Testing

@testable import Devices

/// Messages of devices around the press of a button. One of them is the press.
@Suite struct DeviceDiscoveryTests {
  @Test func aTopicOfSeveralDevicesIsNoticedOnce() {
    var shared = SharedTopics()
    func observe(_ text: String, on topic: String = "rtl_433/pi/events") -> String? {
      shared.observe(Array(text.utf8), on: topic)
    }
    #expect(observe(#"{"model":"Nexus-TH","id":240,"temperature_C":4.1}"#) == nil)
    #expect(observe(#"{"model":"Nexus-TH","id":240,"temperature_C":4.2}"#) == nil)
    #expect(observe(#"{"model":"Nexus-TH","id":17}"#, on: "rtl_433/other/events") == nil)
    #expect(observe("4.1") == nil && observe(#"{"id":3}"#) == nil)
    #expect(
      observe(#"{"model":"Prologue-TH","id":17}"#)?.hasPrefix(
        "rtl_433/pi/events has messages of several devices (Nexus-TH 240, Prologue-TH 17)") == true)
    #expect(observe(#"{"model":"Prologue-TH","id":18}"#) == nil)
  }

  /// Messages of a house in which no button is pressed.
  private static let quietHouse: [(topic: String, payload: String)] = [
    // A Shelly Button1 that wakes up, and the state of a Shelly 1 (recorded with firmware 1.12; the
    // topics: shelly-api-docs.shelly.cloud/gen1, "MQTT").
    ("shellies/shellybutton1-A4CF12/online", "true"),
    (
      "shellies/announce", #"{"id":"shelly1","model":"SHSW-1","mac":"8CAAB54B98DF","new_fw":false}"#
    ),
    ("shellies/shelly1/relay/0", "on"), ("shellies/shelly1/input/0", "0"),
    ("shellies/shelly1/input/0", "1"), ("shellies/shelly1/longpush/0", "0"),
    ("shellies/shelly1/info", #"{"inputs":[{"input":0,"event":"S","event_cnt":2}],"uptime":1}"#),
    ("shellies/shelly1/input_event/0", #"{"event":"","event_cnt":0}"#),
    (
      "plus1/events/rpc", #"{"src":"plus1","method":"NotifyStatus","params":{"ts":1.61,"mqtt":{}}}"#
    ),
    ("plus1/status/switch:0", #"{"id":0,"source":"init","output":false,"apower":0.0}"#),
    // ESPHome (esphome.io/components/mqtt: log_topic, birth_message, components).
    ("bench/debug", "\u{1B}[0;36m[D][binary_sensor:036]: 'Door': Sending state ON\u{1B}[0m"),
    ("bench/status", "online"), ("bench/sensor/room/state", "21.5"),
    ("bench/switch/plug/state", "ON"), ("bench/text_sensor/wifi/state", "HomeNet"),
    ("bench/binary_sensor/door/state", "OFF"), ("bench/light/lamp/state", #"{"state":"ON"}"#),
    // Tasmota (tasmota.github.io/docs/MQTT).
    ("tele/plug/LWT", "Online"), ("stat/plug/RESULT", #"{"POWER":"ON"}"#),
    ("stat/plug/POWER", "ON"),
    ("tele/plug/STATE", #"{"Time":"2021-01-01T00:00:00","POWER":"ON","Wifi":{"AP":1}}"#),
    ("tele/plug/SENSOR", #"{"Time":"2021-01-01T00:00:00","Switch1":"OFF"}"#),
    ("tele/plug/INFO3", #"{"Info3":{"RestartReason":"Power On","BootCount":3}}"#),
    ("cmnd/plug/POWER", "TOGGLE"),
    // Zigbee2MQTT (www.zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html).
    ("zigbee2mqtt/bridge/state", #"{"state":"online"}"#),
    ("zigbee2mqtt/bridge/event", #"{"type":"device_announce","data":{"friendly_name":"x"}}"#),
    ("zigbee2mqtt/bridge/logging", #"{"level":"info","message":"MQTT publish: topic"}"#),
    ("zigbee2mqtt/plug", #"{"state":"ON","power":3.1,"linkquality":120}"#),
    ("zigbee2mqtt/plug/availability", #"{"state":"offline"}"#),
    ("zigbee2mqtt/plug/set", #"{"state":"ON"}"#),
    ("zigbee2mqtt/button", #"{"action":"","battery":100,"linkquality":87}"#),
    // OpenMQTTGateway, openHASP, and home-made devices.
    ("home/OMG/LWT", "online"), ("home/OMG/SYStoMQTT", #"{"uptime":5,"version":"1.7"}"#),
    ("home/OMG/BTtoMQTT/A4C138", #"{"id":"A4:C1:38","tempc":21.3,"hum":40}"#),
    ("hasp/plate01/state/idle", "short"), ("home/temperature", "21.5"), ("home/door", "open"),
    ("home/meter", "3.2 kWh"), ("home/room", #"{"temperature":21.5,"humidity":40}"#),
    ("home/clock", "12:30"), ("home/anna", "not_home"), ("x/y", ""), ("x/y", "\u{0}\u{1}"),
    ("x/y", String(repeating: "x", count: 65)), ("x/y", "{"),
  ]

  @Test func nothingIsLearnedInAQuietHouse() {
    var discovery = DeviceDiscovery(at: .zero)
    for second in stride(from: 0, to: 120, by: 30) {
      for (topic, payload) in Self.quietHouse {
        let heard = discovery.observe(Array(payload.utf8), on: topic, at: .seconds(second))
        #expect(heard == .nothing, "\(topic) \(payload)")
      }
      let resolved = discovery.resolve(at: .seconds(second + 29))
      #expect(resolved == nil, "\(resolved?.receivedOn ?? "")")
    }
    #expect(discovery.remaining == nil)
  }

  struct Recording: Sendable, CustomTestStringConvertible {
    let source: String
    /// The messages, each with its time of arrival in milliseconds.
    let messages: [(Int, String, String)]
    let yaml: String

    var testDescription: String { source }
  }

  static let recordings = [
    Recording(
      source: "Zigbee2MQTT #32015: the same press on two topics",
      messages: [
        (0, "zigbee2mqtt/b", #"{"action":"single","battery":100,"linkquality":98}"#),
        (1, "zigbee2mqtt/b/action", "single"),
      ], yaml: "device: zigbee2mqtt, topic: zigbee2mqtt/b, buttons: {single: kiwi}"),
    Recording(
      source: "the same, the other way round (homeassistant: legacy_action_sensor)",
      messages: [
        (0, "zigbee2mqtt/b/action", "single"),
        (40, "zigbee2mqtt/b", #"{"action":"single","battery":100,"linkquality":98}"#),
      ], yaml: "device: zigbee2mqtt, topic: zigbee2mqtt/b, buttons: {single: kiwi}"),
    Recording(
      source: "Zigbee2MQTT, mqtt: output: attribute",
      messages: [(0, "zigbee2mqtt/b/battery", "100"), (1, "zigbee2mqtt/b/action", "single")],
      yaml: "device: zigbee2mqtt, topic: zigbee2mqtt/b/action, buttons: {single: kiwi}"),
    Recording(
      source: "Zigbee2MQTT #26374: a Hue Smart Button says off",
      messages: [(0, "zigbee2mqtt/Hue", #"{"action":"off","battery":100,"linkquality":95}"#)],
      yaml: #"device: zigbee2mqtt, topic: zigbee2mqtt/Hue, buttons: {"off": kiwi}"#),
    Recording(
      source: "shelly-api-docs.shelly.cloud/gen1, Shelly1 MQTT: the contact, then the event",
      messages: [
        (0, "shellies/s1/relay/0", "off"), (1, "shellies/s1/input/0", "0"),
        (2, "shellies/s1/input_event/0", #"{"event":"S","event_cnt":848}"#),
        (9000, "shellies/s1/input/0", "1"), (9010, "shellies/s1/relay/0", "on"),
        (9900, "shellies/s1/input/0", "0"), (9901, "shellies/s1/longpush/0", "1"),
        (9902, "shellies/s1/input_event/0", #"{"event":"L","event_cnt":849}"#),
      ], yaml: "device: shelly_gen1, topic: shellies/s1, buttons: {\"0_long\": kiwi}"),
    Recording(
      source: "the same, and its old event was not heard yet",
      messages: [
        (9000, "shellies/s1/input/0", "1"), (9300, "shellies/s1/input/0", "0"),
        (9800, "shellies/s1/input_event/0", #"{"event":"S","event_cnt":849}"#),
      ], yaml: "device: shelly_gen1, topic: shellies/s1, buttons: {\"0_single\": kiwi}"),
    Recording(
      source:
        "bieniu/ha-shellies-discovery #91, a Shelly i3: the last event again every 30 seconds",
      messages: [
        (0, "shellies/i3/input_event/0", #"{"event":"SSS","event_cnt":4}"#),
        (30_000, "shellies/i3/input_event/0", #"{"event":"SSS","event_cnt":4}"#),
        (60_000, "shellies/i3/input_event/0", #"{"event":"SSS","event_cnt":4}"#),
        (61_000, "zigbee2mqtt/b", #"{"action":"single","linkquality":98}"#),
      ], yaml: "device: zigbee2mqtt, topic: zigbee2mqtt/b, buttons: {single: kiwi}"),
    Recording(
      source: "a Shelly Button1 that wakes later than all others have spoken",
      messages: [
        (40_000, "shellies/shellybutton1-A4CF12/online", "true"),
        (40_100, "shellies/shellybutton1-A4CF12/input_event/0", #"{"event":"S","event_cnt":1}"#),
      ],
      yaml:
        "device: shelly_gen1, topic: shellies/shellybutton1-A4CF12, buttons: {\"0_single\": kiwi}"),
    Recording(
      source: "a Shelly 1 that was just switched on (recorded with firmware 1.12)",
      messages: [
        (0, "shellies/s1/input_event/0", #"{"event":"","event_cnt":0}"#),
        (5000, "shellies/s1/input_event/0", #"{"event":"S","event_cnt":1}"#),
      ], yaml: "device: shelly_gen1, topic: shellies/s1, buttons: {\"0_single\": kiwi}"),
    Recording(
      source: "shelly-api-docs.shelly.cloud/gen2/DynamicComponents/BTHome: sensor and device",
      messages: [
        (
          0, "gw/events/rpc",
          #"{"src":"gw","method":"NotifyEvent","params":{"ts":1.5,"events":[{"component":"#
            + #""bthomesensor:203","id":203,"event":"single_push","ts":1731931521.19}]}}"#
        ),
        (
          20, "gw/events/rpc",
          #"{"src":"gw","method":"NotifyEvent","params":{"ts":1.5,"events":[{"component":"#
            + #""bthomedevice:200","id":200,"event":"single_push","idx":1,"ts":1731931521.19}]}}"#
        ),
      ],
      yaml: "device: shelly_gen2, topic: gw, buttons: {\"bthomedevice:200_1_single\": kiwi}"),
    Recording(
      source: "esphome.io/components/mqtt: the log line, then the state",
      messages: [
        (0, "bench/debug", "[D][binary_sensor:036]: 'Kiwi Button': Sending state ON"),
        (1, "bench/binary_sensor/kiwi_button/state", "ON"),
        (300, "bench/binary_sensor/kiwi_button/state", "OFF"),
      ], yaml: "device: esphome, topic: bench, buttons: {kiwi_button: kiwi}"),
    Recording(
      source: "tasmota.github.io/docs/Buttons-and-Switches/#setoption114",
      messages: [
        (0, "stat/hall/RESULT", #"{"POWER":"ON"}"#),
        (1, "stat/hall/RESULT", #"{"Switch1":{"Action":"TOGGLE"}}"#),
      ], yaml: "device: tasmota, topic: stat/hall, buttons: {switch1_toggle: kiwi}"),
    Recording(
      source: "Tasmota #23574, SetOption4 1",
      messages: [(0, "stat/hall/BUTTON1", #"{"Button1":{"Action":"DOUBLE"}}"#)],
      yaml: "device: tasmota, topic: stat/hall, buttons: {\"1_double\": kiwi}"),
    Recording(
      source: "tasmota.github.io/docs/RF-Protocol, a Sonoff RM433",
      messages: [
        (
          0, "tele/tasmota/RESULT",
          #"{"Time":"2020-05-27T18:59:06","RfReceived":{"Data":"0x7028D2","Bits":24,"#
            + #""Protocol":1,"Pulse":238}}"#
        )
      ],
      yaml: "device: generic, topic: tele/tasmota/RESULT, action: /RfReceived/Data, "
        + "buttons: {\"0x7028d2\": kiwi}"),
    Recording(
      source: "Tasmota, a Sonoff RF Bridge 433 (docs/devices/Sonoff-RF-Bridge-433)",
      messages: [
        (
          0, "tele/RF_Bridge/RESULT",
          #"{"RfReceived":{"Sync":10600,"Low":350,"High":1050,"Data":"D028D2","RfKey":"None"}}"#
        )
      ],
      yaml: "device: generic, topic: tele/RF_Bridge/RESULT, action: /RfReceived/Data, "
        + "buttons: {d028d2: kiwi}"),
    Recording(
      source: "docs.openmqttgateway.com/use/rf.html",
      messages: [
        (0, "home/OMG/433toMQTT", #"{"value":4534142,"protocol":1,"length":24,"delay":356}"#)
      ],
      yaml: "device: generic, topic: home/OMG/433toMQTT, action: /value, "
        + "buttons: {\"4534142\": kiwi}"),
    Recording(
      source: "tasmota.github.io/docs/Zigbee/#receiving-commands",
      messages: [
        (
          0, "tele/zigbee/SENSOR",
          #"{"ZbReceived":{"0x3476":{"Device":"0x3476","Name":"ikea_switch","0006!01":"","#
            + #""Power":1,"Endpoint":1,"LinkQuality":134}}}"#
        )
      ],
      yaml: "device: generic, topic: tele/zigbee/SENSOR, action: /ZbReceived/0x3476/Power, "
        + "buttons: {\"1\": kiwi}"),
    Recording(
      source: "theengs/decoder, SBBT-002C: a press is advertised several times",
      messages: [
        (
          0, "home/TheengsGateway/BTtoMQTT/BC026EAABBCC",
          #"{"id":"BC:02:6E:AA:BB:CC","rssi":-60,"brand":"Shelly","type":"BTN","packet":29,"#
            + #""batt":100,"button":1}"#
        )
      ],
      yaml: "device: generic, topic: home/TheengsGateway/BTtoMQTT/BC026EAABBCC, "
        + "action: /button, counter: /packet, buttons: {\"1\": kiwi}"),
    Recording(
      source: "theengs/decoder, SBBT-004CEU: a member for each key",
      messages: [
        (
          0, "home/TheengsGateway/BTtoMQTT/38398F71EEFF",
          #"{"id":"38:39:8F:71:EE:FF","packet":29,"batt":100,"button1":0,"button2":2,"button3":0}"#
        )
      ],
      yaml: "device: generic, topic: home/TheengsGateway/BTtoMQTT/38398F71EEFF, "
        + "action: /button2, counter: /packet, buttons: {\"2\": kiwi}"),
    Recording(
      source: "shelly-script-examples, ble/universal-blu-to-mqtt.shelly.js: copies of one press",
      messages: (0..<4).map {
        (
          $0 * 90, "38:39:8f:71:ee:ff",
          #"{"addr":"38:39:8f:71:ee:ff","rssi":-60,"local_name":"","service_data":"#
            + #"{"encryption":false,"BTHome_version":2,"pid":12,"battery":100,"button":1}}"#
        )
      },
      yaml: "device: generic, topic: \"38:39:8f:71:ee:ff\", action: /service_data/button, "
        + "counter: /service_data/pid, buttons: {\"1\": kiwi}"),
    Recording(
      source: "the same script, a remote with four keys",
      messages: [
        (
          0, "38:39:8f:71:ee:ff",
          #"{"addr":"38:39:8f:71:ee:ff","rssi":-60,"local_name":"","service_data":"#
            + #"{"encryption":false,"BTHome_version":2,"pid":13,"button":[0,1,0,0]}}"#
        )
      ],
      yaml: "device: generic, topic: \"38:39:8f:71:ee:ff\", action: /service_data/button/1, "
        + "counter: /service_data/pid, buttons: {\"1\": kiwi}"),
    Recording(
      source: "shelly-script-examples, ble/ble-shelly-blu.shelly.js",
      messages: [
        (
          0, "shellyplus1-a8/events/rpc",
          #"{"src":"shellyplus1-a8","method":"NotifyEvent","params":{"ts":12.5,"events":[{"#
            + #""component":"script:1","id":1,"event":"shelly-blu","data":{"pid":118,"#
            + #""battery":100,"button":1,"rssi":-76,"address":"38:39:8f:71:ee:ff"},"ts":12.5}]}}"#
        )
      ],
      yaml: "device: shelly_gen2, topic: shellyplus1-a8, "
        + "buttons: {\"38:39:8f:71:ee:ff_single\": kiwi}"),
    Recording(
      source: "the same script, a remote with four keys",
      messages: [
        (
          0, "shellyplus1-a8/events/rpc",
          #"{"src":"shellyplus1-a8","method":"NotifyEvent","params":{"ts":12.5,"events":[{"#
            + #""component":"script:1","id":1,"event":"shelly-blu","data":{"pid":119,"#
            + #""button":[0,0,254,0],"address":"38:39:8f:71:ee:ff"},"ts":12.5}]}}"#
        )
      ],
      yaml: "device: shelly_gen2, topic: shellyplus1-a8, "
        + "buttons: {\"38:39:8f:71:ee:ff_2_long\": kiwi}"),
    Recording(
      source: "rtl_433 -F mqtt: copies of one press, and the id of the remote",
      messages: (0..<4).map {
        (
          $0 * 80, "rtl_433/pi/events",
          #"{"time":"2024-05-01 12:00:00","model":"Akhan-100F14","id":66123,"button":1}"#
        )
      },
      yaml: "device: generic, topic: rtl_433/pi/events, action: /button, key: /id, "
        + "buttons: {\"66123_1\": kiwi}, debounce_milliseconds: 1000"),
    Recording(
      source: "OpenBK: a press, beside the value of a channel",
      messages: [(0, "obk8F2A1B2C/1/get", "1"), (10, "obk8F2A1B2C/btn/get", "single")],
      yaml: "device: generic, topic: obk8F2A1B2C/btn/get, buttons: {single: kiwi}"),
    Recording(
      source: "meshtastic.org/docs/software/integrations/mqtt: a text, beside telemetry",
      messages: [
        (
          0, "msh/EU_868/2/json/LongFast/!7efeee00",
          #"{"channel":0,"from":2130636288,"id":452664777,"payload":{"battery_level":100,"#
            + #""voltage":4.1},"sender":"!7efeee00","timestamp":1646832720,"type":"telemetry"}"#
        ),
        (
          5, "msh/EU_868/2/json/LongFast/!7efeee00",
          #"{"channel":0,"from":2130636288,"id":452664778,"payload":{"text":"juice"},"#
            + #""sender":"!7efeee00","timestamp":1646832724,"to":-1,"type":"text"}"#
        ),
      ],
      yaml: "device: generic, topic: \"msh/EU_868/2/json/LongFast/!7efeee00\", "
        + "action: /payload/text, key: /from, counter: /id, buttons: {\"2130636288_juice\": kiwi}"),
    Recording(
      source: "docs.openmqttgateway.com/use/rf.html: copies",
      messages: (0..<3).map {
        ($0 * 400, "home/OMG/433toMQTT", #"{"value":4534142,"protocol":1,"length":24,"delay":356}"#)
      },
      yaml: "device: generic, topic: home/OMG/433toMQTT, action: /value, "
        + "buttons: {\"4534142\": kiwi}, debounce_milliseconds: 1000"),
    Recording(
      source: "copies with a time each, which is no counter of presses",
      messages: [
        (0, "gw/remote", #"{"button":1,"ts":17.25}"#),
        (90, "gw/remote", #"{"button":1,"ts":17.34}"#),
      ],
      yaml: "device: generic, topic: gw/remote, action: /button, counter: /ts, "
        + "buttons: {\"1\": kiwi}, debounce_milliseconds: 1000"),
    Recording(
      source: "two presses are no copies",
      messages: [(0, "front/button", "1"), (1500, "front/button", "1")],
      yaml: "device: generic, topic: front/button, buttons: {\"1\": kiwi}"),
    Recording(
      source: "dresden-elektronik.github.io/deconz-rest-doc: the id of the remote",
      messages: [
        (
          0, "deconz/events",
          #"{"t":"event","e":"changed","r":"sensors","id":"3","state":{"buttonevent":1002}}"#
        )
      ],
      yaml: "device: generic, topic: deconz/events, action: /state/buttonevent, key: /id, "
        + "buttons: {\"3_1002\": kiwi}"),
    Recording(
      source: "an id that may be that of the message",
      messages: [(0, "gw/remote", #"{"id":"5c1f","button":1}"#)],
      yaml: "device: generic, topic: gw/remote, action: /button, buttons: {\"1\": kiwi}"),
    Recording(
      source: "the example of deploy/docs/devices.md",
      messages: [(0, "acme/7/event", #"{"data":{"button":{"code":"A1"},"seq":17}}"#)],
      yaml: "device: generic, topic: acme/7/event, action: /data/button/code, "
        + "counter: /data/seq, buttons: {a1: kiwi}"),
    Recording(
      source: "key and action in members of their own",
      messages: [(0, "gateway/remotes", #"{"button":2,"click":"single","rssi":-60}"#)],
      yaml: "device: generic, topic: gateway/remotes, action: /click, key: /button, "
        + "buttons: {\"2_single\": kiwi}"),
    Recording(
      source: "a shell script",
      messages: [(0, "front/button", "1")],
      yaml: "device: generic, topic: front/button, buttons: {\"1\": kiwi}"),
  ]

  @Test(arguments: recordings, [false, true])
  func onePressIsLearned(recording: Recording, inABusyHouse: Bool) throws {
    var discovery = DeviceDiscovery(at: .zero)
    var learned: [Recognition] = []
    var now = Duration.zero
    func resolve(_ time: Duration) {
      if let recognition = discovery.resolve(at: time) { learned.append(recognition) }
    }
    for (milliseconds, topic, payload) in recording.messages {
      now = .milliseconds(milliseconds)
      resolve(now)
      if inABusyHouse {
        for (topic, payload) in Self.quietHouse {
          _ = discovery.observe(Array(payload.utf8), on: topic, at: now)
        }
      }
      if case .press(let recognition) = discovery.observe(Array(payload.utf8), on: topic, at: now) {
        learned.append(recognition)
      }
    }
    resolve(now + .seconds(3))
    resolve(now + .seconds(6))
    #expect(discovery.due == nil)
    let lines = learned.map { $0.entry(name: "p", juice: "kiwi").split(separator: "\n") }
    let yaml = lines.map { $0.dropFirst().map { $0.drop { $0 == " " } }.joined(separator: ", ") }
    #expect(yaml == [recording.yaml])
  }

  @Test func anEventThatMayBeOldIsDoubted() throws {
    var discovery = DeviceDiscovery(at: .zero)
    func observe(_ event: String, _ count: Int, at second: Int) -> DeviceDiscovery.Observation {
      discovery.observe(
        Array(#"{"event":"\#(event)","event_cnt":\#(count)}"#.utf8), on: "shellies/s/input_event/0",
        at: .seconds(second))
    }
    guard case .uncertain(let uncertain) = observe("S", 4, at: 5) else {
      Issue.record("not doubted")
      return
    }
    #expect(uncertain.summary == "\"0_single\" on shellies/s/input_event/0")
    #expect(observe("S", 4, at: 35) == .nothing)
    #expect(discovery.remaining == uncertain)
    guard case .press(let press) = observe("L", 5, at: 40) else {
      Issue.record("not learned")
      return
    }
    #expect(press.topic == "shellies/s")
    #expect(discovery.remaining == nil)
  }

  @Test func aSecondDeviceIsLearnedAndTheFirstNotTwice() {
    var discovery = DeviceDiscovery(at: .zero)
    func topics(_ messages: [(String, String)]) -> [String] {
      messages.compactMap { topic, payload in
        guard case .press(let press) = discovery.observe(Array(payload.utf8), on: topic, at: .zero)
        else {
          return nil
        }
        return press.topic
      }
    }
    let action = #"{"action":"single","linkquality":9}"#
    #expect(
      topics([
        ("z/a", action), ("z/a/action", "single"), ("z/a", action), ("z/b", action),
        ("stat/t/RESULT", #"{"Button1":{"Action":"SINGLE"}}"#),
        ("stat/t/RESULT", #"{"Button2":{"Action":"SINGLE"}}"#),
      ]) == ["z/a", "z/b", "stat/t"])
    #expect(discovery.due == nil)
  }

  @Test func madeUpTopicsDoNotFillTheMemory() {
    var discovery = DeviceDiscovery(at: .zero)
    for number in 0..<5000 {
      let event = Array(#"{"event":"S","event_cnt":1}"#.utf8)
      _ = discovery.observe(event, on: "shellies/\(number)/input_event/0", at: .zero)
      _ = discovery.observe(Array("1".utf8), on: "shellies/\(number)/input/0", at: .zero)
      _ = discovery.observe(Array("kiwi".utf8), on: "guess/\(number)", at: .zero)
    }
    #expect(discovery.size <= 4 * 1000)
  }
}
