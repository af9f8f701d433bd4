import Devices
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import KioskCore

/// Several buttons that share a topic: each orders its juice, and each press counts once.
@Suite struct SharedTopicTests {
  private static let banana = Command.order(Order(juice: "banana"))
  private static let kiwi = Command.order(Order(juice: "kiwi"))
  private static let mango = Command.order(Order(juice: "mango"))

  private static func generic(
    _ name: String, _ topic: String, action: String, key: String? = nil, counter: String? = nil,
    _ buttons: [String: Command]
  ) -> PanelBinding {
    let format = GenericFormat(
      action: JSONPointer(action), key: key.flatMap { JSONPointer($0) },
      counter: counter.flatMap { JSONPointer($0) })
    return PanelBinding(name: name, dialect: .generic(format), topic: topic, buttons: buttons)
  }

  private static func kiosk(_ panels: PanelBinding...) throws -> TestKiosk {
    var settings = KioskSettings.test()
    settings.panels = panels
    return try TestKiosk(settings: settings)
  }

  private func message(
    _ topic: String, _ payload: String, packetID: UInt16 = 0, redelivered: Bool = false
  ) -> Delivery {
    Delivery(
      message: Message(topic: topic, payload: Array(payload.utf8)), packetID: packetID,
      isRedelivery: redelivered)
  }

  /// Two switches with SetOption114 1 (tasmota.github.io/docs/Buttons-and-Switches/#setoption114).
  @Test func twoSwitchesOfOneTasmota() throws {
    let topic = "stat/hall/RESULT"
    let kiosk = try Self.kiosk(
      Self.generic("left", topic, action: "/Switch1/Action", ["on": Self.banana]),
      Self.generic("right", topic, action: "/Switch2/Action", ["on": Self.kiwi]))
    try kiosk.receive(
      message(topic, #"{"Switch1":{"Action":"ON"}}"#),
      message(topic, #"{"Switch1":{"Action":"OFF"}}"#), message(topic, #"{"POWER":"ON"}"#))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (8, 10))
    try kiosk.receive(message(topic, #"{"Switch2":{"Action":"ON"}}"#))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (8, 7))
    #expect(kiosk.core.counters.rejected == 0)
  }

  /// A Tasmota bridge (tasmota.github.io/docs/Zigbee/#receiving-commands) with two IKEA remotes and
  /// a lamp.
  @Test func twoDevicesBehindOneZigbeeBridge() throws {
    let topic = "tele/zigbee/SENSOR"
    let kiosk = try Self.kiosk(
      Self.generic("counter", topic, action: "/ZbReceived/0x3476/Power", ["1": Self.banana]),
      Self.generic("hall", topic, action: "/ZbReceived/0xF72F/Power", ["2": Self.kiwi]))
    try kiosk.receive(
      message(
        topic,
        #"{"ZbReceived":{"0x3476":{"Device":"0x3476","Name":"ikea_switch","0006!01":"","Power":1,"#
          + #""Endpoint":1,"LinkQuality":134}}}"#),
      message(
        topic,
        #"{"ZbReceived":{"0xF72F":{"Device":"0xF72F","0006!02":"","Power":2,"Endpoint":1,"#
          + #""Group":100,"LinkQuality":75}}}"#),
      message(
        topic,
        #"{"ZbReceived":{"0x5ADF":{"Device":"0x5ADF","Power":true,"Endpoint":1,"LinkQuality":80}}}"#
      ))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (8, 7))
  }

  /// A BLU Wall Switch 4 at a Theengs gateway, whose decoder reports an action for each key, 0 for
  /// none (theengs/decoder, docs/devices/SBBT-004CEU.md, tests/BLE/test_ble.cpp). The device
  /// advertises a press several times, with the same packet id. Here both copies are delivered with
  /// QoS 1 before a crash.
  @Test func theKeysOfAWallSwitch() throws {
    let topic = "home/TheengsGateway/BTtoMQTT/38398F71EEFF"
    let panels = (1...4).map { key in
      Self.generic(
        "key\(key)", topic, action: "/button\(key)", counter: "/packet",
        ["1": [Self.banana, Self.kiwi, Self.mango, Self.mango][key - 1]])
    }
    let kiosk = try Self.kiosk(panels[0], panels[1], panels[2], panels[3])
    func say(_ packet: Int, _ buttons: [Int], packetID: UInt16, again: Bool = false) -> Delivery {
      let keys = buttons.enumerated().map { #""button\#($0 + 1)":\#($1)"# }
      let payload =
        #"{"id":"38:39:8F:71:EE:FF","rssi":-60,"brand":"Shelly","model":"ShellyBLU Switch4","#
        + #""type":"BTN","acts":true,"packet":\#(packet),"batt":100,\#(keys.joined(separator: ","))}"#
      return message(topic, payload, packetID: packetID, redelivered: again)
    }
    for packetID in [1, 2] as [UInt16] {
      try kiosk.receive(say(29, [1, 0, 0, 0], packetID: packetID))
    }
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (8, 10))
    // Two keys at once are one message.
    try kiosk.receive(say(30, [1, 1, 0, 0], packetID: 3))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (6, 7))
    try kiosk.restart()
    try kiosk.receive(
      say(29, [1, 0, 0, 0], packetID: 1, again: true),
      say(29, [1, 0, 0, 0], packetID: 2, again: true),
      say(30, [1, 1, 0, 0], packetID: 3, again: true), say(30, [1, 1, 0, 0], packetID: 4))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (6, 7))
    try kiosk.receive(say(31, [0, 0, 1, 0], packetID: 5))
    #expect(kiosk.stock["mango"] == 7)
  }

  /// Remotes at deCONZ, which have one member for the device and one for the action
  /// (dresden-elektronik.github.io/deconz-rest-doc/endpoints/websocket).
  @Test func keyAndActionInMembersOfTheirOwn() throws {
    let topic = "deconz/events"
    let kiosk = try Self.kiosk(
      Self.generic(
        "remotes", topic, action: "/state/buttonevent", key: "/id",
        ["3_1002": Self.banana, "4_1002": Self.kiwi]))
    try kiosk.receive(
      message(
        topic, #"{"t":"event","e":"changed","r":"sensors","id":"3","state":{"buttonevent":1002}}"#),
      message(
        topic, #"{"t":"event","e":"changed","r":"sensors","id":"4","state":{"buttonevent":1002}}"#),
      message(
        topic, #"{"t":"event","e":"changed","r":"sensors","id":"5","state":{"buttonevent":1002}}"#),
      message(topic, #"{"t":"event","e":"changed","r":"sensors","state":{"buttonevent":1002}}"#))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (8, 7))
  }

  /// Each device has a counter of its own.
  @Test func twoDevicesOnOneTopicDoNotTakeEachOthersCount() throws {
    let kiosk = try Self.kiosk(
      Self.generic(
        "remotes", "gateway/events", action: "/click", key: "/id", counter: "/packet",
        ["a_single": Self.banana, "b_single": Self.kiwi]))
    func say(_ id: String, _ packet: Int) -> Delivery {
      message("gateway/events", #"{"id":"\#(id)","click":"single","packet":\#(packet)}"#)
    }
    try kiosk.receive(say("A", 5), say("B", 9), say("A", 5), say("B", 9))
    #expect((kiosk.stock["banana"], kiosk.stock["kiwi"]) == (8, 7))
  }

  /// A broker may deliver a copy of a press for each subscription that matches its topic
  /// (`allow_duplicate_messages true` of mosquitto, EMQX, HiveMQ).
  @Test func noSubscriptionOverlapsWithAnother() throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall", dialect: .generic(GenericFormat()), topic: "hasp/#",
        buttons: ["up": .order(Order(juice: "banana"))]),
      PanelBinding(
        name: "wall", dialect: .tasmota, topic: "stat/wall",
        buttons: ["single": .order(Order(juice: "banana"))]),
    ]
    settings.displays = try ["hasp/plate01/LWT", "tele/x/LWT", "tele/x/LWT", "stat/wall/LWT"].map {
      Display(
        content: .text(Push(topic: "screen", payload: try Template("x"))),
        birth: Birth(topic: $0, payload: "online"))
    }
    settings.births = [
      Birth(topic: "kiosk/k1/order/ha", payload: "online"),
      Birth(topic: "homeassistant/status", payload: "online"),
    ]
    let filters = settings.subscriptions
    #expect(
      filters.map(\.text) == [
        "kiosk/k1/order/+", "kiosk/k1/restock/+", "kiosk/k1/service/+",
        "kiosk/k1/settings/+", "kiosk/k1/job/+", "hasp/#", "stat/wall/+", "homeassistant/status",
        "tele/x/LWT",
        "kiosk/k1/report/+",
      ])
    for (index, filter) in filters.enumerated() {
      #expect(!filters.dropFirst(index + 1).contains { $0.overlaps(filter) })
    }
  }
}
