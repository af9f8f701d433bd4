import JuiceDomain
import KioskProtocol
import Testing

@Suite struct HistoryReportTests {
  private let report = HistoryReport(entries: [
    LedgerEntry(
      seq: 9, epoch: 0, at: Timestamp(milliseconds: 1_795_251_600_000),
      source: Source(kind: .restock, name: "minji"), id: "r1",
      outcome: .restocked(changes: ["kiwi": 3])),
    LedgerEntry(
      seq: 4, epoch: 0, at: Timestamp(milliseconds: 1_795_251_600_000),
      source: Source(kind: .service, name: "desk"), id: nil, outcome: .service(.open)),
  ])

  @Test func isReadAsItIsWritten() throws {
    let text = String(decoding: report.payload, as: UTF8.self)
    #expect(
      text
        == #"{"entries":[{"seq":9,"at":"2026-11-21T09:00:00Z","source":"restock/minji","id":"r1","#
        + #""status":"restocked","changes":{"kiwi":3}},"#
        + #"{"seq":4,"at":"2026-11-21T09:00:00Z","source":"service/desk","status":"open"}]}"#)
    #expect(try HistoryReport(payload: report.payload) == report)
  }

  @Test(arguments: ["", "{}", #"{"entries":{}}"#, #"{"entries":[1]}"#, #"{"entries":[{"seq":1}]}"#])
  func anythingElseIsNoHistory(payload: String) {
    #expect(throws: JSONError.self) { try HistoryReport(payload: Array(payload.utf8)) }
  }
}
