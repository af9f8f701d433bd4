import JuiceMaker
import KioskMessages
import Testing

@Suite struct ReportsTests {
  private let at = Timestamp(milliseconds: 1_795_251_600_000)

  @Test func theStockReportIsReadAsItIsWritten() throws {
    let report = StockReport(seq: 1234, at: at, fruits: ["strawberry": 10, "kiwi": 0])
    #expect(
      String(decoding: report.payload, as: UTF8.self)
        == #"{"seq":1234,"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":0,"strawberry":10}}"#)
    #expect(try StockReport(payload: report.payload) == report)
  }

  @Test(arguments: [
    "", "10", #"{"seq":1,"fruits":{}}"#, #"{"seq":1,"at":"now","fruits":{}}"#,
    #"{"at":"2026-11-21T09:00:00Z","fruits":{}}"#, #"{"seq":1,"at":"2026-11-21T09:00:00Z"}"#,
  ])
  func anythingElseIsNoStockReport(payload: String) {
    #expect(throws: JSONError.self) { try StockReport(payload: Array(payload.utf8)) }
  }

  @Test func theMenuHasNamesAndRecipes() throws {
    let menu = try Menu(
      fruits: [Fruit(id: "kiwi", name: LocalizedName(english: "Kiwi", korean: "키위", fallback: ""))],
      juices: [
        Juice(
          id: "kiwi", name: LocalizedName(english: "Kiwi juice", fallback: ""),
          recipe: Recipe(["kiwi": 3]))
      ])
    #expect(
      String(decoding: menu.payload, as: UTF8.self)
        == #"{"fruits":[{"id":"kiwi","name":{"en":"Kiwi","ko":"키위"}}],"#
        + #""juices":[{"id":"kiwi","name":{"en":"Kiwi juice","ko":"Kiwi juice"},"#
        + #""recipe":{"kiwi":3}}]}"#)
  }

  @Test(arguments: [(nil, ""), (1024, #""memory":1024,"#)] as [(Int?, String)])
  func healthCountsWhatHappened(memory: Int?, member: String) {
    var counters = KioskHealth.Counters()
    (counters.orders, counters.outOfStock, counters.restocks) = (1, 2, 3)
    (counters.duplicates, counters.stale, counters.rejected) = (4, 5, 6)
    (counters.reconnects, counters.dropped) = (7, 8)
    let health = KioskHealth(at: at, uptime: 60, counters: counters, memory: memory, queue: 9)
    #expect(
      String(decoding: health.payload, as: UTF8.self)
        == #"{"at":"2026-11-21T09:00:00Z","uptime":60,"orders":1,"out_of_stock":2,"restocks":3,"#
        + #""duplicates":4,"stale":5,"rejected":6,"reconnects":7,"dropped":8,\#(member)"queue":9}"#)
  }

  @Test func theInfoTellsVersionAndProtocol() {
    #expect(
      String(decoding: KioskInfo(version: "1.2.3", startedAt: at).payload, as: UTF8.self)
        == #"{"version":"1.2.3","protocol":1,"started_at":"2026-11-21T09:00:00Z"}"#)
  }
}
