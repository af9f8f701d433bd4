import Foundation
import Testing

@testable import Delivery

@Suite struct MailTests {
  private func lines(subject: String, text: String = "", id: String = "a1") -> [String] {
    let mail = Mail(
      from: "kiosk@juice.example", to: "owner@juice.example", subject: subject, text: text, id: id,
      date: Date(timeIntervalSince1970: 1_795_251_600))
    return String(decoding: mail.bytes, as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false).map { String($0) }
  }

  @Test func itSaysWhoAndWhen() {
    let lines = lines(subject: "k1: offline", text: "offline\nfor 5 min", id: "x-1")
    #expect(lines[0] == "From: Juice Kiosk <kiosk@juice.example>")
    #expect(lines[1] == "To: owner@juice.example")
    #expect(lines.contains("Date: Sat, 21 Nov 2026 09:00:00 +0000"))
    #expect(lines.contains("Message-ID: <x-1@juice.example>"))
    let body = lines.drop { !$0.isEmpty }.joined()
    #expect(Data(base64Encoded: body) == Data("offline\r\nfor 5 min".utf8))
  }

  @Test(arguments: [
    "kiosk", "강남역 3번 출구: 딸기 품절, 바나나 품절, 파인애플 품절, 키위 품절, 망고 품절",
    "Bcc: all@example.com", "=?utf-8?B?aGE=?=", String(repeating: "e\u{301}\u{302}", count: 60),
    String(repeating: "👨‍👩‍👧‍👦", count: 20), "",
  ])
  func aSubjectIsReadAsItWasWritten(subject: String) throws {
    let encoded = Mail.encoded(subject).components(separatedBy: "\r\n ")
    let longest = 76 - "Subject: ".count
    #expect(encoded.allSatisfy { $0.utf8.count <= longest && $0.utf8.allSatisfy { $0 < 0x7F } })
    let decoded = try encoded.map { word in
      #expect(word.hasPrefix("=?utf-8?B?") && word.hasSuffix("?="))
      let bytes = try #require(Data(base64Encoded: String(word.dropFirst(10).dropLast(2))))
      // No character is split between two encoded words (RFC 2047 5).
      return try #require(String(data: bytes, encoding: .utf8))
    }
    #expect(decoded.joined() == subject)
  }

  @Test(arguments: [
    "k1\r\nBcc: all@example.com", "k1\nBcc: all@example.com", "k1\rBcc: all@example.com",
    "k1\u{0}\r\n\r\nBody", "k1\u{85}Bcc: all@example.com",
  ])
  func nothingThatIsSaidBecomesAHeader(hostile: String) {
    let mail = lines(subject: hostile, text: "\(hostile)\r\n.\r\nMAIL FROM:<x@example.com>")
    #expect(mail.count { $0.hasPrefix("Bcc") } == 0)
    #expect(mail.count { $0.isEmpty } == 2)
    let names = mail.prefix { !$0.isEmpty }.filter { !$0.hasPrefix(" ") }
      .map { $0.prefix { $0 != ":" } }
    #expect(
      names == [
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version",
        "Content-Type", "Content-Transfer-Encoding",
      ])
    #expect(!Mail.encoded(hostile).replacing("\r\n ", with: "").contains { $0.isNewline })
  }

  @Test(
    arguments: [
      ("kiosk1.example.com", nil, "kiosk1.example.com"),
      ("kiosk1", "kiosk1.lan.example", "kiosk1.lan.example"),
      ("kiosk1", "kiosk1", "example.com"), ("kiosk1", nil, "example.com"), ("", nil, "example.com"),
      ("bad name.x", nil, "example.com"), ("a..b", nil, "example.com"),
      ("a.b/c", nil, "example.com"),
    ] as [(String, String?, String)])
  func theNameForAMailServerIsQualified(host: String, canonical: String?, name: String) {
    #expect(HostName.choose(host: host, canonical: canonical, sender: "k@example.com") == name)
    #expect(HostName.choose(host: "k", canonical: nil, sender: "k@localhost") == "[127.0.0.1]")
  }
}
