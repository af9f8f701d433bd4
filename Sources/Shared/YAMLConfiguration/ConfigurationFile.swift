/// The configuration of a program: a strictly parsed YAML file.
package protocol ConfigurationFile {
  /// The path of the file if the command line contains no path.
  static var defaultPath: String { get }

  /// Creates a configuration with all defaults.
  init()

  /// Reads the values of a file, and reports errors to the collector of `root`.
  mutating func read(_ root: inout Section)
}

extension ConfigurationFile {
  /// Reads the file.
  ///
  /// - Parameters:
  ///   - path: The path, or `nil` for the built-in defaults.
  ///   - environment: The variables of the process; those that start with `KIOSK_` override values
  ///     of the file.
  /// - Throws: All errors; but only the errors of the syntax if the file is not valid YAML or
  ///   contains a duplicate key.
  package static func load(
    path: String?, environment: [String: String] = [:]
  ) throws(ConfigurationErrors) -> Self {
    let yaml = try Document.text(of: path)
    return try parse(yaml: yaml, file: path ?? Document.defaults, environment: environment)
  }

  /// Parses the text of a file.
  ///
  /// - Parameter file: The path, for error messages and for relative paths in the file.
  /// - Throws: The same errors as `load(path:environment:)`.
  package static func parse(
    yaml: String, file: String, environment: [String: String] = [:]
  ) throws(ConfigurationErrors) -> Self {
    var configuration = Self()
    try Document.read(yaml, file: file, environment: environment) { configuration.read(&$0) }
    return configuration
  }
}
