package import KioskProtocol

/// Formats tables as CSV (RFC 4180) that a spreadsheet opens without executing a text as a formula. Omits
/// invisible characters.
///
/// ```swift
/// let csv = CSVWriter()
/// csv.line([.text("=SUM(A1)"), .number("3.50")])  // '=SUM(A1),3.50
/// ```
package struct CSVWriter: Sendable {
  package enum Cell: ExpressibleByStringLiteral, Equatable, Sendable {
    case text(String)
    /// A number as text, such as `3.50`; an empty text is an empty field.
    case number(String)
    case day(CivilDate)
    /// A time in UTC.
    case time(Timestamp)

    package static func number(_ number: Int?) -> Cell { .number(number.map { String($0) } ?? "") }

    package init(stringLiteral text: String) { self = .text(text) }
  }

  /// Whether the table is for Excel. Excel needs a byte order mark to detect UTF-8, a first line
  /// with the separator if the system uses another one, and long numbers as formulas, because it
  /// stores only 15 digits of a number.
  private let isForExcel: Bool

  package init(forExcel isForExcel: Bool = false) { self.isForExcel = isForExcel }

  /// The text before the first line of the table; empty if the table is not for Excel.
  package var start: String { isForExcel ? "\u{FEFF}sep=,\r\n" : "" }

  /// Returns a line without the line feed at its end, but for Excel with a carriage return.
  package func line(_ cells: [Cell]) -> String {
    cells.map(field).joined(separator: ",") + (isForExcel ? "\r" : "")
  }

  /// Returns a line whose cells are texts, except numbers in the columns `numbers`, counted from 0.
  package func line(_ cells: [String], numbers: ClosedRange<Int>) -> String {
    line(cells.enumerated().map { numbers.contains($0) ? .number($1) : .text($1) })
  }

  private func field(_ cell: Cell) -> String {
    switch cell {
    case .text(let text): text.visibleLines.withoutFormula.csvField
    case .number(let digits):
      isForExcel && digits.utf8.count > 15 ? "=\"\(digits)\"".csvField : digits
    case .day(let day): day.description
    case .time(let time): time.description
    }
  }
}

extension String {
  /// The text, preceded by an apostrophe if a spreadsheet would interpret it as a formula (OWASP,
  /// "CSV Injection"), even after leading spaces, which some spreadsheets remove.
  fileprivate var withoutFormula: String {
    let first = unicodeScalars.first {
      !$0.properties.isWhitespace || $0 == "\t" || $0 == "\r" || $0 == "\n"
    }
    switch first {
    // East Asian versions of Excel interpret the fullwidth forms in the same way.
    case "=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠": return "'\(self)"
    default: return self
    }
  }
}
