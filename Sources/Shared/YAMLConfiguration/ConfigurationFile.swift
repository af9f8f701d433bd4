/// A program's configuration: one YAML file, read strictly or not at all.
package protocol ConfigurationFile {
  /// Where the file is if the command line names none.
  static var defaultPath: String { get }

  /// All defaults.
  init()

  /// Takes over what the file says, and reports what is wrong with it.
  mutating func read(_ root: inout Section)
}

extension ConfigurationFile {
  /// Reads the file.
  ///
  /// - Parameters:
  ///   - path: `nil` for the built-in defaults.
  ///   - environment: the variables of the process; those that start with `KIOSK_` override what the file
  ///     says.
  /// - Throws: everything that is wrong. A YAML that cannot be read as such, or has a key twice, hides
  ///   what else is wrong.
  package static func load(
    path: String?, environment: [String: String] = [:]
  ) throws(ConfigurationErrors) -> Self {
    let yaml = try Document.text(of: path)
    return try parse(yaml: yaml, file: path ?? Document.defaults, environment: environment)
  }

  /// Reads what a file says.
  ///
  /// - Parameter file: its path, for messages and for the relative paths in it.
  /// - Throws: as `load(path:environment:)`.
  package static func parse(
    yaml: String, file: String, environment: [String: String] = [:]
  ) throws(ConfigurationErrors) -> Self {
    var configuration = Self()
    try Document.read(yaml, file: file, environment: environment) { configuration.read(&$0) }
    return configuration
  }
}
