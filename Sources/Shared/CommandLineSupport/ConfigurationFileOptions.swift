package import ArgumentParser
import Foundation
package import YAMLConfiguration

/// The option `--config` of the commands that read the configuration file.
package struct ConfigurationFileOptions<File: ConfigurationFile>: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The configuration file.",
      discussion: "Default: \(File.defaultPath) where it exists, else the built-in defaults.",
      valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  package var config: String?

  package init() {}

  /// The path of the configuration file, or `nil` for the built-in defaults.
  package var file: String? {
    config ?? (FileManager.default.fileExists(atPath: File.defaultPath) ? File.defaultPath : nil)
  }

  /// A warning that the program ignores environment variables that Kubernetes has set, or `nil` if
  /// there are none.
  package var serviceLinksWarning: String? {
    let names = ServiceLinks.names(in: ProcessInfo.processInfo.environment)
    guard let first = names.first else { return nil }
    let list = names.count == 1 ? first : "\(first) and \(names.count - 1) more"
    return "ignored \(list), which Kubernetes sets for a service: "
      + "set enableServiceLinks: false in the pod"
  }

  package func load() throws(ConfigurationErrors) -> File {
    try .load(path: file, environment: ProcessInfo.processInfo.environment)
  }
}
