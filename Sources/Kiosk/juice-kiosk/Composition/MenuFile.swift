import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

/// The file beside the ledger that stores the menu published by the chain. Without this file, the
/// kiosk uses the menu of its configuration.
struct MenuFile {
  let path: String
  private let folder: StateFolder
  private let name: String

  /// Creates the file's description.
  ///
  /// - Returns: `nil` if the configuration has no uplink.
  init?(_ configuration: KioskConfiguration) {
    guard configuration.uplink != nil else { return nil }
    path = configuration.ledgerPath + ".menu"
    let place = URL(filePath: path)
    name = place.lastPathComponent
    folder = StateFolder(path: place.deletingLastPathComponent().path(percentEncoded: false))
  }

  func read() throws(Failure) -> DesiredMenu? {
    do {
      // The kiosk's own JSON of a menu may be longer than the payload that it received.
      return try folder.read(name, upTo: 8 * DesiredMenu.maximumSize)
        .map { try DesiredMenu(payload: Array($0)) }
    } catch {
      throw .badConfiguration("\(error): the menu from above is not in \(path); remove the file")
    }
  }

  /// Stores a menu.
  ///
  /// - Parameter menu: the menu, or `nil` to remove the file.
  func write(_ menu: DesiredMenu?) throws(StateError) {
    if let menu { try folder.write(name, Data(menu.payload)) } else { try folder.remove(name) }
  }
}

extension ConfigurationOptions {
  func text() throws(ConfigurationErrors) -> KioskConfiguration.Text {
    try KioskConfiguration.Text(path: file, environment: ProcessInfo.processInfo.environment)
  }

  /// Returns the configuration with the menu in force.
  func loadWithMenu() throws -> KioskConfiguration { try text().withMenu() }
}

extension KioskConfiguration.Text {
  /// Returns the configuration with the stored menu of the chain if there is one.
  func withMenu() throws -> KioskConfiguration {
    let own = try configuration()
    guard let file = MenuFile(own), let menu = try file.read() else { return own }
    do throws(ConfigurationErrors) {
      return try configuration(under: menu)
    } catch {
      throw Failure.badConfiguration(
        "\(error)\nThis is with menu \(menu.version) from above. The file's own counts again without "
          + file.path)
    }
  }
}
