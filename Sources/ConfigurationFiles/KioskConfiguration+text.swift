package import KioskMessages

extension KioskConfiguration {
  /// What a configuration file said when it was read, so that a menu from above can be put over that, and
  /// not over what somebody is writing into the file.
  package struct Text: Sendable {
    private let yaml: String
    private let file: String
    private let environment: [String: String]

    /// - Parameter path: `nil` for the built-in defaults.
    package init(path: String?, environment: [String: String]) throws(ConfigurationErrors) {
      yaml = if let path { try Document.text(of: path) } else { "" }
      file = path ?? "(defaults)"
      self.environment = environment
    }

    /// - Parameter desired: stands over the file's own menu.
    package func configuration(
      under desired: DesiredMenu? = nil
    ) throws(ConfigurationErrors) -> KioskConfiguration {
      var configuration = KioskConfiguration()
      try Document.read(yaml, file: file, environment: environment) {
        configuration.read(&$0, under: desired)
      }
      return configuration
    }
  }
}
