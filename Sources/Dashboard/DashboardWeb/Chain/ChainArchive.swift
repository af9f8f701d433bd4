import Postgres
import Synchronization

/// Settings of the connection to the archive of the chain.
package struct ChainSettings: Sendable {
  /// A connection string of libpq.
  package var database: String
  package var password: String?
  /// The IANA time zone of the days for which the archive sums sales.
  package var timeZone: String
  /// Maximum time that a page waits for an answer.
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

/// The reason why the archive cannot answer the query of a page.
enum ChainError: Error {
  case database(DatabaseError)
  /// The maximum number of pages is already waiting.
  case busy
}

/// The archive of the chain. Each of its read-only connections has its own dispatch queue, so a
/// slow or unreachable database delays only the pages that query it.
package final class ChainArchive: Sendable {
  /// Maximum number of concurrent queries, which leaves capacity of the database for other work.
  private static let connections = 3
  /// Maximum number of pages that use or wait for each connection.
  private static let maximumWaiting = 8

  let settings: ChainSettings
  private let readers: [ArchiveReader]
  private let waiting: Mutex<[Int]>

  package init(_ settings: ChainSettings) {
    self.settings = settings
    readers = (0..<Self.connections).map { ArchiveReader(settings, number: $0) }
    waiting = Mutex([Int](repeating: 0, count: Self.connections))
  }

  /// Runs a query for a page.
  ///
  /// - Parameter user: The user of the page. If the user has regions, the query returns only their
  ///   kiosks.
  func query<Value: Sendable>(
    _ user: User, _ question: @Sendable (ChainQuery) throws(DatabaseError) -> Value
  ) async throws(ChainError) -> Value {
    try await query(of: user.regions, question)
  }

  /// Returns the regions in the list of kiosks, or `nil` if the archive does not answer.
  package func regions() async -> [String]? {
    try? await query(of: []) { query throws(DatabaseError) in try query.regionNames() }
  }

  private func query<Value: Sendable>(
    of regions: [String], _ question: @Sendable (ChainQuery) throws(DatabaseError) -> Value
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
      return try await readers[number].query(regions, by: deadline, question)
    } catch {
      throw .database(error)
    }
  }
}
