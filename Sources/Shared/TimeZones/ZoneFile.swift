import CTimeZone
import Foundation
import Synchronization

/// A file of the system's time zone database (RFC 9636), with the rules that it contained when it was
/// last read. All clocks of a time zone share one.
final class ZoneFile: Sendable {
  /// The folder of the database: `TZDIR`, as for the C library and Python.
  static let folder = URL(
    filePath: ProcessInfo.processInfo.environment["TZDIR"] ?? "/usr/share/zoneinfo"
  ).path(percentEncoded: false)
  /// Maximum size in bytes; the largest file of tzdata has 4 kB.
  private static let maximumSize = 1 << 20
  /// The files that are in use, by path. Files are never removed: their number is that of the system's.
  private static let files = Mutex<[String: ZoneFile]>([:])

  private let path: String
  // C++ synchronizes it.
  private nonisolated(unsafe) let rules: OpaquePointer
  private let read: Mutex<(contents: Data, count: Int)>

  /// Returns the file at a path, or `nil` if it does not exist or is damaged.
  static func at(_ path: String) -> ZoneFile? {
    files.withLock { files in
      if let file = files[path] { return file }
      files[path] = ZoneFile(path)
      return files[path]
    }
  }

  /// Reads all files again that have changed.
  static func refresh() {
    for file in files.withLock({ Array($0.values) }) { file.refresh() }
  }

  private init?(_ path: String) {
    guard let contents = Self.contents(path) else { return nil }
    (self.path, rules) = (path, time_zone_rules_make())
    read = Mutex((contents, 1))
    guard time_zone_rules_read(rules, path) else { return nil }
  }

  /// Returns the seconds by which the clock is ahead of UTC.
  func offset(at seconds: Int64) -> Int64 {
    Int64(time_zone_offset(rules, seconds))
  }

  /// Returns the first time at which the clock shows a time or, if it skips that time, a later one.
  func time(showing seconds: Int64) -> Int64 {
    time_zone_time(rules, seconds)
  }

  /// The old rules stay if the file is missing or damaged.
  private func refresh() {
    read.withLock { read in
      guard let contents = Self.contents(path), contents != read.contents else { return }
      // cctz reads each path once.
      let alias = String(repeating: "/", count: read.count) + path
      read = (contents, read.count + 1)
      _ = time_zone_rules_read(rules, alias)
    }
  }

  private static func contents(_ path: String) -> Data? {
    guard let file = FileHandle(forReadingAtPath: path),
      let data = try? file.read(upToCount: maximumSize), data.starts(with: Array("TZif".utf8))
    else { return nil }
    return data
  }
}
