/// One reading of a configuration: what is wrong so far, and which variables there are.
final class Reading {
  /// As it was given, for the messages.
  let file: String
  /// Of the configuration file, with the last slash: what relative paths in it are relative to.
  let folder: String
  private let environment: [String: String]
  /// The paths of all keys that a variable may override.
  private(set) var settings: [[String]] = []
  private(set) var errors: [ConfigurationError] = []

  /// Variables of the program that are not about the configuration.
  private static let otherVariables: Set = ["KIOSK_LOG_LEVEL"]

  init(file: String, environment: [String: String]) {
    self.file = file
    self.folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    self.environment = environment.filter { $0.key.hasPrefix("KIOSK_") }
  }

  func report(
    _ complaint: Complaint, at place: ConfigurationError.Place, path: [String] = []
  ) {
    errors.append(ConfigurationError(complaint, at: place, path: path))
  }

  /// Adds what is wrong with another text that this one was read with.
  func adopt(_ other: Reading) { errors += other.errors }

  /// The value that stands above what the file says for `path`; `broker.port` is
  /// `KIOSK_BROKER_PORT`.
  func variable(for path: [String]) -> (name: String, value: String)? {
    let name = Self.variableName(path)
    return environment[name].map { (name, $0) }
  }

  /// To be told of each key that a variable may override.
  func addSetting(_ path: [String]) {
    settings.append(path)
  }

  /// Whether the environment sets anything below `path`.
  func hasVariables(below path: [String]) -> Bool {
    environment.keys.contains { $0.hasPrefix(Self.variableName(path) + "_") }
  }

  /// To be asked when all is read: what was not asked for is unknown.
  func reportUnknownVariables() {
    let settings = settings.map(Self.variableName)
    let known = Self.otherVariables.union(settings)
    for name in environment.keys where !known.contains(name) {
      let complaint = Complaint(
        "there is no such setting",
        hint: Suggestion.hint(for: name, among: settings) ?? "unset it")
      report(complaint, at: .variable(name))
    }
  }

  static func variableName(_ path: [String]) -> String {
    (["KIOSK"] + path).joined(separator: "_").uppercased()
  }
}

extension ConfigurationError {
  fileprivate init(_ complaint: Complaint, at place: Place, path: [String]) {
    self.init(
      place: place, path: path.map(\.printable).joined(separator: "."),
      problem: complaint.problem, hint: complaint.hint)
  }
}
