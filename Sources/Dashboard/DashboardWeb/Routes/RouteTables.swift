import CommandLineSupport
import Fleet
import JuiceDomain

/// The tables of a route for spreadsheets.
extension Route {
  /// Returns one row for each fruit of each kiosk.
  func stopTable(_ language: Language) -> ExportTable {
    let header: ExportTable.Row = [
      "kiosk", "name", "place", "fruit", "now", "expected", "bring", "brought", "counted",
      "ledger", "missing", "user", "status", "take_out", "stop",
    ]
    var rows: [ExportTable.Row] = []
    for (index, stop) in stops.enumerated() {
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
    return ExportTable("stops-\(id)", header, rows: rows)
  }

  /// Returns one row for each fruit of the load.
  func loadTable(_ language: Language) -> ExportTable {
    let rows: [ExportTable.Row] = load.map { load in
      [
        .text(load.fruit.name[language]), .number(load.sum), .number(load.crate),
        .number(load.crates), .number(load.amount),
      ]
    }
    return ExportTable(
      "load-\(id)", ["fruit", "sum", "in_a_crate", "crates", "load"], rows: rows)
  }
}
