import Foundation
import GRDB
import KioskProtocol

/// The kiosk's disk: the file of its ledger, as a crash leaves it to the next start.
///
/// It lies in memory where the system has a folder for that; SQLite's own code runs all the same.
final class Disk {
  private let folder: URL
  private var generation = 0

  /// - Parameter ledger: the contents of the file to start with.
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

  /// What is there now is what the next start finds; the process that still has it open goes on with
  /// files that nobody will look at again.
  func crash() throws {
    let old = path
    generation += 1
    for suffix in ["", "-wal", ".lock"] {
      guard let data = FileManager.default.contents(atPath: old + suffix) else { continue }
      try data.write(to: URL(filePath: path + suffix))
    }
  }

  /// Lets every commit fail from now on, or no more.
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

  /// How many rows a table has.
  func count(_ table: String) throws -> Int {
    let database = try DatabaseQueue(path: path)
    defer { try? database.close() }
    return try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM \(table)") ?? 0 }
  }
}
