import Postgres
import Synchronization

/// Where the archive of the chain is.
package struct ChainSettings: Sendable {
  /// A connection string of libpq.
  package var database: String
  package var password: String?
  /// Whose days it sums up by: a name of the IANA time zone database.
  package var timeZone: String
  /// For how long a page waits for an answer.
  package var timeout: Duration

  package init(
    database: String, password: String? = nil, timeZone: String = "UTC",
    timeout: Duration = .seconds(5)
  ) {
    self.database = database
    self.password = password
    self.timeZone = timeZone
    self.timeout = timeout
  }
}

/// Why the archive does not tell what a page shows.
enum ChainTrouble: Error {
  case database(DatabaseError)
  /// As many wait for it as can be answered in time.
  case busy
}

/// The archive, as pages ask it: over connections that can only read, on threads of their own. A database
/// that is slow or gone holds up nobody but those who ask it.
package final class ChainArchive: Sendable {
  /// So many queries run at once; an archive has other work, too.
  private static let connections = 3
  /// So many pages wait for each of them at most.
  private static let mostWaiting = 8

  let settings: ChainSettings
  private let readers: [ArchiveReader]
  private let waiting: Mutex<[Int]>

  package init(_ settings: ChainSettings) {
    self.settings = settings
    readers = (0..<Self.connections).map { ArchiveReader(settings, number: $0) }
    waiting = Mutex([Int](repeating: 0, count: Self.connections))
  }

  /// Asks for what somebody may see.
  ///
  /// - Parameter user: of a region, sees its kiosks only.
  func ask<Value: Sendable>(
    _ user: User, _ question: @Sendable (ChainQuery) throws(DatabaseError) -> Value
  ) async throws(ChainTrouble) -> Value {
    let deadline = ContinuousClock.now + settings.timeout
    let number = waiting.withLock { waiting -> Int? in
      guard let number = waiting.indices.min(by: { waiting[$0] < waiting[$1] }),
        waiting[number] < Self.mostWaiting
      else { return nil }
      waiting[number] += 1
      return number
    }
    guard let number else { throw .busy }
    defer { waiting.withLock { $0[number] -= 1 } }
    do throws(DatabaseError) {
      return try await readers[number].ask(user.region, by: deadline, question)
    } catch {
      throw .database(error)
    }
  }
}
