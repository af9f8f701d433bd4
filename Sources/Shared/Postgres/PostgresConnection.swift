import CPostgreSQL

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A connection to PostgreSQL, and the only code that uses libpq.
///
/// ```swift
/// let connection = try PostgresConnection("host=db.example.com dbname=archive")
/// let rows = try connection.run("SELECT name FROM kiosk WHERE id = $1", ["k1"]).rows
/// ```
///
/// Calls block, but not indefinitely: a server that does not respond within the timeout counts as
/// lost. After an error without a SQLSTATE the caller must replace the connection. The server ends
/// the session, with its statement and its locks, within half a minute after a client is lost.
package final class PostgresConnection {
  package struct Response {
    /// The rows; each column as text, or `nil` for NULL.
    package var rows: [[String?]] = []
    /// The number of rows that the statement has returned, changed or copied.
    package var count = 0
  }

  private let connection: OpaquePointer
  private let timeout: Duration
  /// Called about once a second while a statement runs, with the time since its last response. If
  /// it throws, the statement fails with the error, and the caller must replace the connection.
  package var whileWaiting: ((Duration) throws(DatabaseError) -> Void)?

  /// Connects to a server.
  ///
  /// - Parameters:
  ///   - text: A libpq connection string.
  ///   - name: The program's name, which the server shows in its lists of connections.
  ///   - timeout: Maximum time without a response; while connecting, at least 2 s, at most 10 s.
  package init(
    _ text: String, password: String? = nil, name: String = "juice-archive",
    timeout: Duration = .seconds(60)
  ) throws(DatabaseError) {
    // Values of the connection string override the values listed before it.
    var settings = [
      ("fallback_application_name", name), ("client_encoding", "UTF8"),
      ("connect_timeout", "\(min(10, max(2, timeout.components.seconds)))"),
      ("tcp_user_timeout", "30000"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("keepalives_count", "3"), ("dbname", text),
    ]
    if let password { settings.append(("password", password)) }
    let keywords = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for copy in keywords + values { free(copy) } }
    let made = PQconnectdbParams(
      keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
    guard let made else { throw DatabaseError("not enough memory for a connection") }
    connection = made
    self.timeout = timeout
    guard PQstatus(connection) == CONNECTION_OK, PQsetnonblocking(connection, 1) == 0 else {
      throw connectionError
    }
    // Without these, a server keeps the locks of a lost client: for as long as its statement runs,
    // or for two hours if the client's computer is off. The last three only concern TCP.
    try run(
      """
      SET client_connection_check_interval = '5s'; SET tcp_keepalives_idle = 10;
      SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3
      """)
  }

  /// The process that serves this connection, as in `pg_stat_activity`.
  package var processID: Int { Int(PQbackendPID(connection)) }

  deinit { PQfinish(connection) }

  /// Runs one statement, or several if there are no values.
  ///
  /// - Returns: The response to the last statement.
  @discardableResult
  package func run(_ sql: String, _ values: [String?] = []) throws(DatabaseError) -> Response {
    if values.isEmpty {
      guard PQsendQuery(connection, sql) == 1 else { throw connectionError }
    } else {
      let copies = values.map { $0.flatMap { strdup($0) } }
      defer { for copy in copies { free(copy) } }
      let isSent = PQsendQueryParams(
        connection, sql, Int32(values.count), nil, copies.map { UnsafePointer($0) }, nil, nil, 0)
      guard isSent == 1 else { throw connectionError }
    }
    return try readResponse()
  }

  /// Runs `COPY ... FROM STDIN` with rows in text format.
  ///
  /// - Returns: The number of rows.
  @discardableResult
  package func copy(_ sql: String, _ rows: [UInt8]) throws(DatabaseError) -> Int {
    guard PQsendQuery(connection, sql) == 1 else { throw connectionError }
    _ = try readResponse()
    var rest = rows[...]
    while !rest.isEmpty {
      let piece = rest.prefix(1 << 16)
      let taken = piece.withUnsafeBytes { piece in
        PQputCopyData(
          connection, piece.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(piece.count))
      }
      if taken == 1 {
        rest = rest.dropFirst(piece.count)
      } else if taken < 0 {
        throw connectionError
      }
      try flush()
    }
    while true {
      let taken = PQputCopyEnd(connection, nil)
      if taken == 1 { break }
      guard taken == 0 else { throw connectionError }
      try flush()
    }
    return try readResponse().count
  }

  /// Runs `body` in a transaction, which is rolled back if `body` throws.
  @discardableResult
  package func transaction<Result>(
    _ body: () throws(DatabaseError) -> Result
  ) throws(DatabaseError) -> Result {
    try run("BEGIN")
    do {
      let result = try body()
      try run("COMMIT")
      return result
    } catch {
      // Fails only without a connection; then PostgreSQL rolls back by itself.
      _ = try? run("ROLLBACK")
      throw error
    }
  }
}

extension PostgresConnection {
  /// The error that libpq reports for the connection.
  private var connectionError: DatabaseError {
    DatabaseError(Self.line(PQerrorMessage(connection)))
  }

  /// Returns a message of libpq on one line, without its indentation.
  private static func line(_ message: UnsafePointer<CChar>?) -> String {
    let words = message.map { String(cString: $0) }?.split(whereSeparator: \.isWhitespace) ?? []
    return words.joined(separator: " ")
  }

  /// Reads the results up to the last one, or until the server expects the rows of a COPY.
  private func readResponse() throws(DatabaseError) -> Response {
    try flush()
    var answer = Response()
    var failure: DatabaseError?
    while true {
      while PQisBusy(connection) == 1 {
        try wait(for: Int16(POLLIN))
        guard PQconsumeInput(connection) == 1 else { throw connectionError }
      }
      guard let result = PQgetResult(connection) else { break }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COPY_IN: return answer
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK: answer = Self.read(result)
      default:
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        failure =
          failure
          ?? DatabaseError(state: state ?? "", Self.line(PQresultErrorMessage(result)))
      }
    }
    if let failure {
      throw PQstatus(connection) == CONNECTION_OK ? failure : connectionError(failure)
    }
    return answer
  }

  /// Returns the error without its SQLSTATE, so that the caller replaces the connection: a server
  /// that shuts down reports a reason and closes the connection.
  private func connectionError(_ reason: DatabaseError) -> DatabaseError {
    DatabaseError(reason.message)
  }

  private static func read(_ result: OpaquePointer) -> Response {
    let columns = 0..<PQnfields(result)
    return Response(
      rows: (0..<PQntuples(result)).map { row in
        columns.map { column in
          PQgetisnull(result, row, column) == 1
            ? nil : String(cString: PQgetvalue(result, row, column))
        }
      },
      count: Int(String(cString: PQcmdTuples(result))) ?? 0)
  }

  private func flush() throws(DatabaseError) {
    while true {
      let rest = PQflush(connection)
      if rest == 0 { return }
      guard rest == 1 else { throw connectionError }
      // The server may have to send its output before it reads further input.
      if try wait(for: Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0 {
        guard PQconsumeInput(connection) == 1 else { throw connectionError }
      }
    }
  }

  @discardableResult
  private func wait(for events: Int16) throws(DatabaseError) -> Int16 {
    let start = ContinuousClock.now
    while true {
      let waited = ContinuousClock.now - start
      guard waited < timeout else {
        throw DatabaseError("the server has not answered for \(timeout)")
      }
      var socket = pollfd(fd: PQsocket(connection), events: events, revents: 0)
      let left = min(timeout - waited, .seconds(1)) / .milliseconds(1)
      let ready = poll(&socket, 1, Int32(left.rounded(.up)))
      if ready > 0 { return socket.revents }
      guard ready == 0 || errno == EINTR else {
        throw DatabaseError("poll: \(String(cString: strerror(errno)))")
      }
      try whileWaiting?(ContinuousClock.now - start)
    }
  }
}
