/// Collects the errors of one configuration, and the environment variables that can override its
/// values.
package final class DiagnosticCollector {
  /// The path of the file as given, for error messages.
  package let file: String
  /// The folder of the configuration file with a final slash, or empty if `file` has no slash.
  /// Relative paths in the file are relative to it.
  package let folder: String
  private let environment: [String: String]
  /// The paths of all keys that a variable can override.
  package private(set) var settings: [[String]] = []
  package private(set) var errors: [ConfigurationError] = []

  /// Variables with the prefix `KIOSK_` that do not override keys.
  private static let otherVariables: Set = ["KIOSK_LOG_LEVEL"]

  package init(file: String, environment: [String: String]) {
    self.file = file
    self.folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    self.environment = environment.filter {
      $0.key.hasPrefix("KIOSK_") && !ServiceLinks.contains($0.key, $0.value)
    }
  }

  package func report(
    _ diagnostic: Diagnostic, at place: ConfigurationError.Place, path: [String] = []
  ) {
    errors.append(ConfigurationError(diagnostic, at: place, path: path))
  }

  /// Adds the errors of another collector.
  package func merge(_ other: DiagnosticCollector) { errors += other.errors }

  /// Returns the variable that overrides `path`, such as `KIOSK_BROKER_PORT` for `broker.port`.
  package func variable(for path: [String]) -> (name: String, value: String)? {
    let name = Self.variableName(path)
    return environment[name].map { (name, $0) }
  }

  /// Registers a key that a variable can override.
  package func addSetting(_ path: [String]) {
    settings.append(path)
  }

  /// Returns whether the environment contains variables for keys below `path`.
  package func hasVariables(below path: [String]) -> Bool {
    environment.keys.contains { $0.hasPrefix(Self.variableName(path) + "_") }
  }

  /// Reports every variable that corresponds to no registered key. The caller reads all keys first.
  package func reportUnknownVariables() {
    let settings = settings.map(Self.variableName)
    let known = Self.otherVariables.union(settings)
    for name in environment.keys where !known.contains(name) {
      let diagnostic = Diagnostic(
        "there is no such setting",
        hint: Suggestion.hint(for: name, among: settings) ?? "unset it")
      report(diagnostic, at: .variable(name))
    }
  }

  package static func variableName(_ path: [String]) -> String {
    (["KIOSK"] + path).joined(separator: "_").uppercased()
  }
}
