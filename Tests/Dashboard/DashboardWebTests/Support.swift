import Foundation
import JuiceDomain

@testable import DashboardWeb

extension User {
  /// With the password `strawberries`; hashed once for all.
  static func test(_ name: Name, _ role: Role) throws -> User {
    User(name: name, role: role, password: try hash.get())
  }

  private static let hash = Result { try PasswordHash(of: "strawberries", cost: .small) }
}

extension PasswordHash.Cost {
  /// The least that a file of users may ask for: milliseconds in a debug build.
  static let small = Self(iterations: 1 << 10, blockSize: 1, parallelism: 1)
}

extension ContinuousClock.Instant {
  /// When every test begins.
  static let start = now
}

/// Lends `body` a file of users that is not there yet.
func withUserFile<Value>(_ body: (UserFile) async throws -> Value) async throws -> Value {
  let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(UserFile(path: folder.appending(path: "users").path()))
}
