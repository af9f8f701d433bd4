import Foundation

@testable import ConfigurationFiles

/// What is wrong with a configuration, one line for each; empty if nothing is.
func errors(_ yaml: String, environment: [String: String] = [:]) -> [String] {
  do throws(ConfigurationErrors) {
    _ = try KioskConfiguration.parse(yaml: yaml, file: "k.yaml", environment: environment)
    return []
  } catch {
    return error.errors.map(\.description)
  }
}

/// A file of the project.
func project(_ path: String) -> String {
  URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: path).path(percentEncoded: false)
}

/// Runs `body` in a new folder, which is removed afterwards.
func withFolder(_ body: (URL) throws -> Void) throws {
  let folder = URL.temporaryDirectory.appending(path: "kiosk-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  try body(folder)
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
