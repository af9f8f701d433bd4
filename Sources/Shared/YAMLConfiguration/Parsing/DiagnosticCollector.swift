/// One reading of a configuration: what is wrong so far, and which variables there are.
package final class DiagnosticCollector {
  /// As it was given, for the messages.
  package let file: String
  /// The folder of the configuration file, with the last slash. Relative paths in the file start here.
  package let folder: String
  private let environment: [String: String]
  /// The paths of all keys that a variable may override.
  package private(set) var settings: [[String]] = []
  package private(set) var errors: [ConfigurationError] = []

  /// Variables of the program that are not about the configuration.
  private static let otherVariables: Set = ["KIOSK_LOG_LEVEL"]

  package init(file: String, environment: [String: String]) {
    self.file = file
    self.folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    self.environment = environment.filter { $0.key.hasPrefix("KIOSK_") }
  }

  package func report(
    _ diagnostic: Diagnostic, at place: ConfigurationError.Place, path: [String] = []
  ) {
    errors.append(ConfigurationError(diagnostic, at: place, path: path))
  }

  /// Adds what is wrong with another text, which was read along with this one.
  package func merge(_ other: DiagnosticCollector) { errors += other.errors }

  /// The variable that overrides what the file says for `path`: `KIOSK_BROKER_PORT` for `broker.port`.
  package func variable(for path: [String]) -> (name: String, value: String)? {
    let name = Self.variableName(path)
    return environment[name].map { (name, $0) }
  }

  /// To be called for each key that a variable may override.
  package func addSetting(_ path: [String]) {
    settings.append(path)
  }

  /// Whether the environment sets anything below `path`.
  package func hasVariables(below path: [String]) -> Bool {
    environment.keys.contains { $0.hasPrefix(Self.variableName(path) + "_") }
  }

  /// Reports every variable that no key asked for. To be called when all is read.
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
