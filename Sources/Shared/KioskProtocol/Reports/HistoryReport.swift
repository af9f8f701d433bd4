/// The latest restocks, expiries, removals, service changes, decisions, programs, states of sensors
/// and ends of day of the last `SalesReport.dayCount` days.
package struct HistoryReport: Hashable, Sendable {
  /// Maximum number of entries.
  package static let limit = 30

  /// The entries, the latest first.
  package var entries: [LedgerEntry]

  package init(entries: [LedgerEntry]) { self.entries = entries }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("entries", entries) { $0.members($1) }
    }
  }

  /// Parses a payload, ignoring unknown members.
  ///
  /// - Throws: `JSONError` if the payload is not a history.
  package init(payload: [UInt8]) throws(JSONError) {
    guard let elements = try JSON.parse(payload).elements("entries") else {
      throw JSONError("entries is missing")
    }
    var entries: [LedgerEntry] = []
    for element in elements.prefix(Self.limit) { entries.append(try LedgerEntry(element)) }
    self.init(entries: entries)
  }
}
