import GRDB
import GRDBSQLite

/// A prepared statement on an order's path.
///
/// GRDB's statements take each argument through a box and each execution past its observers, which
/// costs several times what SQLite needs to insert the row.
final class Statement {
  private let statement: OpaquePointer
  private let connection: OpaquePointer

  init(_ sql: String, on database: Database) throws {
    guard let connection = database.sqliteConnection else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE)
    }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else {
      throw Self.error(code, connection)
    }
    self.statement = statement
    self.connection = connection
  }

  deinit { sqlite3_finalize(statement) }

  /// Binds the parameter at `index`, counted from 1. It stays bound until it is bound again.
  func bind(_ index: Int32, _ value: Int?) {
    if let value {
      sqlite3_bind_int64(statement, index, Int64(value))
    } else {
      sqlite3_bind_null(statement, index)
    }
  }

  func bind(_ index: Int32, _ text: String?) {
    if let text {
      sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), Self.transient)
    } else {
      sqlite3_bind_null(statement, index)
    }
  }

  func bind(_ index: Int32, _ bytes: [UInt8]?) {
    switch bytes {
    case nil: sqlite3_bind_null(statement, index)
    // A pointer to nothing would make it NULL.
    case []: sqlite3_bind_zeroblob(statement, index, 0)
    case let bytes?:
      sqlite3_bind_blob(statement, index, bytes, Int32(clamping: bytes.count), Self.transient)
    }
  }

  /// Runs a statement that returns no rows.
  ///
  /// - Returns: how many rows it has changed.
  @discardableResult
  func run() throws -> Int {
    let code = sqlite3_step(statement)
    let failure = code == SQLITE_DONE ? nil : Self.error(code, connection)
    sqlite3_reset(statement)
    if let failure { throw failure }
    return Int(sqlite3_changes(connection))
  }

  /// Goes to the next row of a statement that returns some.
  ///
  /// - Returns: whether there is one. If not, the statement is ready to be run again.
  func next() throws -> Bool {
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case let code:
      let failure = code == SQLITE_DONE ? nil : Self.error(code, connection)
      sqlite3_reset(statement)
      if let failure { throw failure }
      return false
    }
  }

  /// In the column at `index`, counted from 0; 0 for NULL.
  func integer(_ index: Int32) -> Int { Int(sqlite3_column_int64(statement, index)) }

  /// Empty for NULL.
  func text(_ index: Int32) -> String {
    sqlite3_column_text(statement, index).map { String(cString: $0) } ?? ""
  }

  /// Of the row that the last INSERT on this connection has made.
  var insertedRowID: Int { Int(sqlite3_last_insert_rowid(connection)) }

  private static func error(_ code: Int32, _ connection: OpaquePointer) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(connection)))
  }

  /// SQLite makes a copy: what is bound need not live on.
  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
