import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import Archive

@Suite struct EventRowTests {
  private func row(_ json: String) throws(UnreadableEvent) -> EventRow {
    try EventRow(Message(topic: "kiosk/k1/events", text: json), of: "k1")
  }

  private func problem(_ json: String) -> String {
    do throws(UnreadableEvent) {
      _ = try row(json)
      return "none"
    } catch {
      return error.description
    }
  }

  /// Returns the columns of a row except for the first ones: kiosk, epoch and seq.
  private func columns(_ row: EventRow) -> [String: String] {
    let fields = String(decoding: row.line.dropLast(), as: UTF8.self).split(
      separator: "\t", omittingEmptySubsequences: false)
    let named = zip(EventRow.columns, fields).dropFirst(3).filter { $0.1 != #"\N"# }
    return Dictionary(uniqueKeysWithValues: named.map { ($0.0, String($0.1)) })
  }

  @Test func eachColumnIsFound() throws {
    let row = try row(
      #"{"seq":7,"epoch":3,"at":"2026-11-21T09:00:00.5Z","source":"order/p1","id":"a1","status":"failed","#
        + #""job":5,"ticket":42,"juice":"kiwi","quantity":2,"place":1,"machine":"bar","reason":"jam","#
        + #""amount":"3.50","currency":"EUR","changes":{"kiwi":3},"missing":{"mango":1}}"#)
    #expect(row.key == EventKey(ledger: LedgerKey(kiosk: "k1", epoch: 3), seq: 7))
    #expect(
      columns(row) == [
        "at": "2026-11-21T09:00:00.500Z", "status": "failed",
        "source": "order/p1", "id": "a1", "juice": "kiwi", "reason": "jam", "machine": "bar",
        "job": "5", "ticket": "42", "quantity": "2", "place": "1", "amount": "3.50",
        "currency": "EUR",
        "changes": #"{"kiwi":3}"#, "missing": #"{"mango":1}"#,
      ])
  }

  /// Every member of a `LedgerEntry` has a column.
  @Test func anEntryLeavesNothingOver() throws {
    let end = JobEnd(
      job: 3, machine: "bar", order: Order(juice: "kiwi", quantity: 2),
      ticket: Ticket(day: 0, number: 4))
    let order = Order(juice: "kiwi", quantity: 2)
    let outcomes: [LedgerEntry.Outcome] = [
      .opened(["kiwi": 10]), .ready(order, used: ["kiwi": 3], ticket: end.ticket),
      .outOfStock(order, missing: ["kiwi": 3]), .restocked(changes: ["kiwi": 3]), .service(.open),
      .accepted(order, used: ["kiwi": 3], ticket: end.ticket, machine: "bar", place: 1), .made(end),
      .failed(end, reason: "jam", changes: ["kiwi": 3]),
      .returned(end, reason: "jam", changes: [:]),
      .decided(.poured, job: 3, used: ["kiwi": 3]), .rejected(.stale, order: order),
    ]
    for outcome in outcomes {
      let entry = LedgerEntry(
        seq: 1, epoch: 4, at: Timestamp(milliseconds: 0), source: Source("order/p1"), id: "a1",
        outcome: outcome, amount: Currency("EUR").map { Money(units: 350, $0) })
      let row = try EventRow(
        Message(topic: "kiosk/k1/events", payload: entry.payload), of: "k1")
      #expect(columns(row)["more"] == nil)
    }
  }

  @Test func whatIsNewIsKept() throws {
    let row = try row(
      #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"levitated","#
        + #""cups": [12345678901234567890123, -2.50,true,null,{"a\n":"\"\\\t비\\u0000"}],"\u0061":1E+2}"#
    )
    #expect(row.key.ledger.epoch == 0)
    #expect(columns(row)["status"] == "levitated")
    // The members are kept as they were written. COPY requires a backslash before each backslash.
    #expect(
      columns(row)["more"]
        == #"{"cups": [12345678901234567890123, -2.50,true,null,{"a\\n":"\\"\\\\\\t비\\\\u0000"}],"#
        + #""\\u0061":1E+2}"#)
  }

  /// The entry of a rejected order has the quantity of the command.
  @Test(
    arguments: [
      (0, "0", nil), (2_147_483_647, "2147483647", nil), (-1, nil, #"{"quantity":-1}"#),
      (5_000_000_000, nil, #"{"quantity":5000000000}"#),
    ] as [(Int, String?, String?)])
  func aQuantityOutOfRangeIsKept(quantity: Int, column: String?, more: String?) throws {
    let row = try row(#"{\#(Self.needed),"quantity":\#(quantity)}"#)
    #expect(columns(row)["quantity"] == column)
    #expect(columns(row)["more"] == more)
  }

  @Test(arguments: Command.Kind.allCases) func theLongestNameIsStored(kind: Command.Kind) throws {
    let source = Source(kind: kind, name: String(repeating: "🥝", count: 64))
    #expect(source.flaw == nil)
    let row = try row(#"{\#(Self.needed),"source":"\#(source)"}"#)
    #expect(columns(row)["source"] == source.description)
  }

  private static let needed = #""seq":1,"at":"2026-11-21T09:00:00Z","status":"open""#

  @Test(arguments: [
    ("", "not valid JSON at byte 0: a value is missing"),
    ("[]", "it is not an object"),
    (#"{"at":"2026-11-21T09:00:00Z","status":"open"}"#, "'seq' is missing"),
    (#"{"seq":1,"status":"open"}"#, "'at' is missing"),
    (#"{"seq":1,"at":"2026-11-21T09:00:00Z"}"#, "'status' is missing"),
    (#"{"seq":0}"#, "'seq' is out of range"),
    (#"{"seq":9007199254740993}"#, "'seq' is out of range"),
    (#"{"seq":1.0}"#, "'seq' is a number that is not whole or too large, not a whole number"),
    (#"{"epoch":-1}"#, "'epoch' is out of range"),
    (#"{"at":"0000-06-01T00:00:00Z"}"#, "'at' is not a valid time"),
    (#"{"at":"today"}"#, "'at' is not a valid time"),
    (#"{"status":1}"#, "'status' is a whole number, not a text"),
    (#"{"ticket":2147483648}"#, "'ticket' is out of range"),
    (#"{"amount":3}"#, "'amount' is a whole number, not a text"),
    (#"{"amount":"NaN"}"#, "'amount' is not a valid amount"),
    (#"{"amount":""}"#, "'amount' is not a valid amount"),
    (#"{"amount":"3."}"#, "'amount' is not a valid amount"),
    (#"{"amount":".5"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"3.5.0"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"-3.50"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"３"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"\#(String(repeating: "9", count: 33))"}"#, "'amount' has more than 32 bytes"),
    (
      #"{\#(Self.needed),"amount":"3.505","currency":"EUR"}"#,
      "'amount' is not an amount of its currency"
    ),
    (
      #"{\#(Self.needed),"currency":"KRW","amount":"350.5"}"#,
      "'amount' is not an amount of its currency"
    ),
    (
      #"{\#(Self.needed),"amount":"10000000000.00","currency":"EUR"}"#,
      "'amount' is not an amount of its currency"
    ),
    (#"{\#(Self.needed),"amount":"9999999999.99","currency":"EUR"}"#, "none"),
    (#"{\#(Self.needed),"amount":"3.505","currency":"KWD"}"#, "none"),
    (#"{\#(Self.needed),"amount":"3.505"}"#, "none"),
    (#"{\#(Self.needed),"currency":"points"}"#, "'currency' is not a currency"),
    (#"{"changes":{"kiwi":1.5}}"#, "'changes' has an invalid fruit or amount"),
    (#"{"changes":{"ki wi":1}}"#, "'changes' has an invalid fruit or amount"),
    (#"{"missing":[]}"#, "'missing' is an array, not an object"),
    (#"{"reason":"a\u0000"}"#, "'reason' contains U+0000, which PostgreSQL cannot store"),
    (#"{"status":"\#(String(repeating: "가", count: 22))"}"#, "'status' has more than 64 bytes"),
    (#"{"source":"\#(String(repeating: "a", count: 321))"}"#, "'source' has more than 320 bytes"),
    (#"{"id":"\#(String(repeating: "a", count: 129))"}"#, "'id' has more than 128 bytes"),
    (#"{"juice":"\#(String(repeating: "a", count: 129))"}"#, "'juice' has more than 128 bytes"),
    (#"{"reason":"\#(String(repeating: "a", count: 1025))"}"#, "'reason' has more than 1024 bytes"),
    (#"{"machine":"\#(String(repeating: "a", count: 129))"}"#, "'machine' has more than 128 bytes"),
    (#"{"currency":"\#(String(repeating: "a", count: 17))"}"#, "'currency' has more than 16 bytes"),
    (
      #"{"at":"2026-11-21T09:00:00.\#(String(repeating: "0", count: 50))Z"}"#,
      "'at' has more than 64 bytes"
    ),
    (
      #"{"changes":{\#((0...1000).map { "\"f\($0)\":1" }.joined(separator: ","))}}"#,
      "'changes' has more than 1000 fruits"
    ),
    (
      #"{\#(Self.needed),"new":"\#(String(repeating: "a", count: 16_384))"}"#,
      "its unknown members have more than 16384 bytes"
    ),
    (#"{\#(Self.needed),"new":1e-401}"#, "it contains a number that is too large or too precise"),
    (
      #"{\#(Self.needed),"new":[1.\#(String(repeating: "0", count: 400))]}"#,
      "it contains a number that is too large or too precise"
    ),
    (
      #"{\#(Self.needed),"new":1e-99999999999999999999}"#,
      "it contains a number that is too large or too precise"
    ),
    (#"{\#(Self.needed),"new":["a\u0000"]}"#, "it contains U+0000, which PostgreSQL cannot store"),
    (#"{\#(Self.needed),"new":{"\u0000":1}}"#, "it contains U+0000, which PostgreSQL cannot store"),
  ])
  func whatCannotBeStoredIsNamed(json: String, expected: String) {
    #expect(problem(json) == expected)
  }

  /// `health` reports the last entry of a ledger.
  @Test(arguments: [
    (#"{"seq":7,"epoch":3}"#, 7, nil), (#"{"uptime":3}"#, nil, nil), ("", nil, nil),
    ("{", nil, "not valid JSON at byte 1: a key in double quotes is missing"),
    (
      #"{"seq":0,"epoch":3}"#, nil,
      "'seq' is invalid or out of range"
    ),
    (
      #"{"seq":9007199254740993,"epoch":3}"#, nil,
      "'seq' is invalid or out of range"
    ),
  ])
  func theLastEntryIsRead(health: String, seq: Int?, problem: String?) {
    let message = Message(topic: "kiosk/k1/health", text: health)
    let batch = EventBatch([Delivery(message: message)], root: "kiosk")
    #expect(batch.positions[LedgerKey(kiosk: "k1", epoch: 3)] == seq)
    #expect(batch.rejections.first?.reason == problem)
  }

  @Test(arguments: [
    ("kiosk/k1/events", "k1"), ("kiosk//events", nil), ("kiosk/events", nil),
    ("kiosk/a b/events", nil), ("kiosk/a/b/events", nil), ("other/k1/events", nil),
    ("kiosk/k1/event", nil),
  ])
  func theTopicNamesTheKiosk(topic: String, kiosk: String?) {
    #expect(EventBatch.kiosk(of: topic, "events", root: "kiosk")?.text == kiosk)
  }

  @Test func aBatchIsInTheOrderOfItsKeys() {
    let deliveries = [("k2", 1), ("k1", 3), ("k1", 2), ("k 1", 1)].map { kiosk, seq in
      Delivery(
        message: Message(
          topic: "kiosk/\(kiosk)/events",
          text: #"{"seq":\#(seq),"at":"2026-11-21T09:00:00Z","status":"open"}"#))
    }
    let batch = EventBatch(deliveries, root: "kiosk")
    #expect(batch.rows.map { "\($0.key.ledger.kiosk) \($0.key.seq)" } == ["k1 2", "k1 3", "k2 1"])
    #expect(batch.rejections.map(\.reason) == ["the topic contains no kiosk id"])
  }

  @Test func whatIsTooLargeIsNotRead() {
    let message = Message(
      topic: "kiosk/k1/events", text: #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"open"}"#)
    let batch = EventBatch([Delivery(message: message, excess: .payload)], root: "kiosk")
    #expect(batch.rows.isEmpty)
    #expect(batch.rejections.map(\.reason) == ["its payload is too large"])
  }
}
