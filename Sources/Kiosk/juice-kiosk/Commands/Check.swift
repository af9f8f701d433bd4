import ArgumentParser
import CommandLineSupport
import Devices
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import TimeZones
import YAMLConfiguration

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the configuration.",
    discussion: "Prints every error with its file and line, or the main settings if there is none.")

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "Also log in to the broker and try the subscriptions.")
  var connect = false

  @Option(help: ArgumentHelp("How long to wait for the broker.", valueName: "seconds"))
  var timeout = 10

  @Option(
    help: ArgumentHelp(
      "Check with this menu of a chain instead of the kiosk's own.", valueName: "file"))
  var menu: String?

  @Flag(help: "Print an object with the settings, or with all errors, as JSON.")
  var json = false

  func run() async throws {
    do { try await check() } catch let error as ConfigurationErrors where json {
      try StandardOutput.write(json: error.payload)
      throw error.failure.status
    }
  }

  private func check() async throws {
    let configuration = try menu.map(load(under:)) ?? loadAsOwner()
    if let problem = configuration.menuProblem {
      throw ConfigurationErrors(
        Diagnostic(
          "it cannot be used, the kiosk starts with the file's own menu: \(problem)",
          hint:
            "send it again, or to drop it, remove \(configuration.ledgerPath).menu and its copy .menu.good"
        ),
        in: "the menu of the chain", key: "")
    }
    if let problem = configuration.settingsProblem {
      throw ConfigurationErrors(
        Diagnostic(
          "it cannot be used, the kiosk starts with the file's own values: \(problem)",
          hint: "to drop it, remove \(configuration.settingsFile.path) and its copy .settings.good"),
        in: "the change of the settings", key: "")
    }
    let brokers = [configuration.broker, configuration.uplink?.broker].compactMap(\.self)
    var warnings = try brokers.compactMap { try $0.passwordWarning() }
    if let warning = options.serviceLinksWarning { warnings.append(warning) }
    warnings += configuration.usedCopies
    warnings += PanelBinding.sharedRemotes(of: configuration.panels)
    let settings = KioskSettings(configuration)
    warnings += SensorBinding.sharedTopics(
      of: settings.sensors.map { ($0.name.text, $0.binding) })
    if json {
      let payload = payload(of: configuration, settings, warnings)
      if connect { try await logIn(configuration) }
      return try StandardOutput.write(json: payload)
    }
    let indent = String(repeating: " ", count: 10)
    try StandardOutput.write("The configuration is good.")
    for (label, text) in facts(of: configuration, settings, warnings) {
      try StandardOutput.write(
        "  \(label.padded(to: 7)) " + text.wrapped(to: StandardOutput.width, indent: indent))
    }
    guard connect else { return }
    try await logIn(configuration)
    try StandardOutput.write("The broker can be reached, and the login is good.")
  }

  /// Logs in with another client identifier, so that a running kiosk keeps its session.
  private func logIn(_ configuration: KioskConfiguration) async throws {
    let client = try await KioskClient(
      configuration, as: Source(kind: .order, name: "check"), timeout: .seconds(timeout))
    await client.disconnect()
  }

  private func facts(
    of configuration: KioskConfiguration, _ settings: KioskSettings, _ warnings: [String]
  ) -> [(label: String, text: String)] {
    let (kiosk, broker) = (configuration.kiosk, configuration.broker)
    var facts = [
      (
        "kiosk",
        "\(settings.topics.base), \(kiosk.language.rawValue), \(kiosk.timeZone.name)"
          + (kiosk.displayName.map { ": \($0)" } ?? "")
      ),
      ("broker", "\(broker.host):\(broker.port)\(broker.tls == nil ? "" : " with TLS")"),
      ("ledger", configuration.ledgerPath),
      ("fruits", settings.menu.fruits.map(\.id.text).joined(separator: ", ")),
      ("juices", settings.menu.juices.map(\.id.text).joined(separator: ", ")),
    ]
    if menu == nil, let menu = configuration.desiredMenu, let file = configuration.menuFile {
      facts.append(
        (
          "chain",
          "menu \(menu.version) replaces 'menu' (except 'menu.fruits'); to drop it, remove "
            + "\(file.path) and reload"
        ))
    }
    if let hours = configuration.hours { facts.append(("hours", hours.text)) }
    if let change = configuration.settingsSummary { facts.append(("changed", change)) }
    facts += configuration.panels.map { panel in
      let buttons = panel.buttons.keys.sorted().joined(separator: ", ")
      return ("panel", "\(panel.name): \(buttons) on \(panel.topic)")
    }
    facts += configuration.machines.map { machine in
      let juices = settings.juices(of: machine).joined(separator: ", ")
      return ("machine", "\(machine.name): \(machine.juices == nil ? "every juice" : juices)")
    }
    facts += (configuration.payment?.devices ?? []).map { device in
      let panels = device.panels.map { $0.sorted().joined(separator: ", ") } ?? "every panel"
      return ("payment", "\(device.name): \(panels)")
    }
    facts += settings.sensors.map { sensor in
      let limits = [
        sensor.minimum.map { "from \($0.decimalText)" },
        sensor.maximum.map { "to \($0.decimalText)" },
      ].compactMap(\.self)
      let protects = sensor.fruits.map(\.text) + sensor.machines.map(\.text)
      let text =
        (limits + [sensor.unit.rawValue]).joined(separator: " ")
        + (protects.isEmpty ? "" : " for \(protects.joined(separator: ", "))")
      return ("sensor", "\(sensor.name): \(text) on \(sensor.binding.topic)")
    }
    return facts + warnings.map { ("warning", $0) }
  }

  private func payload(
    of configuration: KioskConfiguration, _ settings: KioskSettings, _ warnings: [String]
  ) -> [UInt8] {
    JSONWriter.object { json in
      json.member("kiosk", settings.topics.base)
      if let name = configuration.kiosk.name { json.member("name", name) }
      if let place = configuration.kiosk.place { json.member("place", place) }
      if let region = configuration.kiosk.region { json.member("region", region) }
      json.member("language", configuration.kiosk.language.rawValue)
      json.member("time_zone", configuration.kiosk.timeZone.name)
      json.member("broker", "\(configuration.broker.host):\(configuration.broker.port)")
      json.member("tls", configuration.broker.tls != nil)
      json.member("ledger", configuration.ledgerPath)
      json.member("fruits", settings.menu.fruits.map(\.id.text))
      json.member("juices", settings.menu.juices.map(\.id.text))
      if menu == nil, let menu = configuration.desiredMenu {
        json.member("menu_version", menu.version)
      }
      if let hours = configuration.hours { json.member("hours", hours.text) }
      if configuration.settings != nil {
        json.member("changed", configuration.settingsDifferences)
      }
      json.member("panels", configuration.panels) { json, panel in
        json.member("name", panel.name)
        json.member("topic", panel.topic)
        json.member("buttons", panel.buttons.keys.sorted())
      }
      json.member("machines", configuration.machines) { json, machine in
        json.member("name", machine.name.text)
        json.member("juices", settings.juices(of: machine))
      }
      if let payment = configuration.payment {
        json.member("payment_devices", payment.devices.map(\.name.text))
      }
      json.member("sensors", settings.sensors.map(\.name.text))
      json.member("warnings", warnings)
    }
  }

  /// Returns the configuration with the stored menu and the stored change. As root, reads the passwords
  /// before it switches to the owner of the ledger's folder.
  private func loadAsOwner() throws -> KioskConfiguration {
    let text = try options.text()
    var own = try text.configuration()
    // `passwordWarning` or the login reports a password that cannot be read.
    try? own.broker.loadPassword()
    try? own.uplink?.broker.loadPassword()
    var configuration = try text.withMenuAsOwner()
    configuration.broker = own.broker
    configuration.uplink = own.uplink
    return configuration
  }

  private func load(under file: String) throws -> KioskConfiguration {
    let text: String
    do throws(Failure) {
      text = try DesiredMenu.text(of: file)
    } catch {
      throw try reported(error, ConfigurationErrors(Diagnostic(error.message), in: file, key: ""))
    }
    do throws(ConfigurationErrors) {
      return try options.text().configuration(
        under: DesiredMenu(version: 1, text: text), from: file)
    } catch {
      throw try reported(.badData("\(file) does not fit this kiosk:\n\(error)"), error)
    }
  }

  /// Prints the errors if the command prints JSON.
  ///
  /// - Returns: The error that ends the command.
  private func reported(_ failure: Failure, _ errors: ConfigurationErrors) throws -> any Error {
    guard json else { return failure }
    try StandardOutput.write(json: errors.payload)
    return failure.status
  }
}

extension KioskConfiguration {
  /// A description of the operator's change and of the ways to remove it, or `nil` if
  /// `settingsDifferences` is empty.
  var settingsSummary: String? {
    guard let settings, !settingsDifferences.isEmpty else { return nil }
    return "by \(settings.by) at \(settings.at): \(settingsDifferences.joined(separator: ", ")); "
      + "to drop it, use the dashboard, or remove \(settingsFile.path) and its copy .settings.good and reload"
  }
}

extension KioskSettings {
  /// Returns the ids of the juices that a machine makes, in the order of the menu.
  fileprivate func juices(of machine: Machine) -> [String] {
    menu.juices.map(\.id).filter(machine.makes).map(\.text)
  }
}

extension ConfigurationErrors {
  fileprivate var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("errors", errors) { json, error in
        json.member("where", "\(error.place)")
        if !error.path.isEmpty { json.member("key", error.path) }
        json.member("what", error.problem)
        if let hint = error.hint { json.member("hint", hint) }
      }
    }
  }
}
