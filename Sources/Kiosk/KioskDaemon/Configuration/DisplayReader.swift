import Devices
import JuiceDomain
import KioskCore
import KioskProtocol
import YAMLConfiguration

/// Reads `displays`: the messages for displays that cannot subscribe to the kiosk's topics.
///
/// ```yaml
/// displays:
///   - topic: cmnd/hall/DisplayText
///     text: "[zl1c1]Kiwi {stock.kiwi}"     # placeholders: see `Template`
///     retain: false
///     birth: {topic: tele/hall/LWT, payload: Online}   # the display's message after a start
///     max_per_second: 2
/// ```
struct DisplayReader {
  private(set) var displays: [Display] = []

  /// Reads the list `displays` of a configuration.
  ///
  /// - Parameters:
  ///   - payment: The devices at which customers pay, or `nil` if orders are not paid at the kiosk.
  ///   - base: The first levels of the kiosk's own topics.
  init(_ root: inout Section, menu: Menu, payment: KioskSettings.Payment?, base: String) {
    root.list("displays") { section in
      let errorsBefore = section.collector.errors.count
      let topic = section.require("topic", .deviceTopic(outside: base))
      let devices = payment?.devices.map(\.name) ?? []
      let text = section.require(
        "text", .template(of: menu, devices: devices, isOfResult: false))
      let retain = section.read("retain", .boolean) ?? false
      let birth = section.optional("birth") { Birth(&$0, base: base) }
      let rate = section.read("max_per_second", .integer(1...100))
      guard let topic, let text, section.collector.errors.count == errorsBefore else { return }
      displays.append(
        Display(
          content: .text(Push(topic: topic, payload: text)), retain: retain, birth: birth,
          maximumPerSecond: rate ?? Display.usualMaximumPerSecond))
    }
  }
}

/// Reads the `feedback` of a panel: messages for the results of its orders and the availability of
/// juices.
///
/// ```yaml
/// feedback:
///   ready: {topic: cmnd/hall/Buzzer, payload: "1"}        # also pay, out_of_stock, rejected
///   juices:
///     kiwi: {available: {topic: cmnd/hall/Power1, payload: "ON"}, sold_out: {...}}
///   birth: {topic: tele/hall/LWT, payload: Online}
/// ```
struct FeedbackReader {
  private(set) var feedback = Feedback()
  private(set) var lamps: [Display] = []

  /// Reads the section `feedback` of a panel.
  ///
  /// - Parameter base: The first levels of the kiosk's own topics.
  init(_ root: inout Section, menu: Menu, base: String) {
    root.section("feedback") { section in
      feedback.pay = section.optional("pay") { Push(&$0, menu: menu, base: base) }
      feedback.ready = section.optional("ready") { Push(&$0, menu: menu, base: base) }
      feedback.outOfStock = section.optional("out_of_stock") { Push(&$0, menu: menu, base: base) }
      feedback.rejected = section.optional("rejected") { Push(&$0, menu: menu, base: base) }
      let birth = section.optional("birth") { Birth(&$0, base: base) }
      section.section("juices", unknown: "there is no such juice") { section in
        for juice in menu.juices.map(\.id) where section.has(juice.text) {
          section.section(juice.text) { section in
            let available = section.optional("available") {
              Push(&$0, menu: menu, base: base, isOfResult: false)
            }
            let soldOut = section.optional("sold_out") {
              Push(&$0, menu: menu, base: base, isOfResult: false)
            }
            lamps.append(
              Display(
                content: .availability(juice, available: available, soldOut: soldOut), birth: birth)
            )
          }
        }
      }
    }
  }
}

extension Push {
  fileprivate init?(
    _ section: inout Section, menu: Menu, base: String, isOfResult: Bool = true
  ) {
    let topic = section.require("topic", .deviceTopic(outside: base))
    let payload = section.require("payload", .template(of: menu, isOfResult: isOfResult))
    guard let topic, let payload else { return nil }
    self.init(topic: topic, payload: payload)
  }
}

extension Birth {
  fileprivate init?(_ section: inout Section, base: String) {
    let topic = section.require("topic", .deviceTopic(outside: base))
    let payload = section.require("payload", .text)
    guard let topic, let payload else { return nil }
    self.init(topic: topic, payload: payload)
  }
}
