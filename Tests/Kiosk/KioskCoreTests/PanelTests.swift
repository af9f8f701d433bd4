import Devices
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Devices with topics of their own: each press counts once, although devices repeat messages and
/// leave retained ones, and also if the kiosk crashes in between.
@Suite struct PanelTests {
  private static func kiosk(
    _ dialect: Dialect, _ topic: String, feedback: Feedback = Feedback()
  ) throws -> TestKiosk {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall", dialect: dialect, topic: topic,
        buttons: [
          "single": .order(Order(juice: "banana")), "press": .order(Order(juice: "banana")),
          "double": .order(Order(juice: "kiwi", quantity: 2)), "long": .service(.closed),
        ], feedback: feedback)
    ]
    return try TestKiosk(settings: settings)
  }

  private func message(
    _ topic: String, _ payload: String, retain: Bool = false, packetID: UInt16 = 0,
    redelivered: Bool = false
  ) -> Delivery {
    Delivery(
      message: Message(topic: topic, payload: Array(payload.utf8), retain: retain),
      packetID: packetID, isRedelivery: redelivered)
  }

  @Test func firmwareThatFiresTwiceCountsOnce() throws {
    let kiosk = try Self.kiosk(.shellyGen2, "i4")
    func event(_ time: String) -> Delivery {
      message(
        "i4/events/rpc",
        #"{"method":"NotifyEvent","params":{"ts":1.5,"events":[{"component":"input:0","#
          + #""event":"single_push","ts":\#(time)}]}}"#)
    }
    try kiosk.receive(event("1643540082.66"), event("1643540082.66"))
    try kiosk.restart()
    try kiosk.receive(event("1643540082.66"))
    #expect(kiosk.stock["banana"] == 8)
    try kiosk.receive(event("1643540083.01"))
    #expect(kiosk.stock["banana"] == 6)
  }

  /// The time since power-on is the same again after a power cut of the Shelly.
  @Test func aShellyThatDoesNotKnowTheTimeCountsAfterAPowerCut() throws {
    let kiosk = try Self.kiosk(.shellyGen2, "i4")
    let event = message(
      "i4/events/rpc",
      #"{"method":"NotifyEvent","params":{"ts":12.34,"events":[{"component":"input:0","#
        + #""event":"single_push","ts":12.34}]}}"#)
    try kiosk.receive(event, event)
    kiosk.pass(.milliseconds(20))
    try kiosk.receive(event)
    #expect(kiosk.stock["banana"] == 8)
    kiosk.pass(.seconds(15))
    try kiosk.receive(event)
    #expect(kiosk.stock["banana"] == 6)
  }

  /// A script at a Shelly forwards each packet of a Bluetooth button; `pid` has 8 bits.
  @Test func thePacketOfABluetoothButtonCountsOnce() throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall", dialect: .shellyGen2, topic: "s1",
        buttons: ["38:39:8f:71:ee:ff_single": .order(Order(juice: "banana"))])
    ]
    let kiosk = try TestKiosk(settings: settings)
    func event(_ packet: Int, _ address: String = "38:39:8f:71:ee:ff", at time: Int) -> Delivery {
      message(
        "s1/events/rpc",
        #"{"method":"NotifyEvent","params":{"events":[{"component":"script:1","id":1,"#
          + #""event":"shelly-blu","data":{"pid":\#(packet),"button":1,"#
          + #""address":"\#(address)"},"ts":\#(time)}]}}"#)
    }
    try kiosk.receive(event(12, at: 5), event(12, at: 6), event(40, "11:39:8f:71:ee:ff", at: 7))
    try kiosk.restart()
    try kiosk.receive(event(12, at: 8))
    #expect(kiosk.stock["banana"] == 8)
    try kiosk.receive(event(13, at: 8))
    #expect(kiosk.stock["banana"] == 6)
  }

  /// Two gateways receive a remote, and publish below topics of their own. The copies of a gateway
  /// may be later than the next press.
  @Test(arguments: ["home/+/BTtoMQTT/38398F71EEFF", "home/+/remote"], [false, true])
  func gatewaysOfOnePanelCountAPressOnce(topic: String, restarts: Bool) throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall",
        dialect: .generic(
          GenericFormat(action: JSONPointer("/button"), counter: JSONPointer("/packet"))),
        topic: topic, buttons: ["1": .order(Order(juice: "banana"))])
    ]
    let kiosk = try TestKiosk(settings: settings)
    let presses = [
      ("A", 12), ("B", 12), ("A", 13), ("B", 12), ("B", 13), ("A", 13), ("B", 12),
    ]
    for (gateway, packet) in presses {
      let topic = topic.replacing("+", with: "OMG_\(gateway)")
      try kiosk.receive(message(topic, #"{"packet":\#(packet),"button":1}"#))
      kiosk.pass(.milliseconds(400))
      if restarts { try kiosk.restart() }
    }
    #expect(kiosk.stock["banana"] == 6)
    // The counter of the remote has 8 bits: the same value later is another press.
    kiosk.pass(RecentCounters.copyTime)
    let later = topic.replacing("+", with: "OMG_A")
    try kiosk.receive(message(later, #"{"packet":12,"button":1}"#))
    #expect(kiosk.stock["banana"] == 4)
  }

  /// A copy stays a copy, and the same value after the time of copies is a press.
  @Test(arguments: ["", "reload", "recover"], [7_200, -7_200] as [Int64])
  func settingTheClockDoesNotCountACopy(after interruption: String, ahead: Int64) throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall",
        dialect: .generic(
          GenericFormat(action: JSONPointer("/button"), counter: JSONPointer("/packet"))),
        topic: "home/+/remote", buttons: ["1": .order(Order(juice: "banana"))])
    ]
    let kiosk = try TestKiosk(settings: settings)
    func press(_ packet: Int, gateway: String) throws {
      try kiosk.receive(message("home/\(gateway)/remote", #"{"packet":\#(packet),"button":1}"#))
    }
    try press(12, gateway: "a")
    kiosk.pass(.seconds(2))
    try press(13, gateway: "a")
    if interruption == "reload" { try kiosk.reload() }
    if interruption == "recover" { try kiosk.recover() }
    kiosk.setClock(ahead: ahead)
    kiosk.pass(.seconds(1))
    try press(12, gateway: "b")
    #expect(kiosk.stock["banana"] == 6)
    kiosk.pass(RecentCounters.copyTime)
    kiosk.setClock(ahead: -ahead - 10)
    try press(12, gateway: "a")
    #expect(kiosk.stock["banana"] == 4)
  }

  @Test func remotesOfOnePanelHaveACounterEach() throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall",
        dialect: .generic(
          GenericFormat(
            action: JSONPointer("/button"), key: JSONPointer("/id"), counter: JSONPointer("/n"))),
        topic: "gateway/+",
        buttons: [
          "a_1": .order(Order(juice: "banana")), "b_1": .order(Order(juice: "kiwi")),
        ])
    ]
    let kiosk = try TestKiosk(settings: settings)
    for remote in ["a", "b"] {
      for gateway in [1, 2] {
        try kiosk.receive(
          message("gateway/\(gateway)", #"{"id":"\#(remote)","button":1,"n":5}"#))
      }
    }
    #expect(kiosk.stock["banana"] == 8)
    #expect(kiosk.stock["kiwi"] == 7)
  }

  /// Two gateways with a panel each receive one Bluetooth remote; the second binds another of its
  /// keys as well.
  @Test(arguments: [false, true])
  func gatewaysOfTwoPanelsCountAPressOnce(restarts: Bool) throws {
    var settings = KioskSettings.test()
    let remote = "38:39:8f:71:ee:ff"
    settings.panels = ["s1", "s2"].map { gateway in
      PanelBinding(
        name: gateway, dialect: .shellyGen2, topic: gateway,
        buttons: [
          "\(remote)_0_single": .order(Order(juice: "banana")),
          gateway == "s2" ? "\(remote)_1_single" : "1_single": .order(Order(juice: "kiwi")),
        ])
    }
    #expect(
      PanelBinding.sharedRemotes(of: settings.panels) == [
        "panels s1 and s2 receive the same remote 38398F71EEFF: a press counts once, for the panel "
          + "that receives it first"
      ])
    let kiosk = try TestKiosk(settings: settings)
    func press(_ gateway: String, _ packet: Int, _ keys: String = "[1,0]") throws {
      let address = gateway == "s1" ? remote : remote.uppercased()
      try kiosk.receive(
        message(
          "\(gateway)/events/rpc",
          #"{"method":"NotifyEvent","params":{"events":[{"component":"script:1","id":1,"#
            + #""event":"shelly-blu","data":{"pid":\#(packet),"button":\#(keys),"#
            + #""address":"\#(address)"},"ts":\#(packet)}]}}"#))
      kiosk.pass(.milliseconds(400))
      if restarts { try kiosk.restart() }
    }
    for (gateway, packet) in [("s1", 12), ("s2", 12), ("s2", 13), ("s1", 12), ("s1", 13)] {
      try press(gateway, packet)
    }
    #expect(kiosk.stock["banana"] == 6)
    // The first panel does not bind the key, so its message must not stop the second panel's.
    try press("s1", 14, "[0,1]")
    try press("s2", 14, "[0,1]")
    #expect(kiosk.stock["kiwi"] == 7)
  }

  @Test func panelsThatReceiveOneRemoteAreReported() {
    func panel(_ name: String, _ topic: String, _ word: String, key: String? = nil) -> PanelBinding
    {
      PanelBinding(
        name: name,
        dialect: .generic(
          GenericFormat(action: JSONPointer("/button"), key: key.flatMap { JSONPointer($0) })),
        topic: topic, buttons: [word: .order(Order(juice: "banana"))])
    }
    func names(_ panels: PanelBinding...) -> [String] {
      PanelBinding.sharedRemotes(of: panels).map { String($0.prefix { $0 != ":" }) }
    }
    #expect(
      names(
        panel("a", "home/A/BTtoMQTT/38398F71EEFF", "1"),
        panel("b", "home/B/BTtoMQTT/38:39:8f:71:ee:ff", "1"))
        == ["panels a and b receive the same remote 38398F71EEFF"])
    #expect(
      names(
        panel("a", "rtl_433/a/events", "66123_1", key: "/id"),
        panel("b", "rtl_433/b/events", "66123_1", key: "/id"))
        == ["panels a and b receive the same remote 66123"])
    // Two buttons of one remote at one gateway, and two devices with equal words.
    #expect(
      names(
        panel("a", "home/A/BTtoMQTT/38398F71EEFF", "1"),
        panel("b", "home/A/BTtoMQTT/38398F71EEFF", "1"),
        panel("c", "hall/button", "single_press"), panel("d", "bar/button", "single_press")) == [])
  }

  /// Each format has a counter of its own.
  @Test func aRemoteThatPanelsReceiveInDifferentFormatsCountsTwice() {
    func generic(_ name: String, action: String = "/button", key: String? = nil) -> PanelBinding {
      PanelBinding(
        name: name,
        dialect: .generic(
          GenericFormat(
            action: JSONPointer(action), key: key.flatMap { JSONPointer($0) },
            counter: JSONPointer("/packet"))),
        topic: "home/\(name)/38398F71EEFF", buttons: ["1": .order(Order(juice: "banana"))])
    }
    let shelly = PanelBinding(
      name: "s", dialect: .shellyGen2, topic: "s",
      buttons: ["38:39:8f:71:ee:ff_single": .order(Order(juice: "banana"))])
    func counts(_ other: PanelBinding) -> [String] {
      PanelBinding.sharedRemotes(of: [generic("a"), other]).map {
        $0.contains("a press counts once") ? "once" : "twice"
      }
    }
    #expect(counts(generic("b")) == ["once"])
    #expect(counts(generic("b", action: "/button/0")) == ["twice"])
    #expect(counts(generic("b", key: "/id")) == ["twice"])
    #expect(counts(shelly) == ["twice"])
  }

  /// ESPHome in deep sleep: the device sleeps before it could send OFF.
  @Test(arguments: [false, true])
  func aDeviceThatSleepsSendsNoOff(sleeps: Bool) throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall", dialect: .esphome, topic: "bench",
        buttons: ["press": .order(Order(juice: "banana"))], sleeps: sleeps)
    ]
    #expect(
      settings.subscriptions.contains { $0.text == "bench/status" } == sleeps)
    let kiosk = try TestKiosk(settings: settings)
    let on = message("bench/binary_sensor/bell/state", "ON")
    try kiosk.receive(message("bench/status", "online"), on, message("bench/status", "offline"), on)
    #expect(kiosk.stock["banana"] == 8)
    // A retained birth message may be that of the last press.
    try kiosk.receive(message("bench/status", "online", retain: true), on)
    #expect(kiosk.stock["banana"] == 8)
    try kiosk.receive(message("bench/status", "online"))
    try kiosk.restart()
    try kiosk.receive(on, on)
    #expect(kiosk.stock["banana"] == (sleeps ? 6 : 8))
  }

  @Test func zigbeesRadioRepeatsAndEmptyActionsAreNoPresses() throws {
    let kiosk = try Self.kiosk(.zigbee2MQTT, "zigbee2mqtt/b")
    for quality in [87, 90, 84] {
      try kiosk.receive(
        message("zigbee2mqtt/b", #"{"action":"single","linkquality":\#(quality)}"#),
        message("zigbee2mqtt/b", #"{"action":"","linkquality":\#(quality)}"#),
        message("zigbee2mqtt/b", #"{"action":null}"#))
      kiosk.pass(.milliseconds(300))
      try kiosk.restart()
    }
    #expect(kiosk.stock["banana"] == 8)
    kiosk.pass(.seconds(1))
    try kiosk.receive(message("zigbee2mqtt/b", #"{"action":"single","linkquality":80}"#))
    #expect(kiosk.stock["banana"] == 6)
  }

  /// A held button: a Hue dimmer switch reports it every 0.8 s (Koenkk/zigbee2mqtt #26270), other
  /// devices every second; one message may be lost by radio.
  @Test(arguments: [[800, 805, 794, 1600, 798], [1000, 1000, 1000, 1000, 1000]])
  func whatIsHeldIsOnePress(milliseconds: [Int]) throws {
    var settings = KioskSettings.test()
    settings.panels = [
      PanelBinding(
        name: "hall", dialect: .zigbee2MQTT, topic: "zigbee/hue_switch01",
        buttons: ["on_hold": .order(Order(juice: "banana"))])
    ]
    let kiosk = try TestKiosk(settings: settings)
    func say(_ action: String) -> Delivery {
      message("zigbee/hue_switch01", #"{"action":"\#(action)","battery":100,"counter":1}"#)
    }
    for _ in 0..<2 {
      try kiosk.receive(say("on_press"))
      kiosk.pass(.milliseconds(798))
      for pause in milliseconds {
        try kiosk.receive(say("on_hold"))
        kiosk.pass(.milliseconds(pause))
      }
      try kiosk.receive(say("on_hold_release"))
      kiosk.pass(.seconds(3))
    }
    #expect(kiosk.stock["banana"] == 6)
  }

  @Test func tasmotasOtherResultsAreNotPresses() throws {
    let kiosk = try Self.kiosk(.tasmota, "stat/hall")
    let press = #"{"Button1":{"Action":"SINGLE"}}"#
    try kiosk.receive(
      message("stat/hall/RESULT", press, retain: true),
      message("stat/hall/RESULT", press), message("stat/hall/RESULT", #"{"POWER":"ON"}"#),
      message("stat/hall/POWER", "ON"),
      message("stat/hall/RESULT", #"{"Button1":{"Action":"CLEAR"}}"#),
      message("stat/hall/BUTTON2", #"{"ACTION":"single"}"#))
    #expect(kiosk.stock["banana"] == 6)
    #expect(kiosk.commandFilter.dropped == 0)
  }

  @Test func onlyTheRisingEdgeIsAPress() throws {
    let kiosk = try Self.kiosk(.esphome, "hall")
    let topic = "hall/binary_sensor/bell/state"
    try kiosk.receive(message(topic, "OFF", retain: true), message(topic, "ON"))
    try kiosk.restart()
    // The state is delivered again with every subscription, and published when the device
    // reconnects.
    try kiosk.receive(message(topic, "ON", retain: true), message(topic, "ON"))
    try kiosk.receive(message(topic, "OFF"), message(topic, "OFF"), message(topic, "ON"))
    #expect(kiosk.stock["banana"] == 6)
    // The retained state shows what happened while the kiosk was away.
    try kiosk.restart()
    try kiosk.receive(message(topic, "OFF", retain: true), message(topic, "ON"))
    #expect(kiosk.stock["banana"] == 4)
  }

  @Test func anEventThatWasKeptIsNoPress() throws {
    let kiosk = try Self.kiosk(.esphome, "hall")
    let topic = "hall/event/bell/state"
    let ghost = try kiosk.receive(message(topic, #"{"event_type":"press"}"#, retain: true))
    // It gets no answer either, because it is delivered again with every subscription.
    #expect(ghost.transaction.isEmpty && ghost.answers.isEmpty)
    try kiosk.receive(message(topic, #"{"event_type":"press"}"#))
    #expect(kiosk.stock["banana"] == 8)
  }

  @Test func aRedeliveryIsKnownByItsFingerprint() throws {
    let kiosk = try Self.kiosk(.tasmota, "stat/hall")
    let press = #"{"Button1":{"Action":"SINGLE"}}"#
    try kiosk.receive(message("stat/hall/RESULT", press, packetID: 5))
    try kiosk.restart()
    try kiosk.receive(message("stat/hall/RESULT", press, packetID: 5, redelivered: true))
    #expect(kiosk.stock["banana"] == 8)
  }

  @Test func aButtonMayOrderSeveralOrCloseTheKiosk() throws {
    let kiosk = try Self.kiosk(.zigbee2MQTT, "zigbee2mqtt/b")
    try kiosk.receive(message("zigbee2mqtt/b", #"{"action":"double"}"#))
    #expect(kiosk.stock["kiwi"] == 4)
    try kiosk.receive(message("zigbee2mqtt/b", #"{"action":"hold"}"#))
    #expect(kiosk.core.service == .closed)
  }

  @Test func aPressIsAnsweredUnderThePanelsName() throws {
    let kiosk = try Self.kiosk(.zigbee2MQTT, "zigbee2mqtt/b")
    let decision = try kiosk.receive(message("zigbee2mqtt/b", #"{"action":"single"}"#))
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/order/hall/result"])
    #expect(decision.transaction.records.map(\.row.entry.source?.description) == ["order/hall"])
  }

  @Test func feedbackGoesWhereThePanelHearsIt() throws {
    let feedback = Feedback(
      ready: Push(topic: "lamp", payload: try Template("{juice} {ticket} {stock.banana}")),
      outOfStock: Push(topic: "lamp", payload: try Template("red")),
      rejected: Push(topic: "buzzer", payload: try Template("1")))
    let kiosk = try Self.kiosk(.tasmota, "stat/hall", feedback: feedback)
    let press = message("stat/hall/RESULT", #"{"Button1":{"Action":"SINGLE"}}"#)
    func told(_ decision: Decision) -> [String] {
      decision.answers.filter { !$0.topic.hasPrefix("kiosk/") }
        .map { "\($0.topic) \(text($0.payload))" }
    }
    #expect(told(try kiosk.receive(press)) == ["lamp banana 1 8"])
    for _ in 0..<4 { try kiosk.receive(press) }
    #expect(told(try kiosk.receive(press)) == ["lamp red"])
    try kiosk.receive(.service("closed"))
    #expect(told(try kiosk.receive(press)) == ["buzzer 1"])
  }

  @Test func whatCannotBeReadIsRejectedWithTheReason() throws {
    let kiosk = try Self.kiosk(.shellyGen1, "shellies/s1")
    let decision = try kiosk.receive(message("shellies/s1/input_event/0", "garbage"))
    #expect(try decision.reasons == [.malformed])
    #expect(decision.transaction.isEmpty)
  }

  /// Another panel's new buttons count, and a removed panel's counters are deleted.
  @Test func theMemoryOfCountersIsBounded() throws {
    var settings = KioskSettings.test()
    let format = GenericFormat(
      action: JSONPointer("/a"), key: JSONPointer("/k"), counter: JSONPointer("/n"))
    settings.panels = ["p", "q"].map { name in
      PanelBinding(
        name: name, dialect: .generic(format), topic: name,
        buttons: ["x": .order(Order(juice: "banana"))])
    }
    settings.orders.maximumPerSecond = 0
    let kiosk = try TestKiosk(settings: settings)
    func press(_ panel: String, _ key: String, _ action: String = "x", n: String = "1")
      -> Delivery
    {
      message(panel, #"{"a":"\#(action)","k":"\#(key)","n":"\#(n)"}"#)
    }
    try kiosk.receive((0...DeviceMarks.maximum).map { press("p", "\($0)") })
    #expect(try kiosk.ledger.state().marks.count == DeviceMarks.maximum)
    // A press that is not bound leaves none.
    try kiosk.receive((0...DeviceMarks.maximum).map { press("q", "\($0)", "y") })
    try kiosk.receive(.restock(#"{"add":{"banana":10}}"#))
    try kiosk.receive(press("q", "new"))
    #expect(kiosk.stock["banana"] == 8)
    #expect(try kiosk.ledger.state().marks.count == DeviceMarks.maximum + 1)

    settings.panels.removeFirst()
    try kiosk.reload(settings)
    try kiosk.receive(press("q", "new", n: "2"))
    #expect(try kiosk.ledger.state().marks.keys.sorted() == ["q/new"])
    #expect(kiosk.stock["banana"] == 6)
    let long = String(repeating: "7", count: 65)
    #expect(try kiosk.receive(press("q", "new", n: long)).reasons == [.malformed])
    #expect(try kiosk.receive(press("q", long, n: "3")).reasons == [.malformed])
  }
}
