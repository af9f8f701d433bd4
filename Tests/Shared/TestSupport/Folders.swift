package import Foundation

/// Returns the path of a file of the project.
package func project(_ path: String) -> String {
  var root = URL(filePath: #filePath)
  for _ in 0..<4 { root.deleteLastPathComponent() }
  return root.appending(path: path).path(percentEncoded: false)
}

/// Runs `body` in a new folder, and deletes the folder afterwards.
package func withFolder(_ body: (URL) throws -> Void) throws {
  let folder = URL.temporaryDirectory.appending(path: "kiosk-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  try body(folder)
}
