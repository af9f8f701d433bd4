import JuiceDomain
import KioskProtocol
import Testing

@Suite struct KioskInfoTests {
  private let at = Timestamp(milliseconds: 1_795_251_600_000)

  private func read(_ members: String) throws -> KioskInfo {
    let start = #"{"version":"1","protocol":1,"started_at":"2026-11-21T09:00:00Z""#
    return try KioskInfo(payload: Array("\(start),\(members)}".utf8))
  }

  @Test func itTellsVersionAndProtocol() {
    #expect(
      String(decoding: KioskInfo(version: "1.2.3", startedAt: at).payload, as: UTF8.self)
        == #"{"version":"1.2.3","protocol":1,"started_at":"2026-11-21T09:00:00Z"}"#)
  }

  @Test func itIsReadAsItIsWritten() throws {
    let name = LocalizedName(english: "City hall", korean: "시청", fallback: "City hall")
    let info = KioskInfo(
      version: "1", startedAt: at, name: name, place: "37.566, 126.978",
      region: "서울 North")
    let names =
      #""name":{"en":"City hall","ko":"시청"},"place":"37.566, 126.978","region":"서울 North"}"#
    #expect(String(decoding: info.payload, as: UTF8.self).hasSuffix(names))
    #expect(try KioskInfo(payload: info.payload) == info)
  }

  @Test func aMenuFromAboveIsTold() throws {
    let info = KioskInfo(version: "1", startedAt: at, menuVersion: 7)
    #expect(String(decoding: info.payload, as: UTF8.self).hasSuffix(#","menu_version":7}"#))
    #expect(try KioskInfo(payload: info.payload) == info)
  }

  @Test func aMenuFromAboveThatCannotBeUsedIsTold() throws {
    let info = KioskInfo(version: "1", startedAt: at, menuProblem: "damaged")
    #expect(String(decoding: info.payload, as: UTF8.self).hasSuffix(#","menu_problem":"damaged"}"#))
    #expect(try KioskInfo(payload: info.payload) == info)
    #expect(try read(#""menu_problem":"a\nb""#).menuProblem == "a b")
  }

  @Test(arguments: [
    #""name":"City hall""#, #""name":{}"#, #""name":{"en":"  "}"#, #""name":{"en":"\u202e\n"}"#,
    #""name":{"en":7}"#, #""place":7"#, #""place":"""#, #""place":"\u0000""#,
  ])
  func whatShowsNothingIsLeftOut(members: String) throws {
    let info = try read(members)
    #expect(info.name == nil)
    #expect(info.place == nil)
  }

  @Test func whatATerminalObeysIsTakenOut() throws {
    let info = try read(#""name":{"ko":"\u001b[2J시\u2028청\u202e"},"place":"a\nb\u009b""#)
    #expect(info.name?[.english] == "[2J시 청")
    #expect(info.place == "a b")
  }

  /// A `Character` may be a letter with a thousand accents.
  @Test func thereIsAnEndToIt() throws {
    let long = "a" + String(repeating: "\u{301}", count: 1_000)
    let info = try read(#""name":{"en":"\#(long)"},"place":"\#(long)""#)
    #expect(info.name?[.english].unicodeScalars.count == 64)
    #expect(info.place?.unicodeScalars.count == 200)
  }

  @Test(arguments: ["", "[]", "{}", #"{"version":"1"}"#, #"{"started_at":"2026-11-21T09:00:00Z"}"#])
  func anythingElseIsNoInfo(payload: String) {
    #expect(throws: JSONError.self) { try KioskInfo(payload: Array(payload.utf8)) }
  }
}
