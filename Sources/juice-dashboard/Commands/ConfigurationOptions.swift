import ArgumentParser
import Foundation
import KioskConfiguration
import Program

/// Where the configuration comes from; the same for every command.
struct ConfigurationOptions: ParsableArguments {
  static let defaultPath = "/etc/juice-dashboard/dashboard.yaml"

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The configuration file.",
      discussion: "Default: \(defaultPath) where it exists, else the built-in defaults.",
      valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  func load() throws(Failure) -> DashboardConfiguration {
    let environment = ProcessInfo.processInfo.environment
    do throws(ConfigurationErrors) {
      if let config { return try .load(path: config, environment: environment) }
      if FileManager.default.fileExists(atPath: Self.defaultPath) {
        return try .load(path: Self.defaultPath, environment: environment)
      }
      return try .parse(yaml: "", file: "(defaults)", environment: environment)
    } catch {
      throw Failure(error)
    }
  }
}
