import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

/// The file beside the ledger that stores the menu published by the chain. Without this file, or if
/// it cannot be used, the kiosk starts with the menu of its configuration.
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

  /// - Throws: `StateError`, or `JSONError` if the file does not hold a menu.
  func read() throws -> DesiredMenu? {
    // The kiosk's own JSON of a menu may be longer than the payload that it received.
    try folder.read(name, upTo: 8 * DesiredMenu.maximumSize)
      .map { try DesiredMenu(payload: Array($0)) }
  }

  /// Returns the first three lines of an error on one line.
  static func summary(of error: any Error) -> String {
    let problems = "\(error)".split(separator: "\n")
    let more = problems.count > 3 ? ["\(problems.count - 3) more"] : []
    return (problems.prefix(3).map(String.init) + more).joined(separator: "; ")
  }

  /// Stores a menu.
  ///
  /// - Parameter menu: The menu, or `nil` to remove the file.
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
  /// Returns the configuration with the stored menu of the chain if there is one. If that menu
  /// cannot be read or does not fit, returns the file's own menu and `menuProblem`.
  func withMenu() throws(ConfigurationErrors) -> KioskConfiguration {
    var own = try configuration()
    guard let file = MenuFile(own) else { return own }
    do {
      return try file.read().map { try configuration(under: $0) } ?? own
    } catch let error as StateError {
      own.menuProblem = "\(error)"  // It contains the path.
    } catch {
      own.menuProblem = "\(file.path): \(MenuFile.summary(of: error))"
    }
    return own
  }
}
