package import Devices
package import JuiceDomain
package import KioskCore
package import KioskProtocol
package import YAMLConfiguration

/// What the owner of a kiosk has decided, read from one YAML file; strictly, or not at all.
///
/// Every key may be left out. Each but those of the menu, of lists and the amounts of a single fruit may be
/// overridden by an environment variable: `broker.tls.ca_file` by `KIOSK_BROKER_TLS_CA_FILE`.
///
/// - `kiosk.id` (identifier, `k1`): names the kiosk in topics.
/// - `kiosk.name` (text of at most 64 characters, or one per language as `{en: ..., ko: ...}`, none):
///   what people call the kiosk.
/// - `kiosk.place` (text of at most 200 characters, none): where it stands.
/// - `kiosk.root` (topic levels, `kiosk`): what all topics start with.
/// - `kiosk.language` (`en` or `ko`, `en`): what customers read.
/// - `kiosk.time_zone` (IANA name, `UTC`): when the tickets of the day start again from 1.
/// - `broker.host` (text, `127.0.0.1`): name or address of the MQTT broker.
/// - `broker.port` (1...65535, `1883`, with TLS `8883`)
/// - `broker.protocol` (`5` or `3.1.1`, `5`): version of MQTT.
/// - `broker.client_id` (text, `juice-kiosk-` and the id): names the session at the broker.
/// - `broker.username` (text, none): the account at the broker.
/// - `broker.password_file` (path, none): holds the account's password, see `readPassword()`.
/// - `broker.tls` (section, none): encrypts the connection; `{}` trusts what the system trusts.
/// - `broker.tls.ca_file` (path, none): trusts this authority only.
/// - `broker.tls.certificate_file`, `broker.tls.key_file` (paths, none): the kiosk's own
///   certificate, for a broker that asks for one; only both together.
/// - `uplink.addresses` (list of `host:port`, none): where the ledger is carried up to, the nodes of one
///   broker; without any it is not.
/// - `uplink.root` (topic levels, that of the kiosk): what its topics start with up there.
/// - `uplink.entries_per_second` (1...10000, `200`): how fast, at most.
/// - `uplink.client_id` (text, `juice-kiosk-`, the id and `-uplink`): what the client id of each connection up
///   there begins with, before `-` and a random number.
/// - `uplink.protocol`, `uplink.username`, `uplink.password_file`, `uplink.tls`, `uplink.tls.ca_file`,
///   `uplink.tls.certificate_file`, `uplink.tls.key_file`: as of `broker`.
/// - `ledger.path` (path, `/var/lib/juice-kiosk/ledger.sqlite`): the durable record.
/// - `stock.initial` (0...1000000000, `10`): stock of a new ledger; for all fruits, or per fruit as
///   `{strawberry: 20, default: 10}`. At most the capacity.
/// - `stock.capacity` (likewise, `100`): the most that a restock may leave.
/// - `stock.low` (likewise, `5`): at and below this the stock is called low. At most the capacity.
/// - `orders.max_age_seconds` (1...86400, `30`): an order that is older pours nothing.
/// - `orders.max_quantity` (1...1000, `10`): glasses in one order.
/// - `orders.debounce_milliseconds` (0...60000, `0`): a panel's same press again within this time
///   counts as the same one.
/// - `orders.max_per_second` (0...100000, `50`): orders of one panel; `0` for no limit.
/// - `home_assistant.enabled` (`true` or `false`, `false`): shows the kiosk in Home Assistant.
/// - `home_assistant.prefix` (topic levels, `homeassistant`): of its discovery; not among the
///   kiosk's own topics.
/// - `home_assistant.form` (`components` or `device`, `components`): a message for each entity, or
///   one for all (Home Assistant 2024.11 or later).
/// - `home_assistant.account` (identifier, `homeassistant`): its account at the broker.
/// - `menu` (section, the built-in menu): see `MenuReader`.
/// - `menu.base` (`none` or `standard`, `none`): what `fruits` and `juices` are added to.
/// - `menu.currency` (code of ISO 4217, none): of the prices, which no juice has without it.
/// - `menu.fruits`, `menu.juices` (by id, none)
/// - `panels` (list, none): buttons of other makers, see `PanelReader`.
/// - `machines` (list, none): that make the juices, see `MachineReader`.
/// - `displays` (list, none): screens that have to be told, see `DisplayReader`.
package struct KioskConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-kiosk/kiosk.yaml"

  package var kiosk = Kiosk()
  package var broker = BrokerConfiguration()
  /// `nil`: the ledger is not carried up.
  package var uplink: Uplink?
  /// Where the durable record is.
  package var ledgerPath = "/var/lib/juice-kiosk/ledger.sqlite"
  package var stock = KioskSettings.Stock(of: .standard)
  package var orders = KioskSettings.Orders()
  package var homeAssistant = HomeAssistant()
  package var menu = Menu.standard
  /// The menu from above that counts instead of the file's own; `nil`: the file's own counts.
  package private(set) var desiredMenu: DesiredMenu?
  package var panels: [PanelBinding] = []
  package var machines: [KioskSettings.Machine] = []
  /// The screens, and the lamps of the panels.
  package var displays: [Display] = []

  /// All defaults.
  package init() {}

  package mutating func read(_ root: inout Section) { read(&root, under: nil) }

  /// - Parameter desired: what a chain wants the kiosk to sell, instead of the file's own menu.
  mutating func read(_ root: inout Section, under desired: DesiredMenu?) {
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
      menu = MenuReader(desired, fruits: menuReader.fruits, into: root.collector).menu
      desiredMenu = desired
    }
    stock = root.section("stock") { KioskSettings.Stock(&$0, fruits: menuReader.fruits.map(\.id)) }
    let panelReader = PanelReader(
      &root, menu: menu, maxQuantity: orders.maximumQuantity, base: "\(kiosk.root)/\(kiosk.id)")
    panels = panelReader.panels
    machines = MachineReader(&root, menu: menu).machines
    if let desired { checkMachines(make: desired, beyond: menuReader.menu, root) }
    displays = DisplayReader(&root, menu: menu).displays + panelReader.lamps
  }

  /// Reports each juice of a menu from above that the file's own menu lacks and no machine makes. Such a
  /// juice would be ready at once, and only the kiosk's owner may decide that.
  private func checkMachines(make desired: DesiredMenu, beyond own: Menu, _ root: Section) {
    guard !machines.isEmpty else { return }
    for juice in menu.juices.map(\.id) where own.juice(juice) == nil {
      guard !machines.contains(where: { $0.makes(juice) }) else { continue }
      root.report(
        Diagnostic("none of them makes \(juice), which menu \(desired.version) has"), at: "machines"
      )
    }
  }
}

extension KioskConfiguration {
  /// What a configuration file said when it was read. A menu from above is put over this text, and not over
  /// what somebody is writing into the file meanwhile.
  package struct Text: Sendable {
    private let yaml: String
    private let file: String
    private let environment: [String: String]

    /// - Parameter path: `nil` for the built-in defaults.
    package init(path: String?, environment: [String: String]) throws(ConfigurationErrors) {
      yaml = try Document.text(of: path)
      file = path ?? Document.defaults
      self.environment = environment
    }

    /// - Parameter desired: stands over the file's own menu.
    package func configuration(
      under desired: DesiredMenu? = nil
    ) throws(ConfigurationErrors) -> KioskConfiguration {
      var configuration = KioskConfiguration()
      try Document.read(yaml, file: file, environment: environment) {
        configuration.read(&$0, under: desired)
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
