import CommandLineSupport
import Foundation
import KioskDaemon
import KioskProtocol
import YAMLConfiguration

// The files beside the ledger. If one does not exist, or it and its copy cannot be used, the kiosk starts
// with the values of its configuration.
extension KioskConfiguration {
  /// The file that stores the menu published by the chain, or `nil` without an uplink.
  var menuFile: StateFile<DesiredMenu>? {
    uplink.map { _ in
      StateFile(
        ledgerPath + ".menu",
        // The kiosk's own JSON of a menu may be longer than the payload that it received.
        upTo: 8 * DesiredMenu.maximumSize,
        withoutCopy:
          "send the menu again, or to drop it, remove \(ledgerPath).menu and its copy .menu.good",
        encode: \.payload, decode: { try DesiredMenu(payload: $0) })
    }
  }

  /// The file that stores an operator's change of the settings.
  var settingsFile: StateFile<StoredSettings> {
    StateFile(
      ledgerPath + ".settings", upTo: 8 * KioskProtocol.Request.maximumPayload,
      withoutCopy:
        "save the settings again, or to drop them, remove \(ledgerPath).settings and its copy .settings.good",
      encode: \.payload, decode: { try StoredSettings(payload: $0) })
  }
}

extension StateFile {
  /// Replaces the value, or removes the file if `value` is `nil`.
  func store(_ value: Value?) throws(StateError) {
    if let value { try write(value) } else { try remove() }
  }

  /// Replaces the value. After an error, the copy does not have the new value either: a start could use it.
  func replace(_ old: Value?, with new: Value) throws(StateError) {
    do throws(StateError) {
      try write(new)
    } catch {
      try? store(old)
      throw error
    }
  }
}

/// Returns the first three lines of an error, and the number of further lines, as one line.
func summary(of error: any Error) -> String {
  let problems = "\(error)".split(separator: "\n")
  let more = problems.count > 3 ? ["\(problems.count - 3) more"] : []
  return (problems.prefix(3).map(String.init) + more).joined(separator: "; ")
}

extension ConfigurationOptions {
  func text() throws(ConfigurationErrors) -> KioskConfiguration.Text {
    try KioskConfiguration.Text(path: file, environment: ProcessInfo.processInfo.environment)
  }
}

extension KioskConfiguration.Text {
  /// Switches a root process to the owner of the ledger's folder, and returns the configuration as
  /// `withMenu()` does. A link of the owner then leads only to files that the owner may read.
  func withMenuAsOwner() throws -> KioskConfiguration {
    try FolderOwner(ofFolderOf: try configuration().ledgerPath).switchUser()
    return try withMenu()
  }

  /// Returns the configuration with the stored menu of the chain and the stored change of an
  /// operator, if there are any. If the menu cannot be read or does not fit the file, the
  /// configuration has the file's own menu and `menuProblem`. If the change cannot be read, the
  /// configuration has no change and `settingsProblem`. Copies that replace a damaged file are in
  /// `usedCopies`.
  func withMenu() throws(ConfigurationErrors) -> KioskConfiguration {
    var own = try configuration()
    let (settings, settingsProblem) = own.settingsFile.load()
    if settings != nil { own = try configuration(with: settings) }
    own.settingsProblem = settings == nil ? settingsProblem?.description : nil
    own.usedCopies = settings == nil ? [] : [settingsProblem].compactMap { $0?.description }
    guard let file = own.menuFile else { return own }
    let (menu, menuProblem) = file.load()
    guard let menu else {
      own.menuProblem = menuProblem?.description
      return own
    }
    do {
      var configuration = try configuration(under: menu, with: settings)
      configuration.settingsProblem = own.settingsProblem
      configuration.usedCopies = own.usedCopies + [menuProblem].compactMap { $0?.description }
      return configuration
    } catch {
      own.menuProblem = "\(file.path): \(summary(of: error))"
      return own
    }
  }
}
