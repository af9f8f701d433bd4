import Fleet
import Hummingbird
import JuiceDomain

/// Tables for a spreadsheet (RFC 4180).
enum RouteCSV {
  /// A row for each fruit of each kiosk.
  static func stops(_ route: Route, _ language: Language) -> String {
    var rows: [[Cell]] = [
      [
        "kiosk", "name", "place", "fruit", "now", "expected", "bring", "brought", "counted",
        "ledger", "missing", "user", "status",
      ]
    ]
    for stop in route.stops {
      let report = stop.report
      let done = stop.report.flatMap { $0.isDone ? $0 : nil }
      for line in stop.lines {
        let fruit = line.fruit.id
        rows.append([
          .text(stop.kiosk.text), .text(stop.title(language)), .text(stop.place ?? ""),
          .text(line.fruit.name[language]), .number(line.now), .number(line.expected),
          .number(line.bring), .number(done.map { $0.brought[fruit] ?? 0 }),
          .number(done?.counted[fruit]), .number(done?.ledger[fruit]),
          .number(done?.missing[fruit]), .text(report?.user ?? ""), .text(stop.status),
        ])
      }
    }
    return text(rows)
  }

  /// A row for each fruit.
  static func load(_ route: Route, _ language: Language) -> String {
    let rows: [[Cell]] = route.load.map { load in
      [
        .text(load.fruit.name[language]), .number(load.sum), .number(load.crate),
        .number(load.crates), .number(load.amount),
      ]
    }
    return text([["fruit", "sum", "in_a_crate", "crates", "load"]] + rows)
  }

  static func response(_ text: String, name: String) -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: "text/csv; charset=utf-8; header=present",
        .contentDisposition: "attachment; filename=\"\(name).csv\"",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  enum Cell: ExpressibleByStringLiteral {
    case text(String)
    /// `nil` is an empty field.
    case number(Int?)

    init(stringLiteral text: String) { self = .text(text) }

    fileprivate var field: String {
      switch self {
      case .number(let number): number.map { String($0) } ?? ""
      case .text(let text): "\"\(text.withoutFormula.replacing("\"", with: "\"\""))\""
      }
    }
  }

  /// With a byte order mark: Excel knows UTF-8 by nothing else.
  static func text(_ rows: [[Cell]]) -> String {
    "\u{FEFF}" + rows.map { $0.map(\.field).joined(separator: ",") + "\r\n" }.joined()
  }
}

extension String {
  /// A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, "CSV
  /// Injection"), also if it begins with spaces, which some spreadsheets leave out.
  fileprivate var withoutFormula: String {
    let first = unicodeScalars.first {
      !$0.properties.isWhitespace || $0 == "\t" || $0 == "\r" || $0 == "\n"
    }
    switch first {
    // Excel in East Asia takes the wide forms for the same.
    case "=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠": return "'\(self)"
    default: return self
    }
  }
}
