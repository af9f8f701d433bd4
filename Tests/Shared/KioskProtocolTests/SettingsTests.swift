import JuiceDomain
import KioskProtocol
import Testing

@Suite struct SettingsTests {
  private static let whole =
    #"{"id":"s1","replaces":"s0","currency":"EUR","prices":{"kiwi":"3.50","mango":"4.00"},"#
    + #""capacity":{"kiwi":80},"low":{"kiwi":9},"disabled":["mango"],"#
    + #""hours":{"mon":"07:00-22:00","fri":"18:00-02:00"}}"#

  private func read(_ payload: String) throws -> SettingsCommand {
    let request = try Request(kind: .settings, payload: Array(payload.utf8))
    guard case .settings(let command) = request.command else {
      throw Rejection(.malformed, "another command")
    }
    #expect(request.id == "s1")
    return command
  }

  @Test func aChangeIsReadAndWritten() throws {
    let command = try read(Self.whole)
    #expect(command.replaced == "s0")
    #expect(command.change.prices["kiwi"] == Money("3.50", .euro))
    #expect(command.change.capacities == ["kiwi": 80])
    #expect(command.change.lowMarks == ["kiwi": 9])
    #expect(command.change.disabled == ["mango"])
    #expect(command.change.hours?.text == "mon 07:00-22:00, fri 18:00-02:00")
    let request = Request(id: "s1", command: .settings(command))
    #expect(String(decoding: request.payload, as: UTF8.self) == Self.whole)
    #expect(try read(#"{"id":"s1","hours":null,"prices":null,"other":1}"#).change.isEmpty)
  }

  @Test(
    arguments: [
      ("{}", .malformed, "id is missing"), (#"{"id":"a b"}"#, .malformed, "id is not"),
      (#"{"id":"s1","replaces":1}"#, .malformed, "replaces"),
      (#"{"id":"s1","prices":{"kiwi":"3.50"}}"#, .malformed, "currency is missing"),
      (#"{"id":"s1","currency":"EUR","prices":{"kiwi":3}}"#, .malformed, "prices.kiwi"),
      (#"{"id":"s1","currency":"EUR","prices":{"kiwi":"-3"}}"#, .malformed, "prices.kiwi"),
      (#"{"id":"s1","currency":"EUR","prices":{"kiwi":"3.501"}}"#, .malformed, "prices.kiwi"),
      (#"{"id":"s1","currency":"KRW","prices":{"kiwi":"1000000000001"}}"#, .malformed, "kiwi"),
      (#"{"id":"s1","currency":"EUR","prices":{"<b>":"3"}}"#, .unknownJuice, "a key under prices"),
      (#"{"id":"s1","currency":"EUR","prices":[]}"#, .malformed, "prices is an array"),
      (#"{"id":"s1","low":{"kiwi":-1}}"#, .malformed, "low.kiwi"),
      (#"{"id":"s1","capacity":{"kiwi":1000000001}}"#, .malformed, "capacity.kiwi"),
      (#"{"id":"s1","capacity":{"kiwi":1.5}}"#, .malformed, "capacity.kiwi"),
      (#"{"id":"s1","low":{"é":1}}"#, .unknownFruit, "a key under low"),
      (#"{"id":"s1","disabled":"mango"}"#, .malformed, "disabled is a text"),
      (#"{"id":"s1","disabled":[1]}"#, .unknownJuice, "an element of disabled"),
      (#"{"id":"s1","hours":{}}"#, .malformed, "hours is no object with days"),
      (#"{"id":"s1","hours":{"Mon":"07:00-22:00"}}"#, .malformed, "hours has a day"),
      (#"{"id":"s1","hours":{"mon":"7-22"}}"#, .malformed, "hours has a day"),
    ] as [(String, RejectionReason, String)])
  func anInvalidOneIsRejected(payload: String, reason: RejectionReason, detail: String) throws {
    let rejection = #expect(throws: Rejection.self) { try read(payload) }
    #expect(rejection?.reason == reason)
    #expect(rejection?.detail.contains(detail) == true)
  }

  @Test func aReportIsReadAndWritten() throws {
    let command = try read(Self.whole)
    let file = MenuReport(menu: .standard, capacities: ["kiwi": 100], lowMarks: ["kiwi": 5])
    let stored = StoredSettings(
      id: "s1", by: "minji", at: Timestamp(milliseconds: 0), change: command.change)
    let report = SettingsReport(
      stored: stored, file: file, fileHours: command.change.hours, unused: ["there is no tea"])
    #expect(try SettingsReport(payload: report.payload) == report)
    #expect(try StoredSettings(payload: stored.payload) == stored)
    let own = SettingsReport(stored: nil, file: file, fileHours: nil)
    #expect(try SettingsReport(payload: own.payload) == own)
    for payload in [
      "", "{}", #"{"id":"s1"}"#, #"{"id":"s1","by":"a","at":"1970-01-01T00:00:00Z"}"#,
    ] {
      #expect(throws: JSONError.self) { try SettingsReport(payload: Array(payload.utf8)) }
    }
  }
}
