import JuiceDomain
import KioskProtocol
import Testing

@testable import Archive

/// The two decoders of events produce identical rows.
@Suite struct PlainEventTests {
  /// `EventTree` decodes everything that `PlainEvent` decodes, and produces the same row.
  @Test(arguments: 0..<20)
  func bothReadTheSame(seed: Int) throws {
    var events = MadeUpEvents(seed: UInt64(seed))
    var read = 0
    for _ in 0..<1000 {
      let payload = events.next()
      guard let plain = PlainEvent(payload) else { continue }
      read += 1
      let shown = String(decoding: payload, as: UTF8.self)
      let tree = try #require(try? EventTree(payload), "\(shown)")
      #expect(
        plain.line(of: "k1") == tree.line(of: "k1") && plain.epoch == tree.epoch
          && plain.seq == tree.seq && plain.at == tree.at, "\(shown)")
    }
    // Enough of the events were decoded by `PlainEvent`.
    #expect(read > 30)
  }

  /// Numbers, fruits and times at the limits of the accepted range, and beyond them.
  @Test(arguments: [
    (#""seq":9007199254740992"#, true), (#""seq":9007199254740993"#, false),
    (#""seq":999999999999999999"#, false), (#""seq":9223372036854775808"#, false),
    (#""seq":99999999999999999999999"#, false), (#""seq":07"#, false), (#""seq":-1"#, false),
    (#""seq":"#, false), (#""seq":1e3"#, false), (#""seq":7 "#, false),
    (#""seq":7,"seq":7"#, false), (#""seq":7,"kiosk":"k2""#, false), (#""seq":7,"more":{}"#, false),
    (#""seq":7,"ticket":0"#, true), (#""seq":7,"ticket":2147483648"#, false),
    (#""seq":7,"changes":{}"#, true), (#""seq":7,"changes":{"kiwi":-1000000000}"#, true),
    (#""seq":7,"changes":{"kiwi":-1000000001}"#, false), (#""seq":7,"changes":{"kiwi":-0}"#, false),
    (#""seq":7,"changes":{"a":1,"b":2,"c":3}"#, true), (#""seq":7,"changes":{"a":1,"a":2}"#, false),
    (#""seq":7,"changes":{"b":1,"a":2}"#, false), (#""seq":7,"changes":{"":1}"#, false),
    (#""seq":7,"changes":{"kiwi":1,}"#, false), (#""seq":7,"reason":"""#, true),
    (#""seq":7,"reason":"\t""#, false), (#""seq":7,"reason":"비""#, false),
    (#""seq":7,"reason":"\#u{7F}""#, true), (#""seq":7,"\#0\#0id":"a""#, false),
    (#""seq":7,"amount":"3.50""#, true), (#""seq":7,"amount":".5""#, false),
  ])
  func whatIsPlain(members: String, isPlain: Bool) {
    let event = #"{"at":"2026-11-21T09:00:00Z","status":"open",\#(members)}"#
    #expect((PlainEvent(Array(event.utf8)) != nil) == isPlain)
  }

  @Test(arguments: [
    ("2026-11-21T09:00:00Z", true), ("2026-11-21T23:59:59.001Z", true),
    ("2024-02-29T00:00:00Z", true), ("0001-01-01T00:00:00Z", true),
    ("9999-12-31T23:59:59.999Z", true), ("2026-02-29T00:00:00Z", false),
    ("0000-12-31T00:00:00Z", false), ("2026-00-01T00:00:00Z", false),
    ("2026-13-01T00:00:00Z", false), ("2026-01-00T00:00:00Z", false),
    ("2026-11-21T24:00:00Z", false), ("2026-11-21T09:60:00Z", false),
    ("2026-11-21T09:00:60Z", false), ("2026-11-21T09:00:00.000Z", false),
    ("2026-11-21T09:00:00.5Z", false), ("2026-11-21T09:00:00.5000Z", false),
    ("2026-11-21t09:00:00Z", false), ("2026-11-21T09:00:00+01:00", false), ("", false),
  ])
  func whichTimeIsPlain(time: String, isPlain: Bool) {
    let event = #"{"seq":1,"at":"\#(time)","status":"open"}"#
    #expect((PlainEvent(Array(event.utf8)) != nil) == isPlain)
  }
}

/// A generator of events: some as kiosks write them, some unusual, some broken.
private struct MadeUpEvents {
  private var random: SplitMix

  init(seed: UInt64) { random = SplitMix(state: seed) }

  private static let keys = EventColumn.all.map(\.name) + ["kiosk", "more", "cups", "", "Seq"]
  private static let numbers = [
    "0", "1", "7", "-1", "-0", "01", "1.0", "1e3", "2147483647", "2147483648", "9007199254740992",
    "9007199254740993", "999999999999999999", "9223372036854775807", "9223372036854775808",
  ]
  private static let times = [
    "2026-11-21T09:00:00Z", "2026-11-21T09:00:00.250Z", "2026-02-29T00:00:00Z",
    "2024-02-29T00:00:00Z",
    "0000-06-01T00:00:00Z", "2026-11-21T09:00:00.000Z", "2026-11-21T23:59:60Z",
    "2026-11-21 09:00:00+01:00",
  ]
  private static let texts = [
    "", "kiwi", "order/p1", #"a\nb"#, #"\u0000"#, #"\u0061"#, "비", "a b", "~",
  ]
  private static let decimals = [
    "3.50", "0", "3.", ".5", "1.2.3", "-1", String(repeating: "9", count: 33),
  ]
  private static let amounts = [
    "{}", #"{"kiwi":-3}"#, #"{"banana":30,"kiwi":40}"#, #"{"kiwi":40,"banana":30}"#,
    #"{"kiwi":1,"kiwi":1}"#,
    #"{"kiwi":1000000001}"#, #"{"ki wi":1}"#, #"{"kiwi":-0}"#, #"{"kiwi": 1}"#, #"{"k\u0069wi":1}"#,
    "[]",
  ]
  private static let others = [
    "null", "true", "[1,{}]", #"{"a":{"b":[]}}"#, #"["a\u0000"]"#, "1.5e300", "1e999", #""비\n""#,
    String(repeating: "[", count: 32) + String(repeating: "]", count: 32),
  ]

  mutating func next() -> [UInt8] {
    var keys: Set<String> = []
    var members: [String] = []
    for (key, value) in [
      ("seq", "7"), ("at", #""2026-11-21T09:00:00Z""#), ("status", #""ready""#),
    ] where !isRare() {
      keys.insert(key)
      members.append(
        Int.random(in: 0..<4, using: &random) > 0 ? "\"\(key)\":\(value)" : member(key))
    }
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      let key = pick(Self.keys)
      guard keys.insert(key).inserted || isRare() else { continue }
      members.append(member(key))
    }
    members.shuffle(using: &random)
    var payload = Array("{\(members.joined(separator: ","))}".utf8)
    for _ in 0..<max(0, Int.random(in: -2...2, using: &random)) { damage(&payload) }
    return payload
  }

  private mutating func member(_ key: String) -> String {
    let kind = EventColumn.all.first { $0.name == key }?.kind
    // Mostly a value that the column accepts, or a similar one.
    let value =
      switch isRare() ? nil : kind {
      case .whole: pick(Self.numbers)
      case .text: "\"\(pick(Self.texts))\""
      case .time: "\"\(pick(Self.times))\""
      case .decimal: "\"\(pick(Self.decimals))\""
      case .amounts: pick(Self.amounts)
      case nil: pick(Self.numbers + Self.amounts + Self.others)
      }
    return "\"\(key)\":\(value)"
  }

  /// Removes, inserts, appends or changes one byte.
  private mutating func damage(_ payload: inout [UInt8]) {
    let bytes = Array("{}[]\",:\\ \n-+.0159aeuZ\0\u{7F}é".utf8) + [0xFF, 0xC0]
    let place = Int.random(in: payload.indices, using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: payload.remove(at: place)
    case 1: payload.insert(pick(bytes), at: place)
    case 2: payload.append(pick(bytes))
    default: payload[place] = pick(bytes)
    }
  }

  private mutating func isRare() -> Bool { Int.random(in: 0..<16, using: &random) == 0 }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &random)]
  }
}
