import JuiceDomain
import KioskProtocol
import Testing

@Suite struct SourceTests {
  // The last one, a name that starts with a combining character, was found by fuzzing.
  @Test(arguments: ["order/panel1", "restock/a b", "service/", "order/a/b", "order/\u{34E}x"])
  func aSourceIsReadAsItIsWritten(text: String) {
    #expect(Source(text)?.description == text)
  }

  @Test(arguments: ["", "order", "panel/p", "/p", "Order/p"])
  func anythingElseIsNoSource(text: String) {
    #expect(Source(text) == nil)
  }

  @Test(arguments: ["p", "주문 1", "🍓", String(repeating: "가", count: 64), "a.b:c", "é"])
  func aNameInAnyScriptIsFine(name: String) {
    #expect(Source(kind: .order, name: name).flaw == nil)
  }

  @Test(
    arguments: [
      (.order, "", "the last level of the topic is empty: name the panel there"),
      (.restock, "", "the last level of the topic is empty: name the source there"),
      (
        .order, String(repeating: "x", count: 65),
        "the name of the panel has more than 64 characters"
      ),
      (
        .order, "e" + String(repeating: "\u{301}", count: 64),
        "the name of the panel has more than 64 characters"
      ),
      (.service, "a\nb", "there is a control character in the name of the source"),
      (.order, "a\u{7F}", "there is a control character in the name of the panel"),
      (.order, "\0", "there is a control character in the name of the panel"),
      (.order, "a\u{85}", "there is a control character in the name of the panel"),
      (.order, "a/b", "the name of the panel must be one topic level: without /, + and #"),
      (.restock, "+", "the name of the source must be one topic level: without /, + and #"),
      (.service, "a#", "the name of the source must be one topic level: without /, + and #"),
    ] as [(Command.Kind, String, String)])
  func aFlawIsTold(kind: Command.Kind, name: String, flaw: String) {
    #expect(Source(kind: kind, name: name).flaw == flaw)
  }

  /// Topics are compared byte by byte (MQTT 4.7.3), so these are different panels.
  @Test func namesThatOnlyLookTheSameAreTwo() {
    let composed = Source(kind: .order, name: "\u{E9}")
    let decomposed = Source(kind: .order, name: "e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(composed == Source(kind: .order, name: "\u{E9}"))
    #expect(composed != Source(kind: .restock, name: "\u{E9}"))
  }

  @Test func aControlCharacterIsWhatUnicodeCallsOne() {
    for value in UInt32.zero...0x10FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      if scalar.isControl != (scalar.properties.generalCategory == .control) {
        Issue.record("U+\(String(value, radix: 16))")
      }
    }
  }
}
