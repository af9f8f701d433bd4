import Postgres
import Synchronization

/// Where the archive of the chain is.
package struct ChainSettings: Sendable {
  /// A connection string of libpq.
  package var database: String
  package var password: String?
  /// The archive sums up by the days of this zone of the IANA time zone database.
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

/// Why a page is not filled from the archive.
enum ChainError: Error {
  case database(DatabaseError)
  /// As many pages wait already as can be answered in time.
  case busy
}

/// The archive, as pages ask it: over connections that can only read, each on a thread of its own. A
/// database that is slow or gone delays no page but those that ask it.
package final class ChainArchive: Sendable {
  /// So many queries run at once: the database has other work, too.
  private static let connections = 3
  /// So many pages wait for each connection at most.
  private static let maximumWaiting = 8

  let settings: ChainSettings
  private let readers: [ArchiveReader]
  private let waiting: Mutex<[Int]>

  package init(_ settings: ChainSettings) {
    self.settings = settings
    readers = (0..<Self.connections).map { ArchiveReader(settings, number: $0) }
    waiting = Mutex([Int](repeating: 0, count: Self.connections))
  }

  /// Asks a question for a page.
  ///
  /// - Parameter user: sees the page. To a user with a region the archive tells of its kiosks only.
  func query<Value: Sendable>(
    _ user: User, _ question: @Sendable (ChainQuery) throws(DatabaseError) -> Value
  ) async throws(ChainError) -> Value {
    let deadline = ContinuousClock.now + settings.timeout
    let number = waiting.withLock { waiting -> Int? in
      guard let number = waiting.indices.min(by: { waiting[$0] < waiting[$1] }),
        waiting[number] < Self.maximumWaiting
      else { return nil }
      waiting[number] += 1
      return number
    }
    guard let number else { throw .busy }
    defer { waiting.withLock { $0[number] -= 1 } }
    do throws(DatabaseError) {
      return try await readers[number].query(user.region, by: deadline, question)
    } catch {
      throw .database(error)
    }
  }
}
