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

  /// Every member of a `LedgerEntry` has a column and is decoded by `PlainEvent`.
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
      #expect(PlainEvent(entry.payload) != nil)
    }
  }

  @Test func whatIsNewIsKept() throws {
    let row = try row(
      #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"levitated","cups":[1,-2.5,true,null,{"a\n\u0001":"\"\\\t비"}]}"#
    )
    #expect(row.key.ledger.epoch == 0)
    #expect(columns(row)["status"] == "levitated")
    // COPY requires a backslash before each backslash.
    #expect(
      columns(row)["more"]
        == #"{"cups":[1,-2.5,true,null,{"a\\u000a\\u0001":"\\"\\\\\\u0009비"}]}"#)
  }

  @Test(arguments: [
    ("", "not valid JSON at byte 0: a value is missing"),
    ("[]", "it is an array, not an object"),
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
    (#"{"quantity":2147483648}"#, "'quantity' is out of range"),
    (#"{"amount":3}"#, "'amount' is a whole number, not a text"),
    (#"{"amount":"NaN"}"#, "'amount' is not a valid amount"),
    (#"{"amount":""}"#, "'amount' is not a valid amount"),
    (#"{"amount":"3."}"#, "'amount' is not a valid amount"),
    (#"{"amount":".5"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"3.5.0"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"-3.50"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"３"}"#, "'amount' is not a valid amount"),
    (#"{"amount":"\#(String(repeating: "9", count: 33))"}"#, "'amount' is not a valid amount"),
    (#"{"changes":{"kiwi":1.5}}"#, "'changes' has an invalid fruit or amount"),
    (#"{"changes":{"ki wi":1}}"#, "'changes' has an invalid fruit or amount"),
    (#"{"missing":[]}"#, "'missing' is an array, not an object"),
    (#"{"reason":"a\u0000"}"#, "'reason' contains U+0000, which PostgreSQL cannot store"),
    (#"{"new":["a\u0000"]}"#, "it contains U+0000, which PostgreSQL cannot store"),
    (#"{"new":{"\u0000":1}}"#, "it contains U+0000, which PostgreSQL cannot store"),
  ])
  func whatCannotBeStoredIsNamed(json: String, expected: String) {
    #expect(problem(json) == expected)
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
