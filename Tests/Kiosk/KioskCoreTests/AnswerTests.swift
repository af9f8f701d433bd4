import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// The rows of the ledger reproduce the answers to senders, byte for byte.
@Suite struct AnswerTests {
  private let kiosk: TestKiosk

  init() throws {
    kiosk = try TestKiosk(settings: .test(language: .korean, orders: .init(maximumPerSecond: 0)))
  }

  private func expectAnswersInTheirRows(_ deliveries: [Delivery]) throws {
    let before = kiosk.core.seq
    let decision = try kiosk.receive(deliveries)
    let rows = try kiosk.ledger.rows(after: before)
    #expect(rows.map(\.row) == decision.transaction.records.map(\.row))
    #expect(rows.map(\.reply) == decision.transaction.records.map(\.reply))
    // A command that the filter rejected has no row.
    let told = try zip(decision.answers, decision.results).filter { $0.1.seq != nil }
    #expect(rows.map { text($0.row.result.payload) } == told.map { text($0.0.payload) })
  }

  @Test(
    arguments: [
      .order(#"{"id":"a1","juice":"strawberry_banana"}"#),
      .order(#"{"juice":"banana","quantity":5}"#, responseTopic: "kiosk/k1/order/p1/x"),
      .order("strawberry", panel: "주문 1", correlationData: [0, 255]),
      .order("durian"), .order(#"{"juice":"kiwi","quantity":0}"#),
      .order(#"{"juice":"kiwi","quantity":-9223372036854775808}"#),
      .order(#"{"id":"a1","juice":"kiwi","quantity":9223372036854775807}"#),
      .order(#"{"juice":"kiwi","sent_at":"2026-11-21T08:00:00Z"}"#),
      .order(#"{"id":"a1","juice":"kiwi"}"#, packetID: 7, retain: true),
      .restock(#"{"id":"a1","add":{"kiwi":5,"banana":-10}}"#), .restock(#"{"set":{"kiwi":10}}"#),
      .restock(#"{"set":{"kiwi":101}}"#), .restock(#"{"add":{"kiwi":-11}}"#),
      .restock(#"{"add":{"kiwi":9223372036854775807}}"#), .restock(#"{"add":{"durian":1}}"#),
      .restock(#"{"expect":{"kiwi":9},"add":{"kiwi":1}}"#),
      .restock(#"{"add":{"kiwi":1}}"#, retain: true),
      .service("open"), .service(#"{"id":"a1","service":"closed"}"#),
      .service("open", retain: true),
    ] as [Delivery])
  func everyAnswerIsInItsRow(delivery: Delivery) throws {
    try expectAnswersInTheirRows([delivery])
    // The same with a closed kiosk.
    if delivery.message.topic.contains("/order/"), !delivery.message.retain {
      try kiosk.receive(.service("closed"))
      let again = Delivery.order(#"{"id":"a2","juice":"kiwi"}"#, panel: "p2")
      try expectAnswersInTheirRows([again])
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func randomAnswersAreInTheirRows(seed: UInt64) throws {
    var random = Dice(state: seed)
    var number = 0
    func delivery() -> Delivery {
      number += 1
      let id = random.pick([true, false]) ? #""id":"n\#(number)","# : ""
      let amount = random.pick([-12, -1, 0, 1, 2, 3, 7, 40, 99, 101, .min, .max])
      let fruit = random.pick(["banana", "kiwi", "mango", "pineapple", "strawberry", "durian"])
      let juice = random.pick(Menu.standard.juices.map(\.id.text) + ["durian", "x-_1"])
      let time = random.pick(["", "", #","sent_at":"2026-11-20T09:00:00Z""#])
      switch random.next() % 8 {
      case 0:
        let verb = random.pick(["add", "expect"])
        return .restock(#"{\#(id)"\#(verb)":{"\#(fruit)":\#(amount)},"set":{"kiwi":9}\#(time)}"#)
      case 1: return .restock(#"{\#(id)"set":{"\#(fruit)":50,"banana":60}\#(time)}"#)
      case 2: return .service(random.pick(["open", "open", "open", "closed"]))
      default:
        let quantity = random.pick([1, 1, 1, 2, 3, amount])
        return .order(
          #"{\#(id)"juice":"\#(juice)","quantity":\#(quantity)\#(time)}"#,
          panel: random.pick(["p1", "p2", "딸기"]), packetID: UInt16(number),
          correlationData: random.pick([nil, [UInt8(number % 256)]]))
      }
    }
    for _ in 1...20 {
      let count = Int(random.next() % 20) + 1
      try expectAnswersInTheirRows((1...count).map { _ in delivery() })
    }
    #expect(try kiosk.ledger.verify() == kiosk.core.seq)
  }

  /// Orders from the standard menu, with ids as programs generate them.
  @Test func anOrderTakesNoMoreThan480BytesOnTheDisk() throws {
    let settings = KioskSettings.test(orders: .init(maximumPerSecond: 0))
    let kiosk = try TestKiosk(
      settings: settings,
      stock: FruitAmounts(Menu.standard.fruits.map { (fruit: $0.id, amount: 100_000) }))
    let before = try kiosk.ledger.size
    let juices = Menu.standard.juices.map(\.id)
    for batch in 0..<20 {
      let orders = (0..<500).map { index in
        let digits = String(1_000_000_000_000 + batch * 500 + index)
        let id = "f81d4fae-7dec-11d0-a765-\(digits.suffix(12))"
        return Delivery.order(
          #"{"id":"\#(id)","juice":"\#(juices[index % juices.count])"}"#,
          panel: "panel\(index % 8)", packetID: UInt16(batch * 500 + index + 1))
      }
      try kiosk.receive(orders)
    }
    let size = try kiosk.ledger.size - before
    #expect(size / 10_000 <= 480, "\(size) bytes for 10,000 orders")
  }
}
