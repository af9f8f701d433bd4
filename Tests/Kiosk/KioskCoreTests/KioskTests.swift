import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

@Suite struct KioskTests {
  private let kiosk: TestKiosk

  init() throws { kiosk = try TestKiosk() }

  @Test func anOrderIsAnsweredAsTheContractSays() throws {
    let decision = try kiosk.receive(.order(#"{"id":"a1","juice":"strawberry_banana"}"#))
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/order/p1/result"])
    #expect(
      decision.answers.map { text($0.payload) } == [
        #"{"id":"a1","status":"ready","ticket":1,"juice":"strawberry_banana","quantity":1,"#
          + #""used":{"banana":1,"strawberry":10},"#
          + #""stock":{"banana":9,"kiwi":10,"mango":10,"pineapple":10,"strawberry":0},"#
          + #""message":"Strawberry banana juice is ready. Enjoy!","seq":2}"#
      ])
    #expect(
      decision.transaction.records.map(\.row.entry) == [
        LedgerEntry(
          seq: 2, epoch: try kiosk.ledger.state().epoch, at: TestKiosk.start,
          source: Source(kind: .order, name: "p1"), id: "a1",
          outcome: .ready(
            Order(juice: "strawberry_banana"), used: ["strawberry": 10, "banana": 1],
            ticket: Ticket(day: 20_778, number: 1)))
      ])
  }

  @Test func aShortOrderIsAnsweredAsTheContractSays() throws {
    let decision = try kiosk.receive(.order("strawberry"))
    #expect(
      decision.answers.map { text($0.payload) } == [
        #"{"status":"out_of_stock","juice":"strawberry","quantity":1,"missing":{"strawberry":6},"#
          + #""stock":{"banana":10,"kiwi":10,"mango":10,"pineapple":10,"strawberry":10},"#
          + #""message":"Not enough fruit. Update the stock?","seq":2}"#
      ])
    #expect(kiosk.reports.isEmpty)
    #expect(kiosk.core.counters.outOfStock == 1)
  }

  @Test func aRestockIsAnsweredAsTheContractSays() throws {
    let decision = try kiosk.receive(.restock(#"{"id":"r1","add":{"strawberry":20,"kiwi":-1}}"#))
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/restock/dashboard/result"])
    #expect(
      decision.answers.map { text($0.payload) } == [
        #"{"id":"r1","status":"applied","#
          + #""stock":{"banana":10,"kiwi":9,"mango":10,"pineapple":10,"strawberry":30},"seq":2}"#
      ])
    #expect(
      decision.transaction.records.map(\.row.entry.outcome) == [
        .restocked(changes: ["strawberry": 20, "kiwi": -1])
      ])
  }

  @Test func aServiceCommandIsAnsweredAsTheContractSays() throws {
    let decision = try kiosk.receive(.service("closed"), .order("banana"))
    #expect(decision.answers[0].topic == "kiosk/k1/service/dashboard/result")
    #expect(
      text(decision.answers[0].payload) == #"{"status":"applied","service":"closed","seq":2}"#)
    #expect(
      text(decision.answers[1].payload)
        == #"{"status":"rejected","juice":"banana","quantity":1,"#
        + #""stock":{"banana":10,"kiwi":10,"mango":10,"pineapple":10,"strawberry":10},"#
        + #""reason":"closed","detail":"the kiosk takes no orders now","#
        + #""message":"We are closed right now.","seq":3}"#)
    #expect(decision.transaction.service == .closed)
    try kiosk.restart()
    #expect(kiosk.core.service == .closed)
    #expect(try kiosk.receive(.order("orange")).reasons == [.closed])
    #expect(try kiosk.receive(.restock(#"{"add":{"kiwi":1}}"#)).statuses == [.applied])
    #expect(try kiosk.receive(.service("open"), .order("banana")).statuses == [.applied, .ready])
  }

  @Test func theCustomerIsSpokenToInTheKiosksLanguage() throws {
    let kiosk = try TestKiosk(settings: .test(language: .korean))
    let decision = try kiosk.receive(
      .order("strawberry_banana"), .order("strawberry"), .service("closed"), .order("kiwi"))
    #expect(
      try decision.results.map(\.message) == [
        "딸바쥬스 나왔습니다! 맛있게 드세요!", "재료가 모자라요. 재고를 수정할까요?", nil, "지금은 영업시간이 아닙니다.",
      ])
  }

  @Test(
    arguments: [
      ("orange", .unknownJuice, "there is no orange on the menu"),
      (
        #"{"juice":"kiwi","quantity":0}"#, .quantityOutOfRange, "quantity must be 1 to 10, not 0"
      ),
      (
        #"{"juice":"kiwi","quantity":-1}"#, .quantityOutOfRange,
        "quantity must be 1 to 10, not -1"
      ),
      (
        #"{"juice":"kiwi","quantity":11}"#, .quantityOutOfRange,
        "quantity must be 1 to 10, not 11"
      ),
      (
        #"{"juice":"kiwi","quantity":9223372036854775807}"#, .quantityOutOfRange,
        "quantity must be 1 to 10, not 9223372036854775807"
      ),
      (
        #"{"juice":"kiwi","sent_at":"2026-11-21T08:59:29.999Z"}"#, .stale,
        "sent 30 seconds ago; the limit is 30"
      ),
      (
        #"{"juice":"kiwi","sent_at":"0001-01-01T00:00:00Z"}"#, .stale,
        "sent 63930848400 seconds ago; the limit is 30"
      ),
    ] as [(String, RejectionReason, String)])
  func anOrderIsRejectedWithItsReason(
    payload: String, reason: RejectionReason, detail: String
  ) throws {
    let decision = try kiosk.receive(.order(payload))
    #expect(try decision.reasons == [reason])
    #expect(try decision.results.map(\.detail) == [detail])
    #expect(try decision.results.map(\.seq) == [2])
    #expect(kiosk.reports.isEmpty)
    #expect(kiosk.stock == FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 10) }))
    #expect(kiosk.core.counters.rejected == 1)
    #expect(kiosk.core.counters.stale == (reason == .stale ? 1 : 0))
  }

  @Test(arguments: [
    "2026-11-21T08:59:30Z", "2026-11-21T09:00:00Z", "2026-11-21T18:00:00+09:00",
    "2026-11-21T09:05:00Z", "9999-12-31T23:59:59Z",
  ])
  func anOrderThatIsNotTooOldCounts(sentAt: String) throws {
    let decision = try kiosk.receive(.order(#"{"juice":"kiwi","sent_at":"\#(sentAt)"}"#))
    #expect(try decision.statuses == [.ready])
  }

  @Test func aStaleRestockOrServiceCommandIsNotCarriedOutEither() throws {
    let decision = try kiosk.receive(
      .restock(#"{"set":{"kiwi":0},"sent_at":"2026-11-21T08:00:00Z"}"#),
      .service(#"{"service":"closed","sent_at":"2026-11-21T08:00:00Z"}"#))
    #expect(try decision.reasons == [.stale, .stale])
    #expect(kiosk.stock["kiwi"] == 10)
    #expect(kiosk.core.service == .open)
  }

  @Test(
    arguments: [
      (
        #"{"add":{"kiwi":1},"expect":{"kiwi":9,"mango":10}}"#, .conflict,
        "the stock has changed: kiwi 10"
      ),
      (
        #"{"set":{"kiwi":101}}"#, .exceedsCapacity,
        "the capacity for kiwi is 100, and its stock is 10"
      ),
      (#"{"add":{"mango":1,"kiwi":-11}}"#, .belowZero, "there are only 10 of kiwi"),
      (#"{"add":{"mango":1,"durian":1}}"#, .unknownFruit, "durian is not a fruit of this kiosk"),
    ] as [(String, RejectionReason, String)])
  func aRestockIsRejectedWithItsReason(
    payload: String, reason: RejectionReason, detail: String
  ) throws {
    let decision = try kiosk.receive(.restock(payload))
    #expect(try decision.reasons == [reason])
    #expect(try decision.results.map(\.detail) == [detail])
    #expect(try decision.results[0].stock == kiosk.stock)
    #expect(kiosk.stock == FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 10) }))
    #expect(kiosk.reports.isEmpty)
  }

  @Test func ofABatchEachCommandSeesWhatTheOnesBeforeItDid() throws {
    let decision = try kiosk.receive(
      .order("strawberry_banana"), .order("strawberry_banana"),
      .restock(#"{"add":{"strawberry":20},"expect":{"strawberry":0}}"#),
      .order(#"{"juice":"strawberry_banana","quantity":3}"#),
      .order(#"{"juice":"strawberry_banana","quantity":2}"#))
    #expect(try decision.statuses == [.ready, .outOfStock, .applied, .outOfStock, .ready])
    #expect(try decision.results.map(\.seq) == [2, 3, 4, 5, 6])
    #expect(try decision.results.map(\.ticket) == [1, nil, nil, nil, 2])
    #expect(kiosk.stock["banana"] == 7)
    #expect(try kiosk.ledger.verify() == 6)
    #expect(try kiosk.ledger.state().stock == kiosk.stock)
  }

  // MARK: Tickets

  @Test func ticketsCountTheDaysMadeOrders() throws {
    func tickets() throws -> [Int?] {
      try kiosk.receive(.order("kiwi"), .order("strawberry"), .order("kiwi")).results.map(\.ticket)
    }
    #expect(try tickets() == [1, nil, 2])
    try kiosk.restart()
    try kiosk.receive(.restock(#"{"set":{"kiwi":100}}"#))
    #expect(try tickets() == [3, nil, 4])
    // After midnight.
    kiosk.pass(.seconds(60), day: 20_779)
    #expect(try tickets() == [1, nil, 2])
  }

  @Test func aClockThatJumpsGivesNoNumberOfADayTwice() throws {
    try kiosk.receive(.restock(#"{"set":{"kiwi":100}}"#))
    func ticket(on day: Int) throws -> Int? {
      kiosk.pass(.seconds((day - kiosk.now.day) * 86_400), day: day)
      return try kiosk.receive(.order("kiwi")).results.first?.ticket
    }
    #expect(try ticket(on: 20_778) == 1)
    // One week ahead, corrected, and twice over midnight.
    #expect(try ticket(on: 20_785) == 1)
    #expect(try ticket(on: 20_778) == 2)
    try kiosk.restart()
    #expect(try ticket(on: 20_779) == 1)
    #expect(try ticket(on: 20_778) == 3)
    try kiosk.restart()
    #expect(try ticket(on: 20_779) == 2)
    #expect(try ticket(on: 20_785) == 2)
  }

  @Test func severalGlassesAreOneTicket() throws {
    let decision = try kiosk.receive(.order(#"{"juice":"kiwi","quantity":3}"#), .order("banana"))
    #expect(try decision.results.map(\.ticket) == [1, 2])
    #expect(try decision.results.map(\.used) == [["kiwi": 9], ["banana": 2]])
  }
}
