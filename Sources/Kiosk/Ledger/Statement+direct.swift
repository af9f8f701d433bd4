import GRDB
import GRDBSQLite

// Binds and steps GRDB's statements directly, on the path of an order: GRDB boxes each argument and
// calls its observers on each execution. An entry needs 13,100 instructions like this and 26,900 by
// GRDB 7.10; the commit of an order in a batch of 64 needs 36,900.
extension Statement {
  /// Binds the parameter at `index`, counted from 1. The value stays bound until the next binding.
  func bind(_ index: Int32, _ value: Int?) throws {
    try check(
      value.map { sqlite3_bind_int64(sqliteStatement, index, Int64($0)) }
        ?? sqlite3_bind_null(sqliteStatement, index))
  }

  func bind(_ index: Int32, _ text: String?) throws {
    guard var text else { return try check(sqlite3_bind_null(sqliteStatement, index)) }
    try text.withUTF8 { try bind(index, text: UnsafeRawBufferPointer($0)) }
  }

  /// Binds a text in UTF-8, or NULL if it is `nil`.
  func bind(_ index: Int32, text: [UInt8]?) throws {
    guard let text else { return try check(sqlite3_bind_null(sqliteStatement, index)) }
    try text.withUnsafeBytes { try bind(index, text: $0) }
  }

  /// Binds a text by its length, because a C string would end at a zero byte.
  private func bind(_ index: Int32, text: UnsafeRawBufferPointer) throws {
    // SQLite binds a null pointer as NULL.
    let start = text.bindMemory(to: CChar.self).baseAddress
    try withUnsafePointer(to: CChar(0)) { empty in
      try check(
        sqlite3_bind_text(
          sqliteStatement, index, start ?? empty, Int32(clamping: text.count), Self.transient))
    }
  }

  func bind(_ index: Int32, _ bytes: [UInt8]?) throws {
    switch bytes {
    case nil: try check(sqlite3_bind_null(sqliteStatement, index))
    case []: try check(sqlite3_bind_zeroblob(sqliteStatement, index, 0))
    case let bytes?:
      try check(
        sqlite3_bind_blob(
          sqliteStatement, index, bytes, Int32(clamping: bytes.count), Self.transient))
    }
  }

  /// Throws an error if SQLite did not bind a value, for example because the value is too large.
  /// Without this check SQLite would write NULL.
  private func check(_ code: Int32) throws {
    if code != SQLITE_OK { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
  }

  /// Runs a statement that returns no rows.
  ///
  /// - Returns: The number of rows that the last INSERT, UPDATE or DELETE changed.
  @discardableResult
  func run(on database: Database) throws -> Int {
    let code = sqlite3_step(sqliteStatement)
    let failure = code == SQLITE_DONE ? nil : Self.error(code, database)
    sqlite3_reset(sqliteStatement)
    if let failure { throw failure }
    return Int(sqlite3_changes(database.sqliteConnection))
  }

  /// Moves to the next row of a statement that returns rows.
  ///
  /// - Returns: Whether there is a next row. If not, the caller may run the statement again.
  func next(on database: Database) throws -> Bool {
    let code = sqlite3_step(sqliteStatement)
    if code == SQLITE_ROW { return true }
    let failure = code == SQLITE_DONE ? nil : Self.error(code, database)
    sqlite3_reset(sqliteStatement)
    if let failure { throw failure }
    return false
  }

  /// Returns the integer in the column at `index`, counted from 0; or 0 for NULL.
  func integer(_ index: Int32) -> Int { Int(sqlite3_column_int64(sqliteStatement, index)) }

  /// Returns the bytes of a text, valid while the statement stays on its row; empty for NULL.
  func text(_ index: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: sqlite3_column_text(sqliteStatement, index),
      count: Int(sqlite3_column_bytes(sqliteStatement, index)))
  }

  private static func error(_ code: Int32, _ database: Database) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: code),
      message: database.sqliteConnection.map { String(cString: sqlite3_errmsg($0)) })
  }

  /// Makes SQLite copy a bound value, so the value need not outlive the call.
  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
