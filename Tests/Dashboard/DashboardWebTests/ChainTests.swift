import JuiceDomain
import KioskProtocol
import Postgres
import Testing

@testable import DashboardWeb

@Suite struct ChainTests {
  @Test(arguments: [
    (1, 0, 1, 1), (2, 0, 1, 1), (-3, 250, 1, 3), (3, 250, 3, 3), (4, 250, 3, 3), (1, 100, 1, 1),
    (2, 101, 2, 2), (Int.max, 10_000, 100, 100),
  ])
  func aPageThatIsNotThereIsTheNearest(asked: Int, count: Int, page: Int, pages: Int) {
    let slice = ListSlice(page: asked, of: count)
    #expect((slice.page, slice.pages) == (page, pages))
  }

  @Test func aLongListLinksToItsEndsAndToThePagesAround() {
    let links = ListSlice(page: 6, of: 1000).links(.english) { "/?page=\($0)" }.text
    let linked = (1...10).filter { links.contains("href=\"/?page=\($0)\"") }
    #expect(linked == [1, 3, 4, 5, 7, 8, 9, 10])
    #expect(links.contains("<strong aria-current=\"page\">6</strong>"))
    // Page 2 has no link.
    #expect(links.count { $0 == "…" } == 1)
    #expect(ListSlice(page: 1, of: 100).links(.english) { "\($0)" } == .empty)
  }

  /// The page of a kiosk shows the status of each entry in words.
  @Test(arguments: LedgerEntry.Status.allCases)
  func aStatusIsTextInBothLanguages(status: LedgerEntry.Status) {
    #expect(!status.text(.english).contains("_"))
    #expect(status.text(.korean).unicodeScalars.contains { ("가"..."힣").contains($0) })
  }

  /// No server listens there: each query fails at once, and the next one connects again.
  @Test func aDatabaseThatIsAwayIsSaidToBe() async throws {
    let archive = ChainArchive(
      ChainSettings(database: "host=/nowhere dbname=juice", timeout: .seconds(2)))
    let user = try User.test("vera", .viewer)
    for _ in 0..<3 {
      let error = await #expect(throws: ChainError.self) {
        try await archive.query(user) { query throws(DatabaseError) in try query.contains("k1") }
      }
      guard case .database(let reason) = error else { return #expect(Bool(false)) }
      #expect(reason.state == "")
    }
  }
}
