import JuiceDomain
import KioskProtocol
import Postgres

/// Queries the archive for the kiosks that one user may see.
struct ChainQuery {
  private let connection: PostgresConnection
  /// The regions of the user, or `nil` for all kiosks: a text array of PostgreSQL.
  private let regions: String?
  /// Whether the user may see only the kiosks of regions.
  var isOfRegions: Bool { regions != nil }
  private let deadline: ContinuousClock.Instant

  init(_ connection: PostgresConnection, regions: [String], deadline: ContinuousClock.Instant) {
    self.connection = connection
    let names = regions.map { name in
      "\"\(name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
    self.regions = names.isEmpty ? nil : "{\(names.joined(separator: ","))}"
    self.deadline = deadline
  }

  /// Runs a query, which reads its kiosks from `own (kiosk, region, name, place)`: the kiosks of
  /// the user's regions, or all kiosks if the user has none. A kiosk that was removed from the
  /// list, or of a chain without a list, has the region ''. Other kiosks that are not listed count
  /// nowhere. Every query uses this method.
  ///
  /// - Parameter values: The values of `$2`, `$3` and so on.
  func rows(_ query: String, _ values: [String?] = []) throws(DatabaseError) -> [Row] {
    guard ContinuousClock.now < deadline else { throw .timedOut }
    let answer = try connection.run(
      """
      WITH own AS NOT MATERIALIZED (
        SELECT kiosk, region, name, place FROM juice.kiosk WHERE $1::text[] IS NULL OR region = ANY ($1)
        UNION ALL
        SELECT DISTINCT kiosk, '', NULL, NULL FROM juice.ledger
        WHERE $1 IS NULL AND NOT EXISTS (SELECT FROM juice.kiosk listed WHERE listed.kiosk = ledger.kiosk)
          AND (NOT EXISTS (SELECT FROM juice.kiosk)
            OR EXISTS (SELECT FROM juice.former_kiosk former WHERE former.kiosk = ledger.kiosk))
      )
      \(query)
      """, [regions] + values)
    return answer.rows.map(Row.init)
  }

  /// Returns the first column of the only row of a query.
  func count(_ query: String, _ values: [String?] = []) throws(DatabaseError) -> Int {
    try rows(query, values).first?.number(0) ?? 0
  }

  /// Returns SQL for the number that `Row.time(_:)` reads.
  static func milliseconds(_ time: String) -> String {
    "(extract(epoch FROM \(time)) * 1000)::bigint"
  }

  struct Row: Sendable {
    fileprivate let columns: [String?]

    /// Returns the text of a column, empty for NULL.
    subscript(column: Int) -> String { columns[column] ?? "" }

    func text(_ column: Int) -> String? { columns[column] }

    func number(_ column: Int) -> Int { columns[column].flatMap { Int($0) } ?? 0 }

    /// Returns the time of a column that contains milliseconds since 1970.
    func time(_ column: Int) -> Timestamp? {
      columns[column].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    /// Returns the Boolean of a column, or `nil` for NULL.
    func bool(_ column: Int) -> Bool? { columns[column].map { $0 == "t" } }

    func kiosk(_ column: Int) -> KioskID? { columns[column].flatMap { KioskID($0) } }
  }
}

extension ListSlice {
  /// The SQL clause that selects the rows of the slice.
  var limit: String { "LIMIT \(Self.length) OFFSET \(start)" }
}
