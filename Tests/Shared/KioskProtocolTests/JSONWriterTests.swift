import KioskProtocol
import Testing

@Suite struct JSONWriterTests {
  private func text(_ write: (inout JSONWriter) -> Void) -> String {
    String(decoding: JSONWriter.object(write), as: UTF8.self)
  }

  @Test func membersStandInTheOrderOfTheCalls() {
    let written = text { json in
      json.member("b", 1)
      json.member("a", "x")
      json.member("yes", true)
      json.member("no", false)
      json.member("inner") { $0.member(named: "kiwi", -3) }
      json.member("empty") { _ in }
      json.member("list", [1, 2]) { $0.member("n", $1) }
      json.member("none", [Int]()) { $0.member("n", $1) }
      json.member("texts", ["a", "\""])
      json.member("end", Int.min)
    }
    #expect(
      written == #"{"b":1,"a":"x","yes":true,"no":false,"inner":{"kiwi":-3},"empty":{},"#
        + #""list":[{"n":1},{"n":2}],"none":[],"texts":["a","\""],"end":-9223372036854775808}"#)
    #expect(text { _ in } == "{}")
  }

  @Test(arguments: [
    (#"a"b"#, #""a\"b""#), (#"a\b"#, #""a\\b""#), ("\0\u{1F}\n", #""\u0000\u001f\u000a""#),
    ("딸바쥬스 🍓", #""딸바쥬스 🍓""#), ("{", #""{""#), ("</script>", #""</script>""#),
    ("\u{7F}\u{2028}", "\"\u{7F}\u{2028}\""), ("", #""""#),
  ])
  func aTextIsEscapedWhereItMust(value: String, written: String) {
    #expect(text { $0.member("t", value) } == #"{"t":\#(written)}"#)
  }

  @Test func aKeyThatIsDataIsEscapedAndSeparated() {
    let written = text { json in
      json.member(named: "a{", 1)
      json.member(named: #"""#, 2)
      json.member(named: "[") { $0.member(named: ",", 3) }
    }
    #expect(written == #"{"a{":1,"\"":2,"[":{",":3}}"#)
  }

  @Test(arguments: [0, 2.4, 12, 1e-7, 1e300, .leastNonzeroMagnitude, 0.1 + 0.2] as [Double])
  func aNumberIsReadAsItWasWritten(value: Double) throws {
    #expect(try JSON.parse(JSONWriter.object { $0.member("n", value) })["n"] == .number(value))
  }

  @Test func everyScalarComesBackAsItWent() throws {
    let scalars = (0..<0x300).compactMap(Unicode.Scalar.init).map(Character.init)
    let value = String(scalars) + "가\u{FFFF}\u{10FFFF}"
    let json = try JSON.parse(JSONWriter.object { $0.member("t", value) })
    guard case .string(let read) = json["t"] else {
      Issue.record("no text: \(json)")
      return
    }
    #expect(Array(read.utf8) == Array(value.utf8))
  }
}
