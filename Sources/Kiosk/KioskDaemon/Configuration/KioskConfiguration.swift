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
/// Every section is optional. Environment variables override keys: `KIOSK_BROKER_TLS_CA_FILE`
/// overrides `broker.tls.ca_file`. The keys of the menu, of lists, of single fruits' amounts and of
/// the kiosk's name in one language have no variables.
///
/// config/kiosk.yaml explains each key, with its range and its default.
package struct KioskConfiguration: ConfigurationFile, Sendable, Equatable {
  package static let defaultPath = "/etc/juice-kiosk/kiosk.yaml"

  package var kiosk = Kiosk()
  package var broker = BrokerConfiguration()
  /// The connection to the broker of the chain, or `nil` if it is not configured.
  package var uplink: Uplink?
  package var ledgerPath = "/var/lib/juice-kiosk/ledger.sqlite"
  package var stock = KioskSettings.Stock(of: .standard)
  package var orders = KioskSettings.Orders()
  package var homeAssistant = HomeAssistant()
  package var menu = Menu.standard
  /// The menu from the chain that replaces the file's own menu, or `nil` if there is none.
  package private(set) var desiredMenu: DesiredMenu?
  /// The reason why the stored menu from the chain is not used, or `nil` if there is none.
  package var menuProblem: String?
  /// The opening hours, or `nil` if the kiosk is always open.
  package var hours: OpeningHours?
  /// The change that an operator has made, or `nil` if there is none.
  package internal(set) var settings: StoredSettings?
  /// The menu, stock and hours without the change, or `nil` if there is no change.
  package internal(set) var fileSettings: FileSettings?
  /// The parts of the change that do not fit the file or the chain's menu.
  package internal(set) var unusedSettings: [Rejection] = []
  /// The reason why the stored change is not used, or `nil` if there is none.
  package var settingsProblem: String?
  /// The problems of damaged files beside the ledger whose copies are used.
  package var usedCopies: [String] = []
  package var panels: [PanelBinding] = []
  package var machines: [KioskSettings.Machine] = []
  package var sensors: [KioskSettings.Sensor] = []
  /// The devices at which customers pay, or `nil` if orders are not paid at the kiosk.
  package var payment: KioskSettings.Payment?
  /// The displays, including the lamps of the panels.
  package var displays: [Display] = []

  /// Creates the default configuration.
  package init() {}

  package mutating func read(_ root: inout Section) { read(&root, under: nil) }

  /// Reads the sections of a file.
  ///
  /// - Parameters:
  ///   - desired: The menu from the chain that replaces the file's own menu, or `nil` for none.
  ///   - file: The path of the file with the desired menu, or `nil` if the chain has published it.
  ///   - settings: The change that an operator has made.
  mutating func read(
    _ root: inout Section, under desired: DesiredMenu?, file: String? = nil,
    with settings: StoredSettings? = nil
  ) {
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
    hours = root.optional("hours") { OpeningHours(&$0) }
    let panelReader = PanelReader(
      &root, menu: menu, maxQuantity: orders.maximumQuantity, base: "\(kiosk.root)/\(kiosk.id)")
    panels = panelReader.panels
    machines = MachineReader(&root, menu: menu, hasHours: hours != nil).machines
    sensors =
      SensorReader(
        &root, fruits: menuReader.fruits.map(\.id), machines: machines.map(\.name),
        base: "\(kiosk.root)/\(kiosk.id)"
      ).sensors
    if let desired {
      checkMachines(make: file ?? "menu \(desired.version)", beyond: menuReader.menu, root)
    }
    payment = PaymentReader(&root, free: panelReader.freePanels).payment
    displays =
      DisplayReader(&root, menu: menu, payment: payment, base: "\(kiosk.root)/\(kiosk.id)")
      .displays + panelReader.lamps
    // Applied last, because buttons and displays may use a juice that the operator has disabled.
    if let settings { apply(settings) }
  }

  /// Reports, for a kiosk with machines, each juice of a desired menu that is not on the file's own
  /// menu and that no machine makes. Such a juice would be ready at once, which only the owner may decide.
  ///
  /// - Parameter desired: The path or the version of the desired menu, for the error message.
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
  /// The text of a configuration file when it was read. Menus and changes of the settings apply to
  /// this text, so later edits of the file take effect only when the file is read again.
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
    ///   - desired: A menu that replaces the file's own menu, or `nil` for none.
    ///   - menuFile: The path of the file with the desired menu, or `nil` if the chain has
    ///     published it.
    ///   - settings: The change of an operator, which replaces values of the file and of the
    ///     desired menu; or `nil` for none.
    package func configuration(
      under desired: DesiredMenu? = nil, from menuFile: String? = nil,
      with settings: StoredSettings? = nil
    ) throws(ConfigurationErrors) -> KioskConfiguration {
      var configuration = KioskConfiguration()
      try Document.read(yaml, file: file, environment: environment) {
        configuration.read(&$0, under: desired, file: menuFile, with: settings)
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
    shortResults = Set(section.list("short_results", of: .panelName) ?? [])
  }
}
