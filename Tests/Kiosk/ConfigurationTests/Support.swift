@testable import KioskDaemon
@testable import YAMLConfiguration

/// What is wrong with a configuration, one line for each; empty if nothing is.
func errors(_ yaml: String, environment: [String: String] = [:]) -> [String] {
  do throws(ConfigurationErrors) {
    _ = try KioskConfiguration.parse(yaml: yaml, file: "k.yaml", environment: environment)
    return []
  } catch {
    return error.errors.map(\.description)
  }
}

extension KioskConfiguration {
  /// The paths of all keys that the reader asks for, without those of the menu.
  static var settings: [[String]] {
    let collector = DiagnosticCollector(file: "", environment: [:])
    var configuration = Self()
    var root = Section(nil, at: .file(""), collector: collector)
    configuration.read(&root)
    return collector.settings
  }
}
