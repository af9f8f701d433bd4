import JuiceDomain
import KioskProtocol
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

  /// Receivers add and multiply the amounts.
  @Test func whatNoKioskCanHoldIsNotTakenIn() throws {
    let payload =
      #"{"seq":1,"at":"2026-11-21T09:00:00Z","fruits":{"kiwi":1000000000000000,"#
      + #""mango":1000000000000001,"banana":-9223372036854775808,"pineapple":1.5}}"#
    let report = try StockReport(payload: Array(payload.utf8))
    #expect(report.fruits == ["kiwi": 1_000_000_000_000_000])
  }

  @Test(arguments: [
    "", "10", #"{"seq":1,"fruits":{}}"#, #"{"seq":1,"at":"now","fruits":{}}"#,
    #"{"at":"2026-11-21T09:00:00Z","fruits":{}}"#, #"{"seq":1,"at":"2026-11-21T09:00:00Z"}"#,
  ])
  func anythingElseIsNoStockReport(payload: String) {
    #expect(throws: JSONError.self) { try StockReport(payload: Array(payload.utf8)) }
  }

  /// The dashboard computes with each fruit and juice of all kiosks.
  @Test(arguments: [(1_000, true), (1_001, false)])
  func aReportHasAtMostTheFruitsOfAConfiguration(count: Int, isRead: Bool) {
    let ids = (1...count).map { "f\($0)" }
    let time = #""2026-11-21T09:00:00Z""#
    func object(_ value: String) -> String {
      "{\(ids.map { "\"\($0)\":\(value)" }.joined(separator: ","))}"
    }
    func array(_ members: String) -> String {
      "[\(ids.map { "{\"id\":\"\($0)\"\(members)}" }.joined(separator: ","))]"
    }
    let juice = #"{"id":"f1","recipe":{"f1":1}}"#
    let stocks = [
      #""fruits":\#(object("1"))"#, #""fruits":{},"expired":\#(object("1"))"#,
      #""fruits":{},"expires":\#(object(time))"#,
    ]
    let menus = [
      #"{"fruits":\#(array("")),"juices":[\#(juice)]}"#,
      #"{"fruits":[{"id":"f1"}],"juices":\#(array(#","recipe":{"f1":1}"#))}"#,
    ]
    for stock in stocks {
      let payload = Array(#"{"seq":1,"at":\#(time),\#(stock)}"#.utf8)
      #expect(((try? StockReport(payload: payload)) != nil) == isRead)
    }
    for menu in menus {
      #expect(((try? MenuReport(payload: Array(menu.utf8))) != nil) == isRead)
    }
    let forecast = Array(#"{"at":\#(time),"fruits":\#(object(#"{"stock":1}"#))}"#.utf8)
    #expect(((try? ForecastReport(payload: forecast)) != nil) == isRead)
    let result = Array(#"{"status":"applied","stock":\#(object("1"))}"#.utf8)
    #expect((try? CommandResult(payload: result))?.stock?.count == (isRead ? count : nil))
  }

  @Test func theStockIsReadAsItIsWritten() throws {
    let report = StockReport(
      seq: 7, at: at, fruits: ["kiwi": 3], expires: ["kiwi": at], expired: ["mango": 2])
    #expect(try StockReport(payload: report.payload) == report)
  }

  /// A record of food safety without its entries is not shown as a day without entries.
  @Test(
    arguments: [
      ("", nil), (#","entries":{}"#, nil), (#","entries":[]"#, false),
      (#","entries":[\#(ones(500))]"#, true), (#","entries":[\#(ones(501))]"#, nil),
    ] as [(String, Bool?)])
  func aDayHasItsEntries(member: String, isShortened: Bool?) {
    let payload = #"{"id":"r","day":"2026-11-21","sensors":[]\#(member)}"#
    #expect((try? SafetyDay(payload: Array(payload.utf8)))?.isShortened == isShortened)
  }

  private static func ones(_ count: Int) -> String {
    Array(repeating: "1", count: count).joined(separator: ",")
  }

  @Test func theMenuHasNamesRecipesAndMarks() throws {
    let menu = try Menu(
      fruits: [
        Fruit(
          id: "kiwi", name: LocalizedName(english: "Kiwi", korean: "키위", fallback: ""), crate: 30,
          keepsHours: 72, cost: Money("0.40", .euro))
      ],
      juices: [
        Juice(
          id: "kiwi", name: LocalizedName(english: "Kiwi juice", fallback: ""),
          recipe: Recipe(["kiwi": 3]), price: Money("3.50", try #require(Currency("EUR"))))
      ])
    let report = MenuReport(menu: menu, capacities: ["kiwi": 100], lowMarks: ["kiwi": 5])
    #expect(
      String(decoding: report.payload, as: UTF8.self)
        == #"{"fruits":[{"id":"kiwi","name":{"en":"Kiwi","ko":"키위"},"crate":30,"#
        + #""keeps_hours":72,"cost":"0.40","currency":"EUR","capacity":100,"low":5}],"#
        + #""juices":[{"id":"kiwi","name":{"en":"Kiwi juice","ko":"Kiwi juice"},"#
        + #""recipe":{"kiwi":3},"price":"3.50","currency":"EUR"}]}"#)
    let read = try MenuReport(payload: report.payload).menu
    #expect(read.fruits.first?.crate == 30 && read.fruits.first?.keepsHours == 72)
    #expect(read.fruits.first?.cost == menu.fruits.first?.cost)
    #expect(read.juices.first?.price == menu.juices.first?.price)
    #expect(read.hasPrices)
  }

  @Test func theMenuIsReadAsItIsWritten() throws {
    let report = MenuReport(
      menu: .standard, capacities: ["kiwi": 100, "mango": 0], lowMarks: ["kiwi": 5])
    let read = try MenuReport(payload: report.payload)
    #expect(read.payload == report.payload)
    #expect(read.capacities == report.capacities)
    #expect(read.lowMarks == report.lowMarks)
    #expect(read.menu.juices.map(\.recipe) == Menu.standard.juices.map(\.recipe))
  }

  @Test(arguments: [
    #""price":3.50,"currency":"EUR""#, #""price":"3.50""#, #""price":"3.50","currency":"euro""#,
    #""price":"3.505","currency":"EUR""#, #""price":"-1","currency":"EUR""#,
  ])
  func whatIsNoPriceIsLeftOut(members: String) throws {
    let payload =
      #"{"fruits":[{"id":"kiwi"}],"juices":[{"id":"kiwi","recipe":{"kiwi":3},\#(members)}]}"#
    #expect(try !MenuReport(payload: Array(payload.utf8)).menu.hasPrices)
  }

  @Test(arguments: ["0", "-1", "10001", "1.5", "\"12\"", "[]"])
  func whatIsNoCrateIsLeftOut(crate: String) throws {
    let payload =
      #"{"fruits":[{"id":"kiwi","crate":\#(crate)}],"juices":[{"id":"kiwi","recipe":{"kiwi":3}}]}"#
    #expect(try MenuReport(payload: Array(payload.utf8)).menu.fruits.map(\.crate) == [nil])
  }

  @Test(arguments: [
    "", "{}", #"{"fruits":[],"juices":[]}"#, #"{"fruits":[{}],"juices":[]}"#,
    #"{"fruits":[],"juices":[{"id":"kiwi","recipe":{"kiwi":1}}]}"#,
    #"{"fruits":[{"id":"kiwi"}],"juices":[{"id":"kiwi","recipe":{"kiwi":0}}]}"#,
  ])
  func anythingElseIsNoMenu(payload: String) {
    #expect(throws: JSONError.self) { try MenuReport(payload: Array(payload.utf8)) }
  }

  @Test(
    arguments: [
      (nil, "", ""),
      (
        1024, #""memory":1024,"#,
        #","ledger":4096,"disk_free":2048,"uplink_dropped":3072,"seq":7,"epoch":5"#
      ),
    ] as [(Int?, String, String)])
  func healthCountsWhatHappened(memory: Int?, member: String, ledger: String) {
    var counters = KioskHealth.Counters()
    (counters.orders, counters.outOfStock, counters.restocks) = (1, 2, 3)
    (counters.duplicates, counters.stale, counters.rejected) = (4, 5, 6)
    (counters.reconnects, counters.dropped, counters.failed) = (7, 8, 9)
    let health = KioskHealth(
      at: at, uptime: 60, counters: counters, memory: memory, queue: 9, service: .closed, low: 2,
      out: 1, machinesDown: 10, undecided: 11, ledger: memory.map { $0 * 4 },
      diskFree: memory.map { $0 * 2 }, uplinkDropped: memory.map { $0 * 3 },
      position: memory.map { _ in LedgerPosition(epoch: 5, seq: 7) })
    #expect(
      String(decoding: health.payload, as: UTF8.self)
        == #"{"at":"2026-11-21T09:00:00Z","uptime":60,"orders":1,"out_of_stock":2,"failed":9,"restocks":3,"#
        + #""duplicates":4,"stale":5,"rejected":6,"reconnects":7,"dropped":8,\#(member)"queue":9,"#
        + #""service":"closed","low":2,"out":1,"machines_down":10,"undecided":11\#(ledger)}"#)
  }

  @Test func healthNamesWhatTheBrokerHasRefused() {
    let health = KioskHealth(
      at: at, uptime: 60, counters: .init(), memory: nil, queue: 0, service: .open, low: 0, out: 0,
      ledger: nil, refused: ["kiosk/k1/stock/kiwi": "Not authorized", "kiosk/k1/menu": "\"no\""])
    let refused =
      #""refused":{"kiosk/k1/menu":"\"no\"","kiosk/k1/stock/kiwi":"Not authorized"}}"#
    #expect(String(decoding: health.payload, as: UTF8.self).hasSuffix(refused))
  }
}
