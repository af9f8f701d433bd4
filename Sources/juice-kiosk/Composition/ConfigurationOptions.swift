import ArgumentParser
import Foundation
import KioskConfiguration
import Program

/// Where the configuration comes from; the same for every command.
struct ConfigurationOptions: ParsableArguments {
  static let defaultPath = "/etc/juice-kiosk/kiosk.yaml"

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The configuration file.",
      discussion: "Default: \(defaultPath) where it exists, else the built-in defaults.",
      valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  func load() throws(Failure) -> KioskConfiguration {
    do throws(ConfigurationErrors) { return try read() } catch { throw Failure(error) }
  }

  /// The file that counts; `nil` for the built-in defaults.
  var file: String? {
    config ?? (FileManager.default.fileExists(atPath: Self.defaultPath) ? Self.defaultPath : nil)
  }

  func read() throws(ConfigurationErrors) -> KioskConfiguration {
    let environment = ProcessInfo.processInfo.environment
    guard let file else {
      return try .parse(yaml: "", file: "(defaults)", environment: environment)
    }
    return try .load(path: file, environment: environment)
  }
}
