import CommandLineSupport
import Foundation
import KioskProtocol

/// Writes tables as workbooks (`.xlsx`), one at a time, with libxlsxwriter.
actor WorkbookWriter {
  /// Maximum number of rows of a workbook, which is in memory while it is written.
  static let maximumRows = 50_000

  private nonisolated let executor = DiskExecutor(label: "workbook")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Returns the content of the file.
  ///
  /// - Throws: `RequestError.noWorkbooks` without the library, `.tableTooLong` for more than
  ///   `maximumRows` rows, and `WorkbookError` if the file cannot be written.
  func workbook(of table: ExportTable) throws -> [UInt8] {
    guard let library = WorkbookLibrary.loaded else { throw RequestError.noWorkbooks }
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "workbook-\(UInt64.random(in: 0 ... .max))")
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "table.xlsx")
      try write(table, to: path.path, library)
      return Array(try Data(contentsOf: path))
    } catch let error as CocoaError {
      throw WorkbookError(description: "\(folder.path): \(error.localizedDescription)")
    }
  }

  private func write(
    _ table: ExportTable, to path: String, _ library: WorkbookLibrary
  ) throws {
    let workbook = try Workbook(path: path, library)
    do {
      workbook.write(table.header, isHeader: true)
      for part in table.parts {
        for row in part() {
          guard workbook.count <= Self.maximumRows else { throw RequestError.tableTooLong }
          workbook.write(row)
        }
      }
    } catch {
      try? workbook.close()
      throw error
    }
    try workbook.close()
  }
}

/// A workbook with one sheet, until `close`.
private final class Workbook {
  private let library: WorkbookLibrary
  private let book, sheet: UnsafeMutableRawPointer
  private let header, day, time, decimal: UnsafeMutableRawPointer?
  /// Number of rows with the header.
  private(set) var count = 0
  /// The greatest number of characters in each column.
  private var widths: [Int] = []
  /// The first problem.
  private var problem: Int32 = 0

  init(path: String, _ library: WorkbookLibrary) throws {
    self.library = library
    guard let book = library.newWorkbook(path), let sheet = library.addSheet(book, nil) else {
      throw WorkbookError(description: "out of memory")
    }
    (self.book, self.sheet) = (book, sheet)
    func format(_ numbers: String) -> UnsafeMutableRawPointer? {
      let format = library.addFormat(book)
      library.setNumberFormat(format, numbers)
      return format
    }
    header = library.addFormat(book)
    library.setBold(header)
    (day, time, decimal) = (format("yyyy-mm-dd"), format("yyyy-mm-dd hh:mm:ss"), format("0.00"))
  }

  func write(_ cells: ExportTable.Row, isHeader: Bool = false) {
    for (column, cell) in cells.enumerated() {
      write(cell, UInt16(column), format: isHeader ? header : nil)
    }
    count += 1
  }

  private func write(_ cell: CSVWriter.Cell, _ column: UInt16, format: UnsafeMutableRawPointer?) {
    switch cell {
    case .text(let text):
      // The format has a maximum of 32,767 characters of UTF-16 in a cell.
      let scalars = text.visibleLines.unicodeScalars.prefix(16_000)
      write(String(String.UnicodeScalarView(scalars)), column, format: format)
    case .number(let digits):
      // A spreadsheet stores 15 digits of a number.
      guard digits.utf8.count <= 15, let number = Double(digits), number.isFinite else {
        return write(digits, column, format: format)
      }
      write(number, column, format: digits.contains(".") ? decimal : nil, width: digits.count)
    case .day(let date):
      write(Self.serial(date.daysSinceEpoch * 86_400_000), column, format: day, width: 10)
    case .time(let timestamp):
      write(Self.serial(timestamp.milliseconds), column, format: time, width: 19)
    }
  }

  /// Returns the number of days since 1899-12-30, with which a spreadsheet stores a time.
  private static func serial(_ milliseconds: Int64) -> Double {
    Double(milliseconds) / 86_400_000 + 25_569
  }

  private func write(_ text: String, _ column: UInt16, format: UnsafeMutableRawPointer?) {
    note(text.count, column)
    check(text.isEmpty ? 0 : library.writeText(sheet, UInt32(count), column, text, format))
  }

  private func write(
    _ number: Double, _ column: UInt16, format: UnsafeMutableRawPointer?, width: Int
  ) {
    note(width, column)
    check(library.writeNumber(sheet, UInt32(count), column, number, format))
  }

  private func note(_ width: Int, _ column: UInt16) {
    if widths.count <= column { widths.append(0) }
    widths[Int(column)] = max(widths[Int(column)], min(width, 60))
  }

  private func check(_ result: Int32) { if problem == 0 { problem = result } }

  func close() throws {
    library.freeze(sheet, 1, 0)
    for (column, width) in widths.enumerated() {
      check(library.setColumn(sheet, UInt16(column), UInt16(column), Double(width + 2), nil))
    }
    let last = UInt16(max(0, widths.count - 1))
    check(library.filter(sheet, 0, 0, UInt32(max(0, count - 1)), last))
    check(library.close(book))
    guard problem == 0 else {
      throw WorkbookError(description: String(cString: library.text(problem)))
    }
  }
}

struct WorkbookError: Error, CustomStringConvertible { let description: String }

/// The functions of libxlsxwriter (https://libxlsxwriter.github.io) that `Workbook` calls.
///
/// Loaded by the running program and not linked, because one package of the dashboard is for Debian 12 and 13,
/// whose versions of the library have different names. These functions are the same in all versions.
private struct WorkbookLibrary: Sendable {
  typealias Object = UnsafeMutableRawPointer

  let newWorkbook: @convention(c) @Sendable (UnsafePointer<CChar>) -> Object?
  let addSheet: @convention(c) @Sendable (Object, UnsafePointer<CChar>?) -> Object?
  let addFormat: @convention(c) @Sendable (Object) -> Object?
  let setBold: @convention(c) @Sendable (Object?) -> Void
  let setNumberFormat: @convention(c) @Sendable (Object?, UnsafePointer<CChar>) -> Void
  let writeText:
    @convention(c) @Sendable (Object, UInt32, UInt16, UnsafePointer<CChar>, Object?) -> Int32
  let writeNumber: @convention(c) @Sendable (Object, UInt32, UInt16, Double, Object?) -> Int32
  let freeze: @convention(c) @Sendable (Object, UInt32, UInt16) -> Void
  let setColumn: @convention(c) @Sendable (Object, UInt16, UInt16, Double, Object?) -> Int32
  let filter: @convention(c) @Sendable (Object, UInt32, UInt16, UInt32, UInt16) -> Int32
  let close: @convention(c) @Sendable (Object) -> Int32
  let text: @convention(c) @Sendable (Int32) -> UnsafePointer<CChar>

  /// The library, or `nil` if it is not installed.
  static let loaded = try? WorkbookLibrary()

  private static let names = [
    "libxlsxwriter.so.8", "libxlsxwriter.so.4", "libxlsxwriter.so",
    "/opt/homebrew/lib/libxlsxwriter.dylib",
  ]

  private init() throws {
    let handle = Self.names.lazy.compactMap { dlopen($0, RTLD_NOW) }.first
    func function<Function>(_ name: String) throws -> Function {
      guard let handle, let address = dlsym(handle, name) else {
        throw WorkbookError(description: "libxlsxwriter has no function \(name)")
      }
      return unsafeBitCast(address, to: Function.self)
    }
    newWorkbook = try function("workbook_new")
    addSheet = try function("workbook_add_worksheet")
    addFormat = try function("workbook_add_format")
    setBold = try function("format_set_bold")
    setNumberFormat = try function("format_set_num_format")
    writeText = try function("worksheet_write_string")
    writeNumber = try function("worksheet_write_number")
    freeze = try function("worksheet_freeze_panes")
    setColumn = try function("worksheet_set_column")
    filter = try function("worksheet_autofilter")
    close = try function("workbook_close")
    text = try function("lxw_strerror")
  }
}
