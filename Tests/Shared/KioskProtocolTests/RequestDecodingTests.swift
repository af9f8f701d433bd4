import JuiceDomain
import KioskProtocol
import Testing

@Suite struct RequestDecodingTests {
  private static let sentAt = Timestamp(milliseconds: 1_795_251_600_000)

  @Test(
    arguments: [
      (.order, "banana", Request(command: .order(Order(juice: "banana")))),
      (.order, " \t\r\nbanana\n", Request(command: .order(Order(juice: "banana")))),
      (.order, "orange", Request(command: .order(Order(juice: "orange")))),
      (.order, #"{"juice":"banana"}"#, Request(command: .order(Order(juice: "banana")))),
      (
        .order,
        #" {"id":"a1","juice":"strawberry_banana","quantity":2,"sent_at":"2026-11-21T09:00:00Z"} "#,
        Request(
          id: "a1", sentAt: sentAt,
          command: .order(Order(juice: "strawberry_banana", quantity: 2)))
      ),
      (
        .order, #"{"juice":"banana","quantity":null,"id":null,"sent_at":null,"x":[{}]}"#,
        Request(command: .order(Order(juice: "banana")))
      ),
      // Some programs write whole numbers with a fraction.
      (
        .order, #"{"juice":"banana","quantity":2.0}"#,
        Request(command: .order(Order(juice: "banana", quantity: 2)))
      ),
      (
        .restock, #"{"add":{"kiwi":1e1},"set":{"mango":30.00}}"#,
        Request(command: .restock(Restock(add: ["kiwi": 10], set: ["mango": 30])))
      ),
      // The kiosk checks its own limit later.
      (
        .order, #"{"juice":"banana","quantity":-3}"#,
        Request(command: .order(Order(juice: "banana", quantity: -3)))
      ),
      (
        .restock, #"{"id":"r1","add":{"strawberry":20,"kiwi":-1}}"#,
        Request(id: "r1", command: .restock(Restock(add: ["strawberry": 20, "kiwi": -1])))
      ),
      (
        .restock, #"{"add":{"kiwi":1},"set":{"mango":30},"expect":{"mango":4}}"#,
        Request(
          command: .restock(Restock(add: ["kiwi": 1], set: ["mango": 30], expect: ["mango": 4])))
      ),
      (
        .restock, #"{"set":{"kiwi":9223372036854775807},"add":null,"add2":1}"#,
        Request(command: .restock(Restock(set: ["kiwi": .max])))
      ),
      (.service, "open", Request(command: .service(.open))),
      (.service, "closed\n", Request(command: .service(.closed))),
      (.service, #"{"id":"s1","service":"closed"}"#, Request(id: "s1", command: .service(.closed))),
    ] as [(Command.Kind, String, Request)])
  func aCommandIsRead(kind: Command.Kind, payload: String, request: Request) throws {
    #expect(try Request(kind: kind, payload: Array(payload.utf8)) == request)
  }

  struct Hostile: Sendable, CustomTestStringConvertible {
    let kind: Command.Kind
    let payload: String
    let reason: RejectionReason
    let detail: String
    var testDescription: String { "\(kind) \(payload.prefix(60))" }

    init(
      _ kind: Command.Kind, _ payload: String, _ detail: String,
      _ reason: RejectionReason = .malformed
    ) {
      (self.kind, self.payload, self.reason, self.detail) = (kind, payload, reason, detail)
    }
  }

  @Test(arguments: [
    Hostile(.order, "", "the payload is empty"),
    Hostile(.order, " \n", "the payload is empty"),
    Hostile(.service, "", "the payload is empty"),
    Hostile(.restock, "", "not valid JSON at byte 0: a value is missing"),
    Hostile(.order, "two bananas", "neither a juice id nor a JSON object"),
    Hostile(.order, #""banana""#, "neither a juice id nor a JSON object"),
    Hostile(.order, #"["banana"]"#, "neither a juice id nor a JSON object"),
    Hostile(.order, "딸바쥬스", "neither a juice id nor a JSON object"),
    Hostile(.order, "banana\0", "neither a juice id nor a JSON object"),
    Hostile(.order, "../../etc/passwd", "neither a juice id nor a JSON object"),
    Hostile(.order, "\u{FEFF}banana", "neither a juice id nor a JSON object"),
    Hostile(.service, "OPEN", "neither open nor closed"),
    Hostile(.service, "true", "neither open nor closed"),
    Hostile(.restock, "kiwi", "not valid JSON at byte 0: not a JSON value"),
    Hostile(.restock, "[]", "a JSON object is expected, this is an array"),
    Hostile(.restock, "1", "a JSON object is expected, this is a whole number"),
    Hostile(.order, "{", "not valid JSON at byte 1: a key in double quotes is missing"),
    Hostile(.order, #"{"juice":"a"}{"#, "not valid JSON at byte 13: extra text after the value"),
    Hostile(
      .order, #"{"juice":"kiwi","juice":"mango"}"#, "not valid JSON at byte 23: a key occurs twice"),
    Hostile(.order, "{}", "juice is missing: a juice's id"),
    Hostile(.order, #"{"juice":null}"#, "juice is missing: a juice's id"),
    Hostile(.order, #"{"juice":7}"#, "juice is a whole number; a text is expected: a juice's id"),
    Hostile(
      .order, #"{"juice":["kiwi"]}"#, "juice is an array; a text is expected: a juice's id"),
    Hostile(
      .order, #"{"juice":"a b"}"#, "not a juice id: use 1 to 64 of A-Z a-z 0-9 _ -",
      .unknownJuice),
    Hostile(
      .order, #"{"juice":""}"#, "not a juice id: use 1 to 64 of A-Z a-z 0-9 _ -",
      .unknownJuice),
    Hostile(
      .order, #"{"juice":"a","quantity":"2"}"#, "quantity is a text; a whole number is expected"),
    Hostile(
      .order, #"{"juice":"a","quantity":true}"#,
      "quantity is true or false; a whole number is expected"),
    Hostile(
      .order, #"{"juice":"a","quantity":1.5}"#,
      "quantity is a number that is not whole or too large; a whole number is expected"),
    Hostile(
      .order, #"{"juice":"a","quantity":9223372036854775808}"#, "quantity is out of range",
      .quantityOutOfRange),
    Hostile(
      .order, #"{"juice":"a","quantity":-1e300}"#, "quantity is out of range",
      .quantityOutOfRange),
    Hostile(
      .order, #"{"juice":"a","quantity":1e400}"#,
      "not valid JSON at byte 24: a number is too large"),
    Hostile(.restock, "{}", "nothing to do: name fruits under add or under set"),
    Hostile(
      .restock, #"{"expect":{"kiwi":1}}"#, "nothing to do: name fruits under add or under set"),
    Hostile(
      .restock, #"{"add":{},"set":{}}"#, "nothing to do: name fruits under add or under set"),
    Hostile(.restock, #"{"add":[]}"#, "add is an array; fruits and amounts are expected"),
    Hostile(.restock, #"{"add":5}"#, "add is a whole number; fruits and amounts are expected"),
    Hostile(
      .restock, #"{"set":{"kiwi":null}}"#, "set.kiwi is null; a whole number is expected"),
    Hostile(
      .restock, #"{"add":{"kiwi":0.5}}"#,
      "add.kiwi is a number that is not whole or too large; a whole number is expected"),
    Hostile(
      .restock, #"{"add":{"kiwi":9223372036854775808}}"#,
      "add.kiwi is a number that is not whole or too large; a whole number is expected"),
    Hostile(
      .restock, #"{"add":{"kiwi":1},"expect":{"kiwi":"1"}}"#,
      "expect.kiwi is a text; a whole number is expected"),
    Hostile(
      .restock, #"{"add":{"ki wi":1}}"#, "a key under add is not a fruit id", .unknownFruit),
    Hostile(
      .restock, #"{"set":{"":1}}"#, "a key under set is not a fruit id", .unknownFruit),
    Hostile(.service, "{}", "service is missing: open or closed"),
    Hostile(.service, #"{"service":"ajar"}"#, "service is neither open nor closed"),
    Hostile(
      .service, #"{"service":true}"#,
      "service is true or false; a text is expected: open or closed"),
  ])
  func aHostilePayloadIsRejectedWithItsReason(_ hostile: Hostile) {
    let rejection = #expect(throws: Rejection.self) {
      try Request(kind: hostile.kind, payload: Array(hostile.payload.utf8))
    }
    #expect(rejection?.reason == hostile.reason)
    #expect(rejection?.detail == hostile.detail)
    #expect(rejection?.id == nil)
  }

  @Test(arguments: ["", "a b", "é", "a/b", String(repeating: "x", count: 65)])
  func aBadIDIsRejected(id: String) {
    let payload = #"{"juice":"banana","id":"\#(id)"}"#
    let rejection = #expect(throws: Rejection.self) {
      try Request(kind: .order, payload: Array(payload.utf8))
    }
    #expect(rejection?.reason == .malformed)
    #expect(rejection?.detail == "id is not a text of 1 to 64 of A-Z a-z 0-9 _ -")
  }

  @Test(arguments: [#""yesterday""#, "1795251600", #""""#, #""2026-11-21""#])
  func aBadTimeIsRejected(time: String) {
    let payload = #"{"juice":"banana","sent_at":\#(time),"id":"a1"}"#
    let rejection = #expect(throws: Rejection.self) {
      try Request(kind: .order, payload: Array(payload.utf8))
    }
    #expect(rejection?.reason == .malformed)
    #expect(rejection?.detail == "sent_at is not a time like 2026-11-21T09:00:00Z")
    #expect(rejection?.id == "a1")
  }

  @Test(
    arguments: [
      (.order, #"{"quantity":1,"id":"a1"}"#, .malformed),
      (.order, #"{"juice":"a b","id":"a1"}"#, .unknownJuice),
      (.order, #"{"juice":"a","quantity":1e300,"id":"a1"}"#, .quantityOutOfRange),
      (.restock, #"{"add":{"a b":1},"id":"a1"}"#, .unknownFruit),
      (.restock, #"{"id":"a1"}"#, .malformed), (.service, #"{"service":1,"id":"a1"}"#, .malformed),
    ] as [(Command.Kind, String, RejectionReason)])
  func aRejectionTellsWhichCommandWasMeant(
    kind: Command.Kind, payload: String, reason: RejectionReason
  ) {
    let rejection = #expect(throws: Rejection.self) {
      try Request(kind: kind, payload: Array(payload.utf8))
    }
    #expect(rejection?.reason == reason)
    #expect(rejection?.id == "a1")
  }

  /// A sum within the range hides no part that is out of it.
  @Test(
    arguments: [
      (5, -4), (-4, 5), (0, 1), (1, 0), (.max, 1), (1, .max), (.max, .max), (.min, -1),
      (-1, .min), (.max, .min), (1_000_000_000_000_001, 1),
    ] as [(Int, Int)])
  func eachPartOfARemovalIsChecked(stock: Int, expired: Int) {
    let payload =
      #"{"remove":{"kiwi":\#(stock)},"remove_expired":{"kiwi":\#(expired)},"#
      + #""reason":"spoiled","id":"a1"}"#
    let rejection = #expect(throws: Rejection.self) {
      try Request(kind: .restock, payload: Array(payload.utf8))
    }
    #expect(rejection?.reason == .malformed)
    #expect(rejection?.detail == "a removal takes at least 1 of a fruit")
  }

  @Test(arguments: Command.Kind.allCases)
  func aPayloadHasALimit(kind: Command.Kind) {
    let largest = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
    let atLimit = #expect(throws: Rejection.self) { try Request(kind: kind, payload: largest) }
    #expect(atLimit?.reason == .malformed)
    let above = #expect(throws: Rejection.self) { try Request(kind: kind, payload: largest + [0]) }
    #expect(above?.reason == .tooLarge)
    #expect(above?.detail == "4097 bytes; a command has at most 4096")
  }

  @Test(arguments: [[0xFF], [0x62, 0xC3]] as [[UInt8]])
  func invalidUTF8IsMalformed(payload: [UInt8]) {
    let rejection = #expect(throws: Rejection.self) { try Request(kind: .order, payload: payload) }
    #expect(rejection?.reason == .malformed)
    #expect(rejection?.detail == "the text is not valid UTF-8")
  }

  @Test func everyPayloadOfTwoBytesIsReadOrRejected() {
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max {
        for kind in Command.Kind.allCases {
          _ = try? Request(kind: kind, payload: [first, second])
        }
      }
    }
  }
}
