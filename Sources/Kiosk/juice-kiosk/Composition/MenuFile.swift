import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

/// The file beside the ledger in which a kiosk remembers the menu from above. Without this file, the menu
/// of the configuration counts.
struct MenuFile {
  let path: String
  private let folder: StateFolder
  private let name: String

  /// - Returns: `nil` if nobody is above the kiosk.
  init?(_ configuration: KioskConfiguration) {
    guard configuration.uplink != nil else { return nil }
    path = configuration.ledgerPath + ".menu"
    let place = URL(filePath: path)
    name = place.lastPathComponent
    folder = StateFolder(path: place.deletingLastPathComponent().path(percentEncoded: false))
  }

  func read() throws(Failure) -> DesiredMenu? {
    do {
      // Our JSON of a menu may be longer than the one that came.
      return try folder.read(name, upTo: 8 * DesiredMenu.maximumSize)
        .map { try DesiredMenu(payload: Array($0)) }
    } catch {
      throw .badConfiguration("\(error): the menu from above is not in \(path); remove the file")
    }
  }

  /// - Parameter menu: `nil` to forget it.
  func write(_ menu: DesiredMenu?) throws(StateError) {
    if let menu { try folder.write(name, Data(menu.payload)) } else { try folder.remove(name) }
  }
}

extension ConfigurationOptions {
  func text() throws(ConfigurationErrors) -> KioskConfiguration.Text {
    try KioskConfiguration.Text(path: file, environment: ProcessInfo.processInfo.environment)
  }

  /// The configuration with the menu that counts.
  func loadWithMenu() throws -> KioskConfiguration { try text().withMenu() }
}

extension KioskConfiguration.Text {
  /// With the menu that is remembered, if there is one.
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
