import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Tests two panels with one device. They are accepted if each press counts for one of them, and
/// rejected if a press would count for both.
@Suite struct PanelOverlapTests {
  private func yaml(_ first: String, _ second: String) -> String {
    "panels:\n  - {name: p, \(first)}\n  - {name: q, \(second)}\n"
  }

  private static let z = "device: zigbee2mqtt, topic: z/b, buttons: {single: kiwi}"
  private static let gen1 = "device: shelly_gen1, topic: s/x, buttons:"
  private static let gen2 = "device: shelly_gen2, topic: s, buttons:"
  private static let tasmota = "device: tasmota, topic: stat/x, buttons:"
  private static let esphome = "device: esphome, topic: hall, buttons:"

  @Test(arguments: [
    // Zigbee2MQTT publishes each press on two topics (Zigbee2MQTT #32015).
    (z, "device: generic, topic: z/b/action, buttons: {double: kiwi}"),
    (z, "device: zigbee2mqtt, topic: z/b/action, buttons: {double: kiwi}"),
    (z, "device: generic, topic: z/b, action: /action, buttons: {double: kiwi}"),
    (
      "device: generic, topic: z/b, action: /action, buttons: {single: kiwi}",
      "device: generic, topic: z/b/action, buttons: {single: kiwi}"
    ),
    (z, "device: zigbee2mqtt, topic: z/b, buttons: {1_single: kiwi}"),
    (
      "device: zigbee2mqtt, topic: z/b, buttons: {hold: kiwi}",
      "device: zigbee2mqtt, topic: z/b, buttons: {long: kiwi}"
    ),
    // A Shelly with mains power also publishes the contact (shelly-api-docs.shelly.cloud/gen1).
    ("\(gen1) {0_single: kiwi}", "device: generic, topic: s/x/input/0, buttons: {'1': kiwi}"),
    ("\(gen1) {single: kiwi}", "device: generic, topic: s/x/longpush/1, buttons: {'1': kiwi}"),
    ("\(gen1) {single: kiwi}", "\(gen1) {0_s: kiwi}"),
    (
      "\(gen2) {0_single: kiwi}",
      "device: generic, topic: 's/status/input:0', action: /state, buttons: {'true': kiwi}"
    ),
    ("\(gen2) {single: kiwi}", "\(gen2) {3_single_push: kiwi}"),
    // The sensor repeats the press of its device.
    ("\(gen2) {single: kiwi}", "\(gen2) {'bthomesensor:203_single': kiwi}"),
    (
      "\(gen2) {'bthomedevice:200_single': kiwi}", "\(gen2) {'bthomedevice:200_1_single': kiwi}"
    ),
    (
      "\(tasmota) {single: kiwi}",
      "device: generic, topic: stat/x/+, action: /Button1/Action, buttons: {single: kiwi}"
    ),
    ("\(tasmota) {quad: kiwi}", "\(tasmota) {1_quadruple: kiwi}"),
    ("\(esphome) {press: kiwi}", "\(esphome) {bell: kiwi}"),
    ("\(esphome) {bell_single: kiwi}", "\(esphome) {single: kiwi}"),
    (
      "device: generic, topic: a, action: /e, key: /k, buttons: {1_on: kiwi}",
      "device: generic, topic: a, action: /e, buttons: {on: kiwi}"
    ),
    (
      "device: generic, topic: a/+, buttons: {on: kiwi}",
      "device: generic, topic: a/+, buttons: {on: kiwi}"
    ),
    // Filters of two families that overlap in part: a/binary_sensor/x/state.
    (
      "device: esphome, topic: a, buttons: {x: kiwi}",
      "device: tasmota, topic: a/binary_sensor/x, buttons: {single: kiwi}"
    ),
  ]) func aPressThatWouldCountTwiceIsRefused(first: String, second: String) {
    for yaml in [yaml(first, second), yaml(second, first)] {
      let errors = errors(yaml)
      #expect(errors.count == 1)
      let text = errors.first ?? ""
      #expect(
        text.contains("panel 'p' receives the same presses; bind each press once")
          || text.contains("of panel 'p'; a broker may send such messages twice"),
        "\(yaml): \(text)")
    }
  }

  @Test(arguments: [
    (
      "device: zigbee2mqtt, topic: z/b, buttons: {1_single: kiwi}",
      "device: zigbee2mqtt, topic: z/b, buttons: {2_single: kiwi}"
    ),
    (z, "device: generic, topic: z/c/action, buttons: {single: kiwi}"),
    ("\(gen1) {0_single: kiwi}", "\(gen1) {1_single: kiwi}"),
    ("\(gen1) {0_single: kiwi}", "device: generic, topic: s/x/input/1, buttons: {'1': kiwi}"),
    ("\(gen2) {0_single: kiwi}", "\(gen2) {'bthomedevice:200_0_single': kiwi}"),
    (
      "\(gen2) {'bthomedevice:200_0_single': kiwi}", "\(gen2) {'bthomedevice:200_1_single': kiwi}"
    ),
    ("\(tasmota) {1_single: kiwi}", "\(tasmota) {2_single: kiwi}"),
    ("\(tasmota) {hold: kiwi}", "\(tasmota) {switch1_hold: kiwi}"),
    ("\(esphome) {bell: kiwi}", "\(esphome) {horn: kiwi}"),
    (
      "device: generic, topic: stat/x/RESULT, action: /Switch1/Action, buttons: {on: kiwi}",
      "device: generic, topic: stat/x/RESULT, action: /Switch2/Action, buttons: {on: kiwi}"
    ),
    (
      "device: generic, topic: a, action: /e, key: /k, buttons: {1_on: kiwi}",
      "device: generic, topic: a, action: /e, key: /k, buttons: {2_on: kiwi}"
    ),
    (
      "device: generic, topic: home/x, action: /event, buttons: {up: kiwi}",
      "device: generic, topic: home/x/event, action: /type, buttons: {up: kiwi}"
    ),
  ]) func whatNoPressCanBothBeMayStandTogether(first: String, second: String) {
    #expect(errors(yaml(first, second)) == [])
    #expect(errors(yaml(second, first)) == [])
  }
}
