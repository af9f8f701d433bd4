import CommandLineSupport
import Fleet
import Hummingbird
import JuiceDomain

/// The tables of a route as CSV for spreadsheets (RFC 4180).
enum RouteCSV {
  /// Returns one row for each fruit of each kiosk.
  static func stops(_ route: Route, _ language: Language) -> String {
    var rows: [[CSVWriter.Cell]] = [
      [
        "kiosk", "name", "place", "fruit", "now", "expected", "bring", "brought", "counted",
        "ledger", "missing", "user", "status", "take_out", "stop",
      ]
    ]
    for (index, stop) in route.stops.enumerated() {
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
          .number(line.takeOut), .number(index + 1),
        ])
      }
    }
    return text(rows)
  }

  /// Returns one row for each fruit of the load.
  static func load(_ route: Route, _ language: Language) -> String {
    let rows: [[CSVWriter.Cell]] = route.load.map { load in
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

  /// Returns the rows as CSV with a byte order mark, without which Excel does not detect UTF-8.
  static func text(_ rows: [[CSVWriter.Cell]]) -> String {
    "\u{FEFF}" + rows.map { CSVWriter().line($0) + "\r\n" }.joined()
  }
}
