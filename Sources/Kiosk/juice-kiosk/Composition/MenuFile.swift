import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

/// The file beside the ledger that stores the menu published by the chain. If the file does not
/// exist or cannot be used, the kiosk starts with the menu of its configuration.
struct MenuFile {
  private let file: LedgerSideFile
  var path: String { file.path }

  /// Determines the path of the file, without opening it. Returns `nil` if the configuration has no
  /// uplink.
  init?(_ configuration: KioskConfiguration) {
    guard configuration.uplink != nil else { return nil }
    file = LedgerSideFile(configuration, ending: ".menu")
  }

  /// Reads the stored menu. Returns `nil` if there is no file.
  ///
  /// - Throws: `StateError`, or `JSONError` if the file does not contain a menu.
  func read() throws -> DesiredMenu? {
    // The kiosk's own JSON of a menu may be longer than the payload that it received.
    try file.read(upTo: 8 * DesiredMenu.maximumSize).map { try DesiredMenu(payload: $0) }
  }

  /// Returns the first three lines of an error, and the number of further lines, as one line.
  static func summary(of error: any Error) -> String {
    let problems = "\(error)".split(separator: "\n")
    let more = problems.count > 3 ? ["\(problems.count - 3) more"] : []
    return (problems.prefix(3).map(String.init) + more).joined(separator: "; ")
  }

  /// Stores a menu.
  ///
  /// - Parameter menu: The menu, or `nil` to remove the file.
  func write(_ menu: DesiredMenu?) throws(StateError) { try file.write(menu?.payload) }
}

/// The file beside the ledger that stores an operator's change of the settings. If the file does
/// not exist or cannot be used, the kiosk starts with the values of its configuration.
struct SettingsFile {
  private let file: LedgerSideFile
  var path: String { file.path }

  init(_ configuration: KioskConfiguration) {
    file = LedgerSideFile(configuration, ending: ".settings")
  }

  /// Reads the stored change. Returns `nil` if there is no file.
  ///
  /// - Throws: `StateError`, or `JSONError` if the file does not contain a change.
  func read() throws -> StoredSettings? {
    try file.read(upTo: 8 * KioskProtocol.Request.maximumPayload)
      .map { try StoredSettings(payload: $0) }
  }

  /// Stores a change.
  ///
  /// - Parameter settings: The change, or `nil` to remove the file.
  func write(_ settings: StoredSettings?) throws(StateError) { try file.write(settings?.payload) }
}

/// A file beside the ledger: its path is the ledger's path with an ending such as `.menu`.
private struct LedgerSideFile {
  let path: String
  private let folder: StateFolder
  private let name: String

  init(_ configuration: KioskConfiguration, ending: String) {
    path = configuration.ledgerPath + ending
    let place = URL(filePath: path)
    name = place.lastPathComponent
    folder = StateFolder(path: place.deletingLastPathComponent().path(percentEncoded: false))
  }

  func read(upTo limit: Int) throws(StateError) -> [UInt8]? {
    try folder.read(name, upTo: limit).map { Array($0) }
  }

  /// Replaces the content of the file.
  ///
  /// - Parameter payload: The content, or `nil` to remove the file.
  func write(_ payload: [UInt8]?) throws(StateError) {
    if let payload { try folder.write(name, Data(payload)) } else { try folder.remove(name) }
  }
}

extension ConfigurationOptions {
  func text() throws(ConfigurationErrors) -> KioskConfiguration.Text {
    try KioskConfiguration.Text(path: file, environment: ProcessInfo.processInfo.environment)
  }

  /// Returns the configuration with the stored menu and the stored change; see `withMenu()`.
  func loadWithMenu() throws -> KioskConfiguration { try text().withMenu() }
}

extension KioskConfiguration.Text {
  /// Returns the configuration with the stored menu of the chain and the stored change of an
  /// operator, if there are any. If the menu cannot be read or does not fit the file, the
  /// configuration has the file's own menu and `menuProblem`. If the change cannot be read, the
  /// configuration has no change and `settingsProblem`.
  func withMenu() throws(ConfigurationErrors) -> KioskConfiguration {
    var own = try configuration()
    let settingsFile = SettingsFile(own)
    var settings: StoredSettings?
    var settingsProblem: String?
    do { settings = try settingsFile.read() } catch {
      settingsProblem = error is StateError ? "\(error)" : "\(settingsFile.path): \(error)"
    }
    if settings != nil { own = try configuration(with: settings) }
    own.settingsProblem = settingsProblem
    guard let file = MenuFile(own) else { return own }
    do {
      guard let menu = try file.read() else { return own }
      var configuration = try configuration(under: menu, with: settings)
      configuration.settingsProblem = settingsProblem
      return configuration
    } catch let error as StateError {
      own.menuProblem = "\(error)"  // It contains the path.
    } catch {
      own.menuProblem = "\(file.path): \(MenuFile.summary(of: error))"
    }
    return own
  }
}
