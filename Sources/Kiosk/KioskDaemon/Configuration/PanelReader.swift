import Devices
import JuiceDomain
import KioskProtocol
import MessageBroker
import YAMLConfiguration

/// Reads `panels`: devices with buttons, and the commands that their presses cause.
///
/// ```yaml
/// panels:
///   - name: hallway                      # in the ledger, and in order/hallway/result
///     device: zigbee2mqtt                # or tasmota, shelly_gen1, shelly_gen2, esphome, generic
///     topic: zigbee2mqtt/hallway_button  # the device's own topic; generic: a topic filter
///     buttons: {single: kiwi, double: {juice: kiwi, quantity: 2}, long: {service: closed}}
///     debounce_milliseconds: 1000
///     pays: true                         # false: its orders cost nothing, as for the staff
///     deep_sleep: false                  # true, only esphome: the birth message counts as OFF
///     feedback: ...                      # see `FeedbackReader`
/// ```
///
/// For a generic device, the JSON pointers (RFC 6901) `action`, `key` and `counter` locate the
/// press, its button and its counter. Without `action` the whole payload is the press.
struct PanelReader {
  private(set) var panels: [PanelBinding] = []
  /// The lamps of the panels, which show the availability of juices.
  private(set) var lamps: [Display] = []
  /// The panels whose orders cost nothing.
  private(set) var freePanels: Set<String> = []
  private let menu: Menu
  private let maxQuantity: Int
  /// The first levels of the kiosk's own topics.
  private let base: String
  /// The topics of the panels that have been read.
  private var bound: [BoundTopics] = []

  /// Reads the list `panels` of a configuration.
  ///
  /// - Parameters:
  ///   - maxQuantity: The maximum number of glasses in one order.
  ///   - base: The first levels of the kiosk's own topics.
  init(_ root: inout Section, menu: Menu, maxQuantity: Int, base: String) {
    self.menu = menu
    self.maxQuantity = maxQuantity
    self.base = base
    root.list("panels") { read(&$0) }
  }

  private mutating func read(_ section: inout Section) {
    let errorsBefore = section.collector.errors.count
    let name = section.require("name", .panelName)
    let device: Dialect.Name? = section.require("device", .choice())
    let dialect = readDialect(device, &section)
    let topic = section.require("topic", device == .generic ? .topicFilter : .topic)
    let buttons = section.section("buttons") { readButtons(&$0) }
    let debounce = section.read("debounce_milliseconds", .milliseconds(0...60_000))
    let sleeps = device == .esphome ? section.read("deep_sleep", .boolean) : nil
    let pays = section.read("pays", .boolean)
    let feedback = FeedbackReader(&section, menu: menu, base: base)
    guard let name, let dialect, let topic, section.collector.errors.count == errorsBefore else {
      return
    }
    let panel = PanelBinding(
      name: name, dialect: dialect, topic: topic, buttons: buttons, debounce: debounce,
      feedback: feedback.feedback, sleeps: sleeps ?? false)
    check(panel, section)
    panels.append(panel)
    if pays == false { freePanels.insert(name) }
    lamps += feedback.lamps
  }

  private func readDialect(_ name: Dialect.Name?, _ section: inout Section) -> Dialect? {
    switch name {
    case nil: nil
    case .zigbee2mqtt: .zigbee2MQTT
    case .tasmota: .tasmota
    case .shellyGen1: .shellyGen1
    case .shellyGen2: .shellyGen2
    case .esphome: .esphome
    case .generic: .generic(readFormat(&section))
    }
  }

  private func readFormat(_ section: inout Section) -> GenericFormat {
    let format = GenericFormat(
      action: section.read("action", .jsonPointer), key: section.read("key", .jsonPointer),
      counter: section.read("counter", .jsonPointer))
    if format.key != nil, !section.has("action") {
      section.report(
        Diagnostic("works only together with 'action'", hint: "add it"), at: "key")
    }
    return format
  }

  private func readButtons(_ section: inout Section) -> [String: Command] {
    var buttons: [String: Command] = [:]
    for key in section.keys {
      let command =
        section.isSection(key)
        ? section.section(key) { Command(&$0, menu: menu, maxQuantity: maxQuantity) }
        : section.read(key, .juice(of: menu)).map { .order(Order(juice: $0)) }
      guard buttons[key.lowercased()] == nil else {
        section.report(.duplicateKey(key), at: key)
        continue
      }
      buttons[key.lowercased()] = command
    }
    if section.keys.isEmpty {
      section.report(
        Diagnostic("a panel needs buttons", hint: "write them like 'single: kiwi'"))
    }
    return buttons
  }

  /// Reports a name that is used twice, and presses that would never count or could count twice.
  private mutating func check(_ panel: PanelBinding, _ section: Section) {
    if let flaw = panel.dialect.flaw(of: panel.topic) {
      section.report(Diagnostic(flaw.problem, hint: flaw.hint), at: "topic")
    }
    for word in panel.buttons.keys.sorted() where !panel.dialect.recognizes(word) {
      section.report(
        Diagnostic(
          "\(panel.dialect.name.rawValue) never sends \(word.quoted)",
          hint: Suggestion.hint(for: word, among: panel.dialect.words ?? [])), at: "buttons")
    }
    if panels.contains(where: { $0.name == panel.name }) {
      section.report(
        Diagnostic("there is a panel \(panel.name.quoted) already", hint: "give each its own name"),
        at: "name")
    }
    checkTopic(panel, section)
  }

  private mutating func checkTopic(_ panel: PanelBinding, _ section: Section) {
    let own = BoundTopics(of: panel)
    defer { bound.append(own) }
    let kiosk = TopicFilter(unchecked: "\(base)/#")
    if own.filters.contains(where: { $0.overlaps(kiosk) }) {
      section.report(
        Diagnostic(
          "includes the kiosk's own topics below \(base)", hint: "bind the device's topic"),
        at: "topic")
    }
    if let other = bound.first(where: { $0.receivesPresses(of: own) }) {
      return section.report(
        Diagnostic(
          "panel \(other.panel.name.quoted) receives the same presses", hint: "bind each press once"
        ),
        at: "topic")
    }
    for other in bound {
      guard let filter = own.overlap(with: other) else { continue }
      section.report(
        Diagnostic(
          "overlaps with \(filter) of panel \(other.panel.name.quoted)",
          hint: "a broker may send such messages twice: bind one topic, or the same filter"),
        at: "topic")
    }
  }
}

extension Command {
  fileprivate init?(_ section: inout Section, menu: Menu, maxQuantity: Int) {
    let errorsBefore = section.collector.errors.count
    let juice = section.read("juice", .juice(of: menu))
    let quantity = section.read("quantity", .integer(1...maxQuantity))
    let service: ServiceState? = section.read("service", .choice())
    switch (juice, service) {
    case (let juice?, nil): self = .order(Order(juice: juice, quantity: quantity ?? 1))
    case (nil, let service?) where quantity == nil: self = .service(service)
    default:
      if section.collector.errors.count == errorsBefore {
        section.report(
          Diagnostic(
            "a button has one action", hint: "name a juice, or open or close the service")
        )
      }
      return nil
    }
  }
}
