@testable import KioskDaemon
@testable import YAMLConfiguration

/// Returns the errors of a configuration, or an empty list if there are none.
func errors(_ yaml: String, environment: [String: String] = [:]) -> [String] {
  do throws(ConfigurationErrors) {
    _ = try KioskConfiguration.parse(yaml: yaml, file: "k.yaml", environment: environment)
    return []
  } catch {
    return error.errors.map(\.description)
  }
}

extension KioskConfiguration {
  /// The paths of all keys that the reader reads, without those of the menu.
  static var settings: [[String]] {
    let collector = DiagnosticCollector(file: "", environment: [:])
    var configuration = Self()
    var root = Section(nil, at: .file(""), collector: collector)
    configuration.read(&root)
    return collector.settings
  }
}
