import JuiceDomain
import KioskProtocol
import Testing

@Suite struct ReplayTests {
  /// The archive stores the detail for each gap of the range.
  @Test func theDetailOfARejectionIsLimited() throws {
    let detail = String(repeating: "x", count: 70_000)
    let sent = ReplayResult.rejected("r1", .busy, detail: detail)
    let received = try ReplayResult(payload: sent.payload)
    #expect(received == .rejected("r1", .busy, detail: String(detail.prefix(200))))
  }
}
