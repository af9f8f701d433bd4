/// The latest restocks, expiries, removals, service changes, decisions, refunds, programs, states of
/// sensors and ends of day of the last `SalesReport.dayCount` days.
package struct HistoryReport: Hashable, Sendable {
  /// Maximum number of entries.
  package static let limit = 30

  /// The entries, the latest first.
  package var entries: [LedgerEntry]

  package init(entries: [LedgerEntry]) { self.entries = entries }
}

extension HistoryReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    entries = Array(try members.all("entries", \.entries).prefix(Self.limit))
  }
}
