import JuiceDomain
import Testing

@testable import KioskProtocol

/// Text from the network that a person reads.
@Suite struct DisplayTextTests {
  @Test(arguments: [
    ("", "", ""), ("kiwi", "kiwi", "kiwi"), ("딸기 🍓️", "딸기 🍓️", "딸기 🍓️"),
    ("paper \u{202E}maj", "paper maj", "paper maj"), ("a\u{200B}\u{FEFF}b\u{AD}", "ab", "ab"),
    ("\u{1B}[2Ja\u{9B}b\u{7F}\u{0}", "[2Jab", "[2Jab"),
    ("a\nb\tc\u{2028}d\u{85}e", "a b c d e", "a\nb c d e"), ("\u{E0041}", "", ""),
  ])
  func invisibleCharactersAreLeftOut(text: String, line: String, lines: String) {
    #expect(text.visible() == line)
    #expect(text.visibleLines == lines)
    #expect(text.visible(upTo: 2).unicodeScalars.elementsEqual(line.unicodeScalars.prefix(2)))
  }

  /// The fast path, for each character of Unicode between two letters.
  @Test func noInvisibleCharacterIsMissed() {
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let shown = "a\(scalar)b".visible()
      if scalar.isInvisible ? shown != "ab" && shown != "a b" : shown != "a\(scalar)b" {
        Issue.record("U+\(String(value, radix: 16))")
      }
    }
  }

  /// Each decoder of text that a page, a terminal or a message shows.
  @Test func decodedTextIsVisible() throws {
    let odd = #"a\u202e\u0007b"#
    func bytes(_ json: String) -> [UInt8] { Array(json.replacing("ODD", with: odd).utf8) }
    #expect(MachineStatus("fault: a\u{202E}b\u{9}c") == .fault("ab c"))
    let report = try MachineReport(payload: bytes(#"{"state":"fault","reason":"ODD","queue":0}"#))
    #expect(report.reason == "ab")
    let menu = try MenuReport(
      payload: bytes(
        #"{"fruits":[{"id":"kiwi","name":{"en":"ODD","ko":"\u202e"}}],"juices":[{"id":"kiwi","name":{"ko":"ODD"},"recipe":{"kiwi":1}}]}"#
      )
    ).menu
    #expect(menu.fruits.map { $0.name[.korean] } == ["ab"])
    #expect(menu.juices.map { $0.name[.english] } == ["ab"])
    let result = try CommandResult(
      payload: bytes(#"{"status":"failed","reason":"ODD","detail":"ODD","message":"ODD"}"#))
    #expect([result.failure, result.detail, result.message] == ["ab", "ab", "ab"])
    let refused = bytes(#"{"status":"refused","detail":"ODD"}"#)
    #expect(try DesiredMenuReport(payload: refused) == .refused(version: nil, detail: "ab"))
    let info = try KioskInfo(
      payload: bytes(
        #"{"version":"ODD","started_at":"2026-11-21T09:00:00Z","name":{"en":"ODD"},"place":"ODD"}"#)
    )
    #expect([info.version, info.name?[.english], info.place] == ["ab", "ab", "ab"])
  }
}
