import Devices
import JuiceDomain
import KioskProtocol
import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Tests the configuration of buttons and screens of other vendors.
@Suite struct PanelTests {
  private func parse(_ yaml: String) throws -> KioskConfiguration {
    try KioskConfiguration.parse(yaml: yaml, file: "k.yaml")
  }

  @Test func readsAPanel() throws {
    let configuration = try parse(
      """
      panels:
        - name: hallway
          device: zigbee2mqtt
          topic: zigbee2mqtt/hallway button
          buttons: {Single: kiwi, double: {juice: mango, quantity: 2}, long: {service: closed}}
          debounce_milliseconds: 250
          feedback:
            ready: {topic: cmnd/lamp/POWER, payload: "{juice} {ticket}"}
            juices:
              kiwi: {available: {topic: lamp/1, payload: "ON"}, sold_out: {topic: lamp/1, payload: "OFF"}}
            birth: {topic: tele/lamp/LWT, payload: Online}
      """)
    let kiwi = Order(juice: "kiwi")
    let panel = PanelBinding(
      name: "hallway", dialect: .zigbee2MQTT, topic: "zigbee2mqtt/hallway button",
      buttons: [
        "single": .order(kiwi), "double": .order(Order(juice: "mango", quantity: 2)),
        "long": .service(.closed),
      ], debounce: .milliseconds(250),
      feedback: Feedback(
        ready: Push(topic: "cmnd/lamp/POWER", payload: try Template("{juice} {ticket}"))))
    #expect(configuration.panels == [panel])
    let lamp = Display(
      content: .availability(
        "kiwi", available: Push(topic: "lamp/1", payload: try Template("ON")),
        soldOut: Push(topic: "lamp/1", payload: try Template("OFF"))),
      birth: Birth(topic: "tele/lamp/LWT", payload: "Online"))
    #expect(configuration.displays == [lamp])
  }

  @Test func readsAGenericPanel() throws {
    let configuration = try parse(
      """
      panels:
        - {name: p, device: generic, topic: acme/+/up, action: /d/do, key: /d/key, counter: /d/n, buttons: {1_on: {juice: kiwi, quantity: 2.0}}}
      """)
    #expect(
      configuration.panels.map(\.buttons) == [["1_on": .order(Order(juice: "kiwi", quantity: 2))]])
    let format = GenericFormat(
      action: JSONPointer("/d/do"), key: JSONPointer("/d/key"), counter: JSONPointer("/d/n"))
    #expect(configuration.panels.map(\.dialect) == [.generic(format)])
    #expect(configuration.panels.map(\.topic) == ["acme/+/up"])
  }

  @Test func readsAPanelThatSleeps() throws {
    let panel = "topic: bench, deep_sleep: true, buttons: {press: kiwi}"
    let configuration = try parse("panels: [{name: p, device: esphome, \(panel)}]")
    #expect(configuration.panels.map(\.sleeps) == [true])
    #expect(errors("panels: [{name: p, device: zigbee2mqtt, \(panel)}]").count == 1)
  }

  @Test func readsADisplay() throws {
    let configuration = try parse(
      """
      displays:
        - topic: cmnd/hall/DisplayText
          text: "Kiwi {stock.kiwi}"
          retain: true
          birth: {topic: tele/hall/LWT, payload: Online}
          max_per_second: 5
        - {topic: hasp/plate/command/p1b3.text, text: "{servings.mango_kiwi}"}
      """)
    #expect(
      configuration.displays == [
        Display(
          content: .text(
            Push(topic: "cmnd/hall/DisplayText", payload: try Template("Kiwi {stock.kiwi}"))),
          retain: true, birth: Birth(topic: "tele/hall/LWT", payload: "Online"),
          maximumPerSecond: 5),
        Display(
          content: .text(
            Push(
              topic: "hasp/plate/command/p1b3.text",
              payload: try Template("{servings.mango_kiwi}")))),
      ])
  }

  private static let z = "device: zigbee2mqtt, topic: z/b, buttons: {single: kiwi}"

  @Test(arguments: [
    ("panels: {}", "k.yaml:1:1: panels: must be a list of at most 10000, each starting with '- '"),
    (
      "panels: [x]",
      "k.yaml:1:10: panels.1: must hold keys, each on a line of its own like 'key: value'"
    ),
    ("panels: [{\(z)}]", "k.yaml:1:10: panels.1.name: is missing"),
    (
      "panels: [{name: a/b, \(z)}]",
      "k.yaml:1:11: panels.1.name: the name of the panel must be one topic level: without /, + and #"
    ),
    (
      "panels: [{name: p, \(z)}, {name: p, device: tasmota, topic: stat/x, buttons: {single: kiwi}}]",
      "k.yaml:1:80: panels.2.name: there is a panel 'p' already; give each its own name"
    ),
    (
      "panels: [{name: p, \(z)}, {name: q, \(z)}]",
      "k.yaml:1:110: panels.2.topic: panel 'p' receives the same presses; bind each press once"
    ),
    (
      "panels: [{name: p, \(z)}, {name: q, device: zigbee2mqtt, topic: z/b/action, buttons: {a: kiwi}}]",
      "k.yaml:1:110: panels.2.topic: panel 'p' receives the same presses; bind each press once"
    ),
    (
      "panels: [{name: p, device: zigbee2mqtt, topic: z/b, buttons: {single: kiwy}}]",
      "k.yaml:1:63: panels.1.buttons.single: there is no juice 'kiwy' on the menu; did you mean 'kiwi'?"
    ),
    (
      "panels: [{name: p, device: zigbee2mqtt, topic: z/b}]",
      "k.yaml:1:10: panels.1.buttons: a panel needs buttons; write them like 'single: kiwi'"
    ),
    (
      "panels: [{name: p, device: shelly_gen1, topic: s/x, buttons: {singel: kiwi}}]",
      "k.yaml:1:53: panels.1.buttons: shelly_gen1 never sends 'singel'; did you mean 'single'?"
    ),
    (
      "panels: [{name: p, device: shelly_gen2, topic: s, buttons: {200_single: kiwi}}]",
      "k.yaml:1:51: panels.1.buttons: shelly_gen2 never sends '200_single'; known here: "
        + "single, single_push, double, double_push, triple, triple_push, long, long_push"
    ),
    (
      "panels: [{name: p, device: shelly_gen1, topic: s/x/input_event/0, buttons: {single: kiwi}}]",
      "k.yaml:1:41: panels.1.topic: must not contain /input_event/0; write s/x"
    ),
    (
      "panels: [{name: p, device: tasmota, topic: stat/x/RESULT, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.topic: must not contain /RESULT; write stat/x"
    ),
    (
      "panels: [{name: p, device: tasmota, topic: cmnd/x, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.topic: Tasmota publishes no presses on cmnd/...; write stat/x"
    ),
    (
      "panels: [{name: p, device: esphome, topic: hall/binary_sensor/x/state, buttons: {x: kiwi}}]",
      "k.yaml:1:37: panels.1.topic: must not contain /binary_sensor/x/state; "
        + "write hall"
    ),
    (
      "panels: [{name: p, device: tasmota, topic: stat/+, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.topic: must not hold the wildcard '+'"
    ),
    (
      "panels: [{name: p, device: generic, topic: a/b+, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.topic: 'a/b+' has a wildcard inside a level; a wildcard is a level of its own"
    ),
    (
      "panels: [{name: p, device: generic, topic: kiosk/k1/#, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.topic: includes the kiosk's own topics below kiosk/k1; bind the device's topic"
    ),
    (
      "panels: [{name: p, \(z)}, {name: q, device: generic, topic: z/+, buttons: {a: kiwi}}]",
      "k.yaml:1:106: panels.2.topic: overlaps with z/b of panel 'p'; a broker may send such messages twice: "
        + "bind one topic, or the same filter"
    ),
    (
      "panels: [{name: p, device: generic, action: d/key, topic: a, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.action: 'd/key' is not a JSON pointer; write it like '/event/action'"
    ),
    (
      "panels: [{name: p, device: generic, key: /key, topic: a, buttons: {a: kiwi}}]",
      "k.yaml:1:37: panels.1.key: works only together with 'action'; add it"
    ),
    (
      "panels: [{name: p, device: tasmota, action: /a, topic: stat/a, buttons: {single: kiwi}}]",
      "k.yaml:1:37: panels.1.action: there is no such key; known here: "
        + "name, device, topic, buttons, debounce_milliseconds, pays, feedback"
    ),
    (
      "panels: [{name: p, device: zigbee2mqtt, topic: z/b, buttons: {single: {juice: kiwi, service: open}}}]",
      "k.yaml:1:63: panels.1.buttons.single: a button has one action; name a juice, "
        + "or open or close the service"
    ),
    (
      "displays: [{topic: kiosk/k1/stock/kiwi, text: x}]",
      "k.yaml:1:13: displays.1.topic: is one of the kiosk's own topics below kiosk/k1; "
        + "write the device's topic"
    ),
    (
      "displays: [{topic: d, text: x, birth: {topic: kiosk/k1/status, payload: online}}]",
      "k.yaml:1:40: displays.1.birth.topic: is one of the kiosk's own topics below kiosk/k1; "
        + "write the device's topic"
    ),
    (
      "panels: [{name: p, \(z), "
        + "feedback: {pay: {topic: kiosk/k1/service/p, payload: x}}}]",
      "k.yaml:1:95: panels.1.feedback.pay.topic: is one of the kiosk's own topics below kiosk/k1; "
        + "write the device's topic"
    ),
    (
      "panels: [{name: p, \(z), "
        + "feedback: {juices: {kiwi: {available: {topic: kiosk/k1/stock, payload: x}}}}}]",
      "k.yaml:1:117: panels.1.feedback.juices.kiwi.available.topic: "
        + "is one of the kiosk's own topics below kiosk/k1; write the device's topic"
    ),
    (
      "displays: [{topic: d, text: '{stok.kiwi}'}]",
      "k.yaml:1:23: displays.1.text: there is no placeholder '{stok.kiwi}'; known are {stock.FRUIT}, "
        + "{servings.JUICE}, {alert.FRUIT}, {price.JUICE}, {payment.DEVICE} and {kiosk.status}"
    ),
    (
      "displays: [{topic: d, text: '{payment.till}'}]",
      "k.yaml:1:23: displays.1.text: there is no payment device 'till'"
    ),
    (
      "displays: [{topic: d, text: '{price.tea}'}]",
      "k.yaml:1:23: displays.1.text: there is no juice 'tea'"
    ),
    (
      "panels: [{name: p, device: tasmota, topic: t, buttons: {single: kiwi}, "
        + "feedback: {pay: {topic: f, payload: '{payment.till}'}}}]",
      "k.yaml:1:99: panels.1.feedback.pay.payload: there is no text of a payment device here: "
        + "use {message}"
    ),
    (
      "panels: [{name: p, device: tasmota, topic: t, buttons: {single: kiwi}, "
        + "feedback: {juices: {kiwi: {available: {topic: f, payload: '{payment.till}'}}}}}]",
      "k.yaml:1:121: panels.1.feedback.juices.kiwi.available.payload: "
        + "there is no text of a payment device here"
    ),
    (
      "displays: [{topic: d, text: '{stock.tea}'}]",
      "k.yaml:1:23: displays.1.text: there is no fruit 'tea'"
    ),
    (
      "displays: [{topic: d, text: '{ticket}'}]",
      "k.yaml:1:23: displays.1.text: there is no order here for {juice}, {quantity}, {ticket} "
        + "and {message}"
    ),
    (
      "displays: [{topic: d, text: x, birth: {topic: b}}]",
      "k.yaml:1:32: displays.1.birth.payload: is missing"
    ),
    (
      "displays: [{topic: d, text: x, retain: yes}]",
      "k.yaml:1:32: displays.1.retain: must be true or false, not 'yes'"
    ),
    (
      "displays: [{topic: d, text: x, retain: 'true'}]",
      "k.yaml:1:32: displays.1.retain: must be true or false, not text; remove the quotes"
    ),
  ]) func mistakes(yaml: String, message: String) {
    #expect(errors(yaml) == [message])
  }
}
