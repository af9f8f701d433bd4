import Foundation
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing
import TimeZones

@testable import KioskCore

/// Opening hours, and changes of the settings as far as the core admits them.
@Suite struct HoursTests {
  /// A kiosk whose clock shows `time` when it starts.
  private func kiosk(
    _ zone: String, at time: String, _ hours: [OpeningHours.Day: String]
  ) throws -> TestKiosk {
    var settings = KioskSettings.test()
    settings.wallClock = try #require(WallClock(zone))
    settings.hours = OpeningHours(try hours.mapValues { try #require(OpeningHours.Interval($0)) })
    let kiosk = try TestKiosk(settings: settings, stock: settings.stock.capacities)
    set(kiosk, to: time)
    return kiosk
  }

  private func set(_ kiosk: TestKiosk, to time: String) {
    guard let time = Timestamp(time) else {
      Issue.record("\(time) is no time")
      return
    }
    kiosk.setClock(ahead: time.since(kiosk.now.timestamp).components.seconds)
  }

  /// Orders a glass, and returns whether the kiosk makes it.
  private func isOpen(_ kiosk: TestKiosk) throws -> Bool {
    let decision = try kiosk.receive(.order("kiwi"))
    if try decision.statuses == [.ready] { return true }
    #expect(try decision.reasons == [.closed])
    #expect(kiosk.core.service == .closed)
    return false
  }

  private static let week = Dictionary(
    uniqueKeysWithValues: OpeningHours.Day.allCases.map { ($0, "02:30-10:00") })

  @Test func itOpensAndClosesByItself() throws {
    // Tuesday in Seoul, nine hours ahead of UTC.
    let kiosk = try kiosk(
      "Asia/Seoul", at: "2026-11-23T21:59:59Z", [.tue: "07:00-22:00", .fri: "18:00-02:00"])
    #expect(try !isOpen(kiosk))
    #expect(try !isOpen(kiosk))
    set(kiosk, to: "2026-11-23T22:00:00Z")
    #expect(kiosk.isDue)
    #expect(try isOpen(kiosk))
    #expect(kiosk.reports.first == "service open")
    #expect(!kiosk.isDue)
    set(kiosk, to: "2026-11-24T12:59:59Z")
    #expect(try isOpen(kiosk))
    set(kiosk, to: "2026-11-24T13:00:00Z")
    // Without an order, too.
    #expect(kiosk.isDue)
    try kiosk.receive([])
    #expect(kiosk.reports == ["service closed"])
    // Friday night ends on Saturday.
    set(kiosk, to: "2026-11-27T16:59:59Z")
    #expect(try isOpen(kiosk))
    set(kiosk, to: "2026-11-27T17:00:00Z")
    #expect(try !isOpen(kiosk))
  }

  /// Berlin, 2026-03-29: after 01:59:59 comes 03:00:00.
  @Test func anHourThatIsSkippedDoesNotDelayTheOpening() throws {
    let kiosk = try kiosk("Europe/Berlin", at: "2026-03-29T00:59:59Z", Self.week)
    #expect(try !isOpen(kiosk))
    set(kiosk, to: "2026-03-29T01:00:00Z")
    #expect(try isOpen(kiosk))
    set(kiosk, to: "2026-03-29T07:59:59Z")
    #expect(try isOpen(kiosk))
    set(kiosk, to: "2026-03-29T08:00:00Z")
    #expect(try !isOpen(kiosk))
  }

  /// Berlin, 2026-10-25: after 02:59:59 comes 02:00:00 again.
  @Test func anHourThatIsRepeatedOpensOnce() throws {
    let kiosk = try kiosk("Europe/Berlin", at: "2026-10-25T00:29:59Z", Self.week)
    #expect(try !isOpen(kiosk))
    for (time, isOpen) in [
      ("00:30:00", true), ("00:59:59", true), ("01:00:00", true), ("01:30:00", true),
      ("08:59:59", true), ("09:00:00", false),
    ] {
      set(kiosk, to: "2026-10-25T\(time)Z")
      #expect(try self.isOpen(kiosk) == isOpen, "\(time)")
    }
  }

  /// The number of openings and closings within two days. Clocks are set back by an hour in Berlin, by
  /// half an hour on Lord Howe Island, from midnight to 23:00 in Santiago, from 1:00 to 0:00 in Havana.
  @Test(arguments: [
    ("Europe/Berlin", "2026-10-24T16:00:00Z", OpeningHours.Day.sat, "18:00-02:30"),
    ("Europe/Berlin", "2026-10-24T20:00:00Z", .sun, "02:15-02:45"),
    ("Europe/Berlin", "2026-10-24T16:00:00Z", .sat, "18:00-02:00"),
    ("Europe/Berlin", "2026-10-24T16:00:00Z", .sat, "18:00-03:00"),
    ("Europe/Berlin", "2026-03-28T16:00:00Z", .sat, "18:00-02:30"),
    ("Australia/Lord_Howe", "2026-04-04T07:00:00Z", .sat, "18:00-01:45"),
    ("America/Santiago", "2026-04-04T20:00:00Z", .sat, "18:00-23:30"),
    ("America/Santiago", "2026-04-04T20:00:00Z", .sat, "18:00-24:00"),
    ("America/Havana", "2026-10-31T20:00:00Z", .sat, "18:00-00:30"),
    ("America/New_York", "2026-10-31T20:00:00Z", .sat, "18:00-01:30"),
  ])
  func hoursBeginAndEndOnce(
    zone: String, start: String, day: OpeningHours.Day, text: String
  ) throws {
    let clock = try #require(WallClock(zone))
    let interval = try #require(OpeningHours.Interval(text))
    let hours = try #require(OpeningHours([day: interval]))
    let first = try #require(Timestamp(start)).milliseconds
    let states = (Int64(-240)..<2_640).map { minute in
      let reached = clock.reachedMinute(at: Timestamp(milliseconds: first + minute * 60_000))
      return hours.isOpen(day: reached.day, minute: reached.minute)
    }
    let changes = zip(states, states.dropFirst()).filter { $0 != $1 }
    #expect(!states[0] && changes.count == 2)
  }

  @Test func aClockThatIsSetBackClosesItAgain() throws {
    let kiosk = try kiosk("UTC", at: "2026-11-24T07:00:00Z", [.tue: "07:00-22:00"])
    #expect(try isOpen(kiosk))
    set(kiosk, to: "2026-11-24T06:00:00Z")
    #expect(try !isOpen(kiosk))
    set(kiosk, to: "2026-11-24T07:00:00Z")
    #expect(try isOpen(kiosk))
  }

  @Test func whoHasClosedItIsNotOverruledByTheHours() throws {
    let kiosk = try kiosk("UTC", at: "2026-11-24T06:00:00Z", [.tue: "07:00-22:00"])
    try kiosk.receive(.service("closed"))
    set(kiosk, to: "2026-11-24T08:00:00Z")
    #expect(try !isOpen(kiosk))
    try kiosk.receive(.service("open"))
    #expect(try isOpen(kiosk))
    // The ledger has what a person has said, and not the hours.
    set(kiosk, to: "2026-11-24T23:00:00Z")
    #expect(try !isOpen(kiosk))
    #expect(try kiosk.ledger.state().service == .open)
    set(kiosk, to: "2026-11-25T08:00:00Z")
    try kiosk.reload(.test())
    kiosk.pass(.seconds(1))
    #expect(try isOpen(kiosk))
  }

  private func change(_ payload: String, retain: Bool = false) -> Delivery {
    .message(payload, on: "settings/minji", retain: retain)
  }

  @Test func aChangeIsAdmittedAndIsNoEntry() throws {
    let kiosk = try TestKiosk()
    let decision = try kiosk.receive(change(#"{"id":"s1","low":{"kiwi":9}}"#))
    #expect(decision.settings.map(\.source.description) == ["settings/minji"])
    #expect(decision.answers.isEmpty && decision.transaction.records.isEmpty)
  }

  @Test(
    arguments: [
      (#"{"id":"s1"}"#, true, .retained),
      (#"{"id":"s1","sent_at":"2026-11-21T08:59:00Z"}"#, false, .stale),
      ("{", false, .malformed),
      (#"{"id":"s1","low":{"kiwi":-1}}"#, false, .malformed),
      (#"{"id":"s1","x":"\#(String(repeating: "x", count: 4_096))"}"#, false, .tooLarge),
    ] as [(String, Bool, RejectionReason)])
  func anotherOneIsRejectedAtOnce(payload: String, retain: Bool, reason: RejectionReason) throws {
    let kiosk = try TestKiosk()
    let decision = try kiosk.receive(change(payload, retain: retain))
    #expect(decision.settings.isEmpty)
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/settings/minji/result"])
    #expect(try decision.reasons == [reason])
    #expect(kiosk.core.counters.rejected == 1)
  }
}
