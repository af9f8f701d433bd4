import JuiceDomain
import Testing

@testable import KioskProtocol

@Suite struct JSONParserTests {
  @Test func aMemberIsKeptAsItWasWritten() throws {
    let text = #" {"a" : 1.50, "\u0062":{"c":[1 , 2]} ,"d":"\/"} "#
    let members = try #require(try JSON.members(of: Array(text.utf8)))
    #expect(members.map(\.member.key) == ["a", "b", "d"])
    let texts = members.map { String(decoding: Array(text.utf8)[$0.text], as: UTF8.self) }
    #expect(texts == [#""a" : 1.50"#, #""\u0062":{"c":[1 , 2]}"#, #""d":"\/""#])
    #expect(try JSON.members(of: Array("[{}]".utf8)) == nil)
    #expect(throws: JSONError.self) { try JSON.members(of: Array("{} 1".utf8)) }
  }

  @Test(
    arguments: [
      ("null", .null), ("true", .bool(true)), ("false", .bool(false)), (" \t\r\n1 \n", .integer(1)),
      ("0", .integer(0)), ("-0", .integer(0)), ("-7", .integer(-7)),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .number(0x1p63)), ("1.5", .number(1.5)), ("1.0", .number(1)),
      ("-0.0", .number(0)), ("1e2", .number(100)), ("1E+2", .number(100)), ("25e-1", .number(2.5)),
      ("1e-999", .number(0)), (#""""#, .string("")), (#""딸바쥬스 🍓""#, .string("딸바쥬스 🍓")),
      (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{C}\n\r\t")),
      (#""a\u0041\u00e9\uac00z""#, .string("aAé가z")), (#""\uD83C\uDF53""#, .string("🍓")),
      (#""\u0000""#, .string("\0")), (#""\uDBFF\uDFFF""#, .string("\u{10FFFF}")),
      ("\"\u{7F}\"", .string("\u{7F}")), ("[]", .array([])), ("{}", .object([])),
      ("[ 1 , [ ] ]", .array([.integer(1), .array([])])),
      (
        #" { "b" : 1 , "a" : { } } "#,
        .object([.init(key: "b", value: .integer(1)), .init(key: "a", value: .object([]))])
      ),
    ] as [(String, JSON)])
  func whatIsJSONIsRead(text: String, value: JSON) throws {
    #expect(try JSON.parse(Array(text.utf8)) == value)
  }

  @Test(
    arguments: [
      ("", 0, "a value is missing"), ("  ", 2, "a value is missing"),
      ("[1,]", 3, "not a JSON value"),
      ("[1 2]", 3, "a comma or a closing bracket is missing"),
      ("[1", 2, "a comma or a closing bracket is missing"),
      ("[", 1, "a value is missing"),
      ("{", 1, "a key in double quotes is missing"),
      ("{a:1}", 1, "a key in double quotes is missing"),
      (#"{"a":1,}"#, 7, "a key in double quotes is missing"),
      (#"{"a" 1}"#, 5, "a colon is missing"),
      (#"{"a":}"#, 5, "not a JSON value"),
      (#"{"a":1"#, 6, "a comma or a closing brace is missing"),
      (#"{"a":1,"a":1}"#, 10, "a key occurs twice"),
      (#"{"a":1,"\u0061":2}"#, 15, "a key occurs twice"), ("1 2", 2, "extra text after the value"),
      ("{}x", 2, "extra text after the value"), ("01", 1, "extra text after the value"),
      ("+1", 0, "not a JSON value"), (".5", 0, "not a JSON value"),
      ("-", 1, "a digit is missing"), ("1.", 2, "a digit is missing"),
      ("1e", 2, "a digit is missing"),
      ("1e+", 3, "a digit is missing"), ("0x10", 1, "extra text after the value"),
      ("1e400", 0, "a number is too large"), ("-1e400", 0, "a number is too large"),
      ("NaN", 0, "not a JSON value"), ("Infinity", 0, "not a JSON value"),
      ("nul", 0, "not a JSON value"), ("True", 0, "not a JSON value"),
      ("'a'", 0, "not a JSON value"), ("// 1", 0, "not a JSON value"),
      ("\u{FEFF}1", 0, "not a JSON value"), (#"""#, 1, "a text is not closed"),
      (#""a\"#, 3, "a text is not closed"), (#""a\x""#, 4, "an unknown escape"),
      ("\"a\nb\"", 2, "a control character in a text"),
      ("\"\\t\u{1F}\"", 3, "a control character in a text"),
      (#""\u00g0""#, 5, "four hexadecimal digits are missing"),
      (#""\u12""#, 5, "four hexadecimal digits are missing"),
      (#""\uD83C""#, 7, "half of a surrogate pair"), (#""\uD83Cx""#, 7, "half of a surrogate pair"),
      (#""\uD83C\uD83C""#, 13, "half of a surrogate pair"),
      (#""\uDF53""#, 7, "half of a surrogate pair"),
    ] as [(String, Int, String)])
  func whatIsNotJSONIsRefusedWhereItGoesWrong(text: String, offset: Int, problem: String) {
    let error = #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
    #expect(error?.offset == offset)
    #expect(error?.problem == problem)
  }

  @Test(
    arguments: [
      [0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
    ] as [[UInt8]])
  func invalidUTF8IsRefused(bytes: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    for start in ["", #"\n"#] {
      var text = [quote]
      text += Array(start.utf8)
      text += bytes
      text.append(quote)
      let error = #expect(throws: JSONError.self) { try JSON.parse(text) }
      #expect(error?.description == "not valid JSON at byte 1: a text is not valid UTF-8")
    }
    #expect(throws: JSONError.self) { try JSON.parse(bytes) }
  }

  @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
  func nestingHasALimit(opening: String, closing: String) throws {
    func nested(_ depth: Int) -> [UInt8] {
      let text =
        String(repeating: opening, count: depth) + "1" + String(repeating: closing, count: depth)
      return Array(text.utf8)
    }
    #expect(throws: Never.self) { try JSON.parse(nested(32)) }
    let error = #expect(throws: JSONError.self) { try JSON.parse(nested(33)) }
    #expect(error?.problem == "nested too deeply")
    #expect(throws: JSONError.self) { try JSON.parse(nested(100_000)) }
  }

  @Test func atWhicheverByteATextIsCutItIsRefused() throws {
    let text = #"{"id":"a\u00e9\uD83C\uDF53\n","n":[true,null,-1.5e+3],"딸기":{"kiwi":-12}}"#
    let bytes = Array(text.utf8)
    #expect(throws: Never.self) { try JSON.parse(bytes) }
    for count in bytes.indices {
      #expect(throws: JSONError.self, "cut at \(count)") { try JSON.parse(Array(bytes[..<count])) }
    }
  }

  @Test func aMemberIsFoundByItsKey() throws {
    let json = try JSON.parse(Array(#"{"a":1,"b":null}"#.utf8))
    #expect(json["a"] == .integer(1))
    #expect(json["b"] == .null)
    #expect(json["c"] == nil)
    #expect(JSON.array([])["a"] == nil)
  }

  @Test func amountsAreTheMembersThatAreAmounts() throws {
    let json = try JSON.parse(Array(#"{"kiwi":1,"mango":"2","a b":3,"banana":-4}"#.utf8))
    #expect(json.amounts == ["banana": -4, "kiwi": 1])
    #expect(JSON.integer(1).amounts == nil)
  }

  @Test(
    arguments: [
      ("1", 1), ("1.0", 1), ("-2.50e1", -25), ("0.0", 0), ("1.5", nil), ("1e300", nil),
      ("9007199254740993.0", nil), ("9223372036854775807", .max), ("\"1\"", nil), ("true", nil),
    ] as [(String, Int?)])
  func aWholeNumberMayHaveAFraction(text: String, number: Int?) throws {
    #expect(try JSON.parse(Array(text.utf8)).wholeNumber == number)
  }

  @Test(
    arguments: [
      (.null, "null"), (.bool(true), "true or false"), (.integer(1), "a whole number"),
      (.number(1.5), "a number that is not whole or too large"), (.string(""), "a text"),
      (.array([]), "an array"), (.object([]), "an object"),
    ] as [(JSON, String)])
  func aPersonIsToldWhatAValueIs(json: JSON, kind: String) {
    #expect(json.kind == kind)
  }
}
