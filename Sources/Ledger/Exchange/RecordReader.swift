import KioskMessages

/// Reads records one after the other, however long the file is.
package struct RecordReader {
  /// No record is longer; in bytes.
  static let longest = 1 << 20

  private let format: RecordFormat
  private let read: () throws -> [UInt8]
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  /// Of the next byte, counted from 1.
  private(set) var line = 1
  private var columns: [RecordFields.Name] = []

  /// - Parameter read: gives the next bytes of the file, none at its end.
  package init(format: RecordFormat, read: @escaping () throws -> [UInt8]) {
    self.format = format
    self.read = read
  }

  /// - Throws: `RecordError`, or what `read` throws.
  /// - Returns: `nil` at the end.
  package mutating func next() throws -> (line: Int, record: LedgerRecord)? {
    try skipEmptyLines()
    var start = line
    do {
      if format == .csv, columns.isEmpty {
        try readColumns()
        try skipEmptyLines()
        start = line
      }
      guard let fields = try format == .csv ? nextOfTable() : nextObject() else { return nil }
      return (start, try LedgerRecord(fields))
    } catch var error as RecordError {
      error.line = start
      throw error
    }
  }

  private mutating func skipEmptyLines() throws {
    // What some programs put before a text (Unicode's byte order mark).
    if line == 1, position == 0, try look() != nil, buffer.starts(with: [0xEF, 0xBB, 0xBF]) {
      position = 3
    }
    while let byte = try look(), byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { take() }
  }

  private mutating func nextObject() throws -> RecordFields? {
    var text: [UInt8] = []
    while try look() != nil {
      let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) ?? buffer.endIndex
      text += buffer[position..<end]
      position = end
      try check(text.count)
      guard end == buffer.endIndex else {
        take()
        break
      }
    }
    if text.isEmpty { return nil }
    do {
      return try RecordFields(JSON.parse(text))
    } catch let error as JSONError {
      throw RecordError(nil, "\(error)")
    }
  }

  // MARK: Tables

  private mutating func readColumns() throws {
    for cell in try nextRow() ?? [] {
      guard let name = cell.flatMap({ RecordFields.Name(rawValue: $0) }), !columns.contains(name)
      else {
        throw RecordError(cell?.field, "the first line names the columns; there is no such column")
      }
      columns.append(name)
    }
  }

  private mutating func nextOfTable() throws -> RecordFields? {
    guard let cells = try nextRow() else { return nil }
    guard cells.count == columns.count else {
      throw RecordError(nil, "it has \(cells.count) cells, not \(columns.count)")
    }
    var fields = RecordFields()
    for (name, cell) in zip(columns, cells) { fields[name] = cell.map { .cell($0) } }
    return fields
  }

  /// Cells with nothing in them, not even quotes, are `nil`.
  private mutating func nextRow() throws -> [String?]? {
    guard try look() != nil else { return nil }
    var cells: [String?] = []
    var size = 0
    while true {
      let cell = try nextCell(&size)
      cells.append(cell)
      guard try look() == UInt8(ascii: ",") else { break }
      take()
    }
    if try look() == UInt8(ascii: "\r") { take() }
    guard try look() ?? UInt8(ascii: "\n") == UInt8(ascii: "\n") else {
      throw RecordError(nil, "something follows a cell in quotes")
    }
    if try look() != nil { take() }
    return cells
  }

  private mutating func nextCell(_ size: inout Int) throws -> String? {
    let quote = UInt8(ascii: "\"")
    var bytes: [UInt8] = []
    if try look() == quote {
      take()
      while true {
        guard let byte = try look() else { throw RecordError(nil, "it ends inside quotes") }
        take()
        if byte == quote {
          guard try look() == quote else { break }
          take()
        }
        bytes.append(byte)
        size += 1
        try check(size)
      }
      return try text(bytes)
    }
    while let byte = try look(), !",\r\n".utf8.contains(byte) {
      take()
      bytes.append(byte)
      size += 1
      try check(size)
    }
    return bytes.isEmpty ? nil : try text(bytes)
  }

  private func text(_ bytes: [UInt8]) throws(RecordError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw RecordError(nil, "it is not valid UTF-8")
    }
    return text
  }

  // MARK: Bytes

  private func check(_ size: Int) throws(RecordError) {
    if size > Self.longest { throw RecordError(nil, "it is longer than \(Self.longest) bytes") }
  }

  private mutating func look() throws -> UInt8? {
    if position < buffer.count { return buffer[position] }
    if isAtEnd { return nil }
    buffer = try read()
    position = 0
    isAtEnd = buffer.isEmpty
    return buffer.first
  }

  private mutating func take() {
    if buffer[position] == UInt8(ascii: "\n") { line += 1 }
    position += 1
  }
}
