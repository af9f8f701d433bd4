import ArgumentParser
import CommandLineSupport
import Devices
import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the configuration.",
    discussion: "Tells everything that is wrong, with file and line, or what the kiosk would do.")

  @OptionGroup var options: ConfigurationOptions

  @Flag(help: "Also log in to the broker and try the subscriptions.")
  var connect = false

  @Option(help: ArgumentHelp("How long to wait for the broker.", valueName: "seconds"))
  var timeout = 10

  @Option(
    help: ArgumentHelp(
      "Check with this menu of a chain instead of the kiosk's own.", valueName: "file"))
  var menu: String?

  func run() async throws {
    let configuration = try menu.map(load(under:)) ?? options.loadWithMenu()
    let settings = KioskSettings(configuration)
    StandardOutput.write(
      """
      The configuration is good.
        kiosk   \(settings.topics.base), \(configuration.kiosk.language.rawValue), \
      \(configuration.kiosk.timeZone.identifier)\
      \(configuration.kiosk.displayName.map { ": \($0)" } ?? "")
        broker  \(configuration.broker.host):\(configuration.broker.port)\
      \(configuration.broker.tls == nil ? "" : " with TLS")
        ledger  \(configuration.ledgerPath)
        fruits  \(settings.menu.fruits.map(\.id.text).joined(separator: ", "))
        juices  \(settings.menu.juices.map(\.id.text).joined(separator: ", "))
      """)
    if let menu = configuration.desiredMenu, let file = MenuFile(configuration) {
      StandardOutput.write(
        """
          above   menu \(menu.version) stands over 'menu' (but for 'menu.fruits'); to drop it, remove
                  \(file.path) and reload
        """)
    }
    for panel in configuration.panels {
      let buttons = panel.buttons.keys.sorted().joined(separator: ", ")
      StandardOutput.write("  panel   \(panel.name): \(buttons) on \(panel.topic)")
    }
    for machine in configuration.machines {
      // In the order of the menu.
      let juices = settings.menu.juices.map(\.id).filter(machine.makes)
      let list = machine.juices == nil ? "every juice" : juices.map(\.text).joined(separator: ", ")
      StandardOutput.write("  machine \(machine.name): \(list)")
    }
    guard connect else { return }
    // With a client identifier of its own, so that a running kiosk keeps its session.
    let client = try await KioskClient(
      configuration, as: Source(kind: .order, name: "check"), timeout: .seconds(timeout))
    await client.disconnect()
    StandardOutput.write("The broker can be reached, and the login is good.")
  }

  private func load(under file: String) throws -> KioskConfiguration {
    let text = try DesiredMenu.text(of: file)
    do throws(ConfigurationErrors) {
      return try options.text().configuration(under: DesiredMenu(version: 1, text: text))
    } catch {
      throw Failure.badData("\(file), checked as menu 1, does not fit this kiosk:\n\(error)")
    }
  }
}
