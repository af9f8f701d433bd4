package import Devices
package import JuiceDomain
package import KioskCore
package import KioskProtocol
package import YAMLConfiguration

/// The configuration of a kiosk, read from one YAML file. A file with an error is rejected.
///
/// ```yaml
/// kiosk: {id: hall, name: City hall, language: ko, time_zone: Asia/Seoul}
/// broker: {host: broker.local, username: controller, password_file: /etc/juice-kiosk/password}
/// stock: {initial: {strawberry: 30, default: 10}}
/// panels:
///   - {name: hallway, device: tasmota, topic: hall_button, buttons: {single: kiwi}}
/// ```
///
/// Every key is optional. Environment variables override keys: `KIOSK_BROKER_TLS_CA_FILE` overrides
/// `broker.tls.ca_file`. The keys of the menu, of lists, and of single fruits' amounts have no
/// variables.
///
/// Each key has a format and a default:
///
/// - `kiosk.id` (identifier, `k1`): the id of the kiosk in topics.
/// - `kiosk.name` (text of at most 64 characters, or one per language as `{en: ..., ko: ...}`,
///   none): the displayed name.
/// - `kiosk.place` (text of at most 200 characters, none): the location.
/// - `kiosk.root` (topic levels, `kiosk`): the first levels of all topics.
/// - `kiosk.language` (`en` or `ko`, `en`): the language of messages to customers.
/// - `kiosk.time_zone` (IANA name, `UTC`): the time zone in which the tickets of a day start from
///   1.
/// - `broker.host` (text, `127.0.0.1`): the name or address of the MQTT broker.
/// - `broker.port` (1...65535, `1883`, with TLS `8883`)
/// - `broker.protocol` (`5` or `3.1.1`, `5`): the MQTT version.
/// - `broker.client_id` (text, `juice-kiosk-` and the id): the client identifier of the session.
/// - `broker.username` (text, none): the account at the broker.
/// - `broker.password_file` (path, none): the file with the account's password, see
///   `readPassword()`.
/// - `broker.tls` (section, none): encrypts the connection; `{}` trusts the authorities of the
///   system.
/// - `broker.tls.ca_file` (path, none): the only certificate authority to trust.
/// - `broker.tls.certificate_file`, `broker.tls.key_file` (paths, none): the client certificate,
///   for a broker that requires one; only both together.
/// - `uplink.addresses` (list of `host:port`, none): the nodes of the upstream broker; without an
///   address there is no uplink.
/// - `uplink.root` (topic levels, that of the kiosk): the first levels of the topics at the
///   upstream broker.
/// - `uplink.entries_per_second` (1...10000, `200`): the maximum number of entries published per
///   second.
/// - `uplink.client_id` (text, `juice-kiosk-`, the id and `-uplink`): the prefix of the client
///   identifier of each connection, before `-` and a random number.
/// - `uplink.protocol`, `uplink.username`, `uplink.password_file`, `uplink.tls`,
///   `uplink.tls.ca_file`, `uplink.tls.certificate_file`, `uplink.tls.key_file`: same as for
///   `broker`.
/// - `ledger.path` (path, `/var/lib/juice-kiosk/ledger.sqlite`): the SQLite file of the ledger.
/// - `stock.initial` (0...1000000000, `10`): the stock of a new ledger; for all fruits, or per
///   fruit as `{strawberry: 20, default: 10}`. At most the capacity.
/// - `stock.capacity` (same format, `100`): the maximum stock after a restock.
/// - `stock.low` (same format, `5`): the stock at or below which a fruit is reported as low. At
///   most the capacity.
/// - `orders.max_age_seconds` (1...86400, `30`): the maximum age of an order that is executed.
/// - `orders.max_quantity` (1...1000, `10`): the maximum number of glasses per order.
/// - `orders.debounce_milliseconds` (0...60000, `0`): the time in which repeated presses of one
///   button count once.
/// - `orders.max_per_second` (0...100000, `50`): the maximum number of orders per second and panel;
///   `0` for no limit.
/// - `home_assistant.enabled` (`true` or `false`, `false`): adds the kiosk to Home Assistant.
/// - `home_assistant.prefix` (topic levels, `homeassistant`): the first levels of its discovery
///   topics; not among the kiosk's own topics.
/// - `home_assistant.form` (`components` or `device`, `components`): one discovery message for each
///   entity, or one for all (Home Assistant 2024.11 or later).
/// - `home_assistant.account` (identifier, `homeassistant`): its account at the broker.
/// - `menu` (section, the built-in menu): see `MenuReader`.
/// - `menu.base` (`none` or `standard`, `none`): the menu that `fruits` and `juices` extend.
/// - `menu.currency` (code of ISO 4217, none): the currency of prices; required for prices.
/// - `menu.fruits`, `menu.juices` (by id, none)
/// - `panels` (list, none): button panels of other vendors, see `PanelReader`.
/// - `machines` (list, none): the machines that make juices, see `MachineReader`.
/// - `payment` (section, none): the devices at which customers pay, see `PaymentReader`.
/// - `payment.pay_seconds` (5...300, `45`): the time in which a customer must present a card.
/// - `payment.free_panels` (list of names, none): the panels whose orders cost nothing.
/// - `payment.devices` (list): the devices.
/// - `displays` (list, none): screens that cannot subscribe themselves, see `DisplayReader`.
package struct KioskConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-kiosk/kiosk.yaml"

  package var kiosk = Kiosk()
  package var broker = BrokerConfiguration()
  /// The uplink, or `nil` if there is none.
  package var uplink: Uplink?
  /// The path of the ledger.
  package var ledgerPath = "/var/lib/juice-kiosk/ledger.sqlite"
  package var stock = KioskSettings.Stock(of: .standard)
  package var orders = KioskSettings.Orders()
  package var homeAssistant = HomeAssistant()
  package var menu = Menu.standard
  /// The menu from the chain that replaces the file's own menu, or `nil` if there is none.
  package private(set) var desiredMenu: DesiredMenu?
  /// The reason why the stored menu from the chain is not used, or `nil` if there is none.
  package var menuProblem: String?
  package var panels: [PanelBinding] = []
  package var machines: [KioskSettings.Machine] = []
  /// The devices at which customers pay, or `nil` if nothing is paid.
  package var payment: KioskSettings.Payment?
  /// The screens, and the lamps of the panels.
  package var displays: [Display] = []

  /// Creates the default configuration.
  package init() {}

  package mutating func read(_ root: inout Section) { read(&root, under: nil) }

  /// Reads the sections of a file.
  ///
  /// - Parameters:
  ///   - desired: The menu that a chain wants the kiosk to sell, instead of the file's own menu.
  ///   - file: The path of the menu's file, or `nil` if it was received.
  mutating func read(_ root: inout Section, under desired: DesiredMenu?, file: String? = nil) {
    kiosk = root.section("kiosk") { Kiosk(&$0) }
    broker = root.section("broker") {
      BrokerConfiguration(&$0, clientID: "juice-kiosk-\(kiosk.id)")
    }
    let hasUplink = root.has("uplink")
    uplink = root.section("uplink") { Uplink(&$0, isWanted: hasUplink, kiosk: kiosk) }
    root.section("ledger") { $0.read("path", .path, into: &ledgerPath) }
    orders = root.section("orders") { KioskSettings.Orders(&$0) }
    homeAssistant = root.section("home_assistant") { HomeAssistant(&$0, kiosk: kiosk) }
    let menuReader = MenuReader(&root)
    menu = menuReader.menu
    if let desired {
      menu =
        MenuReader(desired, file: file, fruits: menuReader.fruits, into: root.collector).menu
      desiredMenu = desired
    }
    stock = root.section("stock") { KioskSettings.Stock(&$0, fruits: menuReader.fruits.map(\.id)) }
    let panelReader = PanelReader(
      &root, menu: menu, maxQuantity: orders.maximumQuantity, base: "\(kiosk.root)/\(kiosk.id)")
    panels = panelReader.panels
    machines = MachineReader(&root, menu: menu).machines
    if let desired {
      checkMachines(make: file ?? "menu \(desired.version)", beyond: menuReader.menu, root)
    }
    payment = PaymentReader(&root, free: panelReader.freePanels).payment
    displays = DisplayReader(&root, menu: menu).displays + panelReader.lamps
  }

  /// Reports each juice of a desired menu that is not on the file's own menu and that no machine
  /// makes. Such a juice would be ready at once, and only the kiosk's owner may decide that.
  ///
  /// - Parameter desired: The name of the desired menu.
  private func checkMachines(make desired: String, beyond own: Menu, _ root: Section) {
    guard !machines.isEmpty else { return }
    for juice in menu.juices.map(\.id) where own.juice(juice) == nil {
      guard !machines.contains(where: { $0.makes(juice) }) else { continue }
      root.report(
        Diagnostic("none of them makes \(juice), which \(desired) has"), at: "machines")
    }
  }
}

extension KioskConfiguration {
  /// The text of a configuration file at the time it was read. A desired menu is applied to this
  /// text, so later edits of the file have no effect on it.
  package struct Text: Sendable {
    private let yaml: String
    private let file: String
    private let environment: [String: String]

    /// Reads the text of a file.
    ///
    /// - Parameter path: The path, or `nil` for the built-in defaults.
    package init(path: String?, environment: [String: String]) throws(ConfigurationErrors) {
      yaml = try Document.text(of: path)
      file = path ?? Document.defaults
      self.environment = environment
    }

    /// Returns the configuration.
    ///
    /// - Parameters:
    ///   - desired: A menu that replaces the file's own menu.
    ///   - menuFile: The path of its file, or `nil` if it was received.
    package func configuration(
      under desired: DesiredMenu? = nil, from menuFile: String? = nil
    ) throws(ConfigurationErrors) -> KioskConfiguration {
      var configuration = KioskConfiguration()
      try Document.read(yaml, file: file, environment: environment) {
        configuration.read(&$0, under: desired, file: menuFile)
      }
      return configuration
    }
  }
}

extension KioskSettings.Orders {
  fileprivate init(_ section: inout Section) {
    self.init()
    section.read("max_age_seconds", .seconds(1...86_400), into: &maximumAge)
    section.read("max_quantity", .integer(1...1_000), into: &maximumQuantity)
    section.read("debounce_milliseconds", .milliseconds(0...60_000), into: &debounce)
    section.read("max_per_second", .integer(0...100_000), into: &maximumPerSecond)
  }
}
