import Foundation
import JuiceDomain
import Logging
import Synchronization

@testable import DashboardWeb

extension User {
  /// Returns a user with the password `strawberries`, which is hashed once for all tests.
  static func test(_ name: Name, _ role: Role) throws -> User {
    User(name: name, role: role, password: try hash.get())
  }

  private static let hash = Result { try PasswordHash(of: "strawberries", cost: .small) }
}

extension PasswordHash.Cost {
  /// The lowest cost that a file of users may contain: milliseconds in a debug build.
  static let small = Self(iterations: 1 << 10, blockSize: 1, parallelism: 1)
}

extension ContinuousClock.Instant {
  /// The start time of all tests.
  static let start = now
}

/// Calls `body` with a user file that does not exist yet.
func withUserFile<Value>(_ body: (UserFile) async throws -> Value) async throws -> Value {
  let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(UserFile(path: folder.appending(path: "users").path()))
}

/// Records the levels of log messages.
final class Recorder: LogHandler {
  private let recorded = Mutex<[Logger.Level]>([])
  var levels: [Logger.Level] { recorded.withLock { $0 } }
  var logger: Logger { Logger(label: "test") { _ in self } }

  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) { recorded.withLock { $0.append(event.level) } }
}
