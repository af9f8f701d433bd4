package import ArgumentParser
package import ConfigurationFiles
import Foundation

/// What a program's configuration file is read into.
package protocol ConfigurationFile {
  /// Where the file is if the command line names none.
  static var defaultPath: String { get }

  static func load(
    path: String, environment: [String: String]
  ) throws(ConfigurationErrors) -> Self

  static func parse(
    yaml: String, file: String, environment: [String: String]
  ) throws(ConfigurationErrors) -> Self
}

/// Where the configuration comes from; the same for every command of a program.
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

  package func load() throws(Failure) -> File {
    do throws(ConfigurationErrors) { return try read() } catch { throw Failure(error) }
  }

  /// The file that counts; `nil` for the built-in defaults.
  package var file: String? {
    config ?? (FileManager.default.fileExists(atPath: File.defaultPath) ? File.defaultPath : nil)
  }

  package func read() throws(ConfigurationErrors) -> File {
    let environment = ProcessInfo.processInfo.environment
    guard let file else {
      return try .parse(yaml: "", file: "(defaults)", environment: environment)
    }
    return try .load(path: file, environment: environment)
  }
}
