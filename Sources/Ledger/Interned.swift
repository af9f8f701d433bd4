import Foundation
import GRDB

/// Texts that many rows share: each is written once, and goes by a number.
///
/// What it has forgotten it writes again under another number, which costs room and nothing else.
struct Interned {
  enum Table: String {
    case text, shape
  }

  private let insert: Statement
  private var numbers: [Text: Int] = [:]
  private var byteCount = 0

  /// Beyond so many bytes it forgets what it has seen.
  private static let maximumByteCount = 4 << 20

  /// Hashed and compared in one piece: an array would be byte by byte.
  private struct Text: Hashable {
    let bytes: [UInt8]

    static func == (left: Text, right: Text) -> Bool {
      left.bytes.withUnsafeBytes { left in
        right.bytes.withUnsafeBytes { right in
          guard left.count == right.count, let first = left.baseAddress,
            let second = right.baseAddress
          else { return left.count == right.count }
          return memcmp(first, second, left.count) == 0
        }
      }
    }

    func hash(into hasher: inout Hasher) {
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
  }

  init(_ table: Table, in database: Database) throws {
    let value = table == .text ? "CAST(? AS TEXT)" : "?"
    insert = try Statement("INSERT INTO \(table.rawValue) VALUES (NULL, \(value))", on: database)
    let rows = try Row.fetchCursor(
      database, sql: "SELECT id, CAST(\(table.rawValue) AS BLOB) FROM \(table.rawValue)")
    while let row = try rows.next() { remember(Array(row[1] as Data), as: row[0]) }
  }

  /// The number of a text, which is written if it is new.
  mutating func number(of text: [UInt8]) throws -> Int {
    if let number = numbers[Text(bytes: text)] { return number }
    insert.bind(1, text)
    try insert.run()
    remember(text, as: insert.insertedRowID)
    return insert.insertedRowID
  }

  private mutating func remember(_ text: [UInt8], as number: Int) {
    byteCount += text.count
    if byteCount > Self.maximumByteCount { (numbers, byteCount) = ([:], text.count) }
    numbers[Text(bytes: text)] = number
  }
}
