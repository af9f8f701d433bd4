import ConfigurationFiles
import Foundation
import KioskMessages
import Program
import StateFiles

/// Where a kiosk remembers the menu from above: a file beside its ledger. Without the file its own counts.
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
      // Written out it may be longer than it came.
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
  func text() throws(Failure) -> KioskConfiguration.Text {
    do throws(ConfigurationErrors) {
      return try KioskConfiguration.Text(
        path: file, environment: ProcessInfo.processInfo.environment)
    } catch {
      throw Failure(error)
    }
  }

  /// What counts: the file, and above it the menu from above.
  func loadWithMenu() throws(Failure) -> KioskConfiguration { try text().withMenu() }
}

extension KioskConfiguration.Text {
  /// With the menu that is remembered, if there is one.
  func withMenu() throws(Failure) -> KioskConfiguration {
    let own: KioskConfiguration
    do throws(ConfigurationErrors) { own = try configuration() } catch { throw Failure(error) }
    guard let file = MenuFile(own), let menu = try file.read() else { return own }
    do throws(ConfigurationErrors) {
      return try configuration(under: menu)
    } catch {
      throw .badConfiguration(
        "\(error)\nThis is with menu \(menu.version) from above. The file's own counts again without "
          + file.path)
    }
  }
}
