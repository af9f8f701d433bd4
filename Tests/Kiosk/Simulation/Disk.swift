import Foundation
import GRDB
import KioskProtocol

/// The kiosk's disk: the file of its ledger, in the state that a crash leaves to the next start.
///
/// The file is in memory if the system has a folder for that; SQLite runs the same code.
final class Disk {
  private let folder: URL
  private var generation = 0

  /// Creates the folder and the file.
  ///
  /// - Parameter ledger: the initial contents of the file.
  init(ledger: Data) throws {
    let memory = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
    let parent =
      FileManager.default.fileExists(atPath: memory.path)
      ? memory : FileManager.default.temporaryDirectory
    folder = parent.appending(path: "juice-simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try ledger.write(to: URL(filePath: path))
  }

  func remove() { try? FileManager.default.removeItem(at: folder) }

  var path: String { folder.path + "/\(generation).sqlite" }

  /// Copies the current files for the next start. The crashed process continues with the old files,
  /// which are never read again.
  func crash() throws {
    let old = path
    generation += 1
    for suffix in ["", "-wal", ".lock"] {
      guard let data = FileManager.default.contents(atPath: old + suffix) else { continue }
      try data.write(to: URL(filePath: path + suffix))
    }
  }

  /// Makes every commit fail, or ends the failure.
  func fail(_ fails: Bool) throws {
    let database = try DatabaseQueue(path: path)
    try database.writeWithoutTransaction { database in
      let changes = [
        ("entry", "INSERT"), ("kiosk", "UPDATE"), ("topic", "INSERT"), ("delivery", "DELETE"),
      ]
      for (table, change) in changes {
        try database.execute(
          sql: fails
            ? """
            CREATE TRIGGER IF NOT EXISTS fail_\(table) BEFORE \(change) ON \(table)
            BEGIN SELECT RAISE(ABORT, 'the disk fails'); END
            """ : "DROP TRIGGER IF EXISTS fail_\(table)")
      }
    }
    try database.close()
  }

  /// Returns the number of rows of a table.
  func count(_ table: String) throws -> Int {
    let database = try DatabaseQueue(path: path)
    defer { try? database.close() }
    return try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM \(table)") ?? 0 }
  }
}
