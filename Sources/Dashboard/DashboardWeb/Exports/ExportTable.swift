import CommandLineSupport
import Hummingbird
import JuiceDomain

/// A table that users download, as CSV (RFC 4180) or as a workbook for spreadsheets.
///
/// The header is the same in both languages, because programs read it, too.
struct ExportTable: Sendable {
  typealias Row = [CSVWriter.Cell]

  /// The name of the file without its extension.
  let name: String
  let header: Row
  /// The rows in parts, which are made one after the other: the table of many kiosks is long.
  let parts: [@Sendable () -> [Row]]

  init(_ name: String, _ header: Row, _ parts: [@Sendable () -> [Row]]) {
    (self.name, self.header, self.parts) = (name, header, parts)
  }

  init(_ name: String, _ header: Row, rows: [Row]) { self.init(name, header, [{ rows }]) }

  /// The file, with a byte order mark, without which Excel does not detect UTF-8.
  var csv: Response {
    var response = Self.file("\(name).csv", "text/csv; charset=utf-8; header=present")
    response.body = ResponseBody { writer in
      func write(_ rows: [Row]) async throws {
        let text = rows.map { CSVWriter().line($0) + "\r\n" }.joined()
        try await writer.write(ByteBuffer(string: text))
      }
      try await writer.write(ByteBuffer(string: "\u{FEFF}"))
      try await write([header])
      for part in parts { try await write(part()) }
      try await writer.finish(nil)
    }
    return response
  }

  static func file(_ name: String, _ type: String) -> Response {
    Response(
      status: .ok,
      headers: [.contentType: type, .contentDisposition: "attachment; filename=\"\(name)\""])
  }
}

extension DashboardServer {
  /// Adds a table as two paths: `path.csv` and `path.xlsx`.
  func addTable(
    _ path: String, to router: some RouterMethods<PageContext>,
    _ table: @escaping @Sendable (PageContext) async throws -> ExportTable
  ) {
    router.get("\(path).csv") { _, context in try await table(context).csv }
    router.get("\(path).xlsx") { _, context in
      let table = try await table(context)
      var response = ExportTable.file(
        "\(table.name).xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
      response.body = ResponseBody(
        byteBuffer: ByteBuffer(bytes: try await workbooks.workbook(of: table)))
      return response
    }
  }
}

extension Language {
  /// Returns the links to both files of a table.
  ///
  /// - Parameters:
  ///   - path: The path of the table.
  ///   - query: The query of the address with its question mark, or an empty text.
  ///   - name: The name of the table, or `nil` for the only one of a page.
  func exports(_ path: String, _ query: String = "", of name: String? = nil) -> HTML {
    let csv = name.map { self("\($0) as CSV", "\($0) CSV") } ?? self("Export as CSV", "CSV로 내보내기")
    let workbook =
      name.map { self("\($0) for Excel", "\($0) Excel") }
      ?? self("Export for Excel", "Excel용으로 내보내기")
    return """
      <a class="button" href="\(path).csv\(query)">\(csv)</a>
      <a class="button" href="\(path).xlsx\(query)">\(workbook)</a>
      """
  }
}

extension HTML {
  /// The text that a browser shows, on one line.
  var plainText: String {
    var text = ""
    var isTag = false
    for character in self.text {
      switch character {
      case "<": isTag = true
      case ">":
        isTag = false
        text += " "
      default: if !isTag { text.append(character) }
      }
    }
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
      .reduce(words) { $0.replacing($1.0, with: $1.1) }
  }
}
