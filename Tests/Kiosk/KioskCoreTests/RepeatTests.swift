import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

@Suite struct RepeatTests {
  private let kiosk: TestKiosk

  init() throws { kiosk = try TestKiosk() }

  private static let banana = #"{"id":"a1","juice":"banana"}"#

  @Test func aRepeatChangesNothingAndGetsTheSameAnswer() throws {
    let first = try kiosk.receive(.order(Self.banana, packetID: 1))
    #expect(try first.statuses == [.ready])
    kiosk.pass(.seconds(3600), day: 20_779)
    for packetID in UInt16(2)...4 {
      if packetID == 3 { try kiosk.restart() }
      let again = try kiosk.receive(.order(Self.banana, packetID: packetID))
      #expect(again.answers.map(\.topic) == first.answers.map(\.topic))
      #expect(
        again.answers.map(\.payload) == first.answers.map { marked($0.payload) })
      #expect(again.transaction.isEmpty)
      #expect(kiosk.reports.isEmpty)
    }
    #expect(kiosk.stock["banana"] == 8)
    #expect(kiosk.core.seq == 2)
  }

  /// Two deliveries are admitted. Those before and between them are admitted only when all are
  /// redelivered, and are recognized when all are redelivered once more.
  @Test func whatIsLetInLaterIsKnownInItsPlace() throws {
    try kiosk.receive(.order("kiwi", packetID: 3), .order("mango", packetID: 5))
    let all = ["banana", "pineapple", "kiwi", "banana", "mango"].enumerated().map { index, juice in
      Delivery.order(juice, packetID: UInt16(index + 1), redelivered: true)
    }
    try kiosk.restart()
    let decision = try kiosk.receive(all)
    #expect(decision.transaction.records.count == 3)
    #expect(decision.transaction.kept.map(\.entry) == [4, 5, nil, 6, nil])
    #expect(try kiosk.ledger.deliveries(after: 0) == all.map { Fingerprint($0) })
    try kiosk.restart()
    #expect(try kiosk.receive(all).transaction.isEmpty)
  }

  @Test func aRepeatInTheSameBatchIsOneToo() throws {
    let decision = try kiosk.receive(.order(Self.banana), .order(Self.banana), .order(Self.banana))
    #expect(try decision.statuses == [.ready, .ready, .ready])
    #expect(try decision.results.map(\.isDuplicate) == [false, true, true])
    #expect(try decision.results.map(\.ticket) == [1, 1, 1])
    #expect(kiosk.stock["banana"] == 8)
    #expect(kiosk.core.counters.duplicates == 2)
    #expect(decision.transaction.records.count == 1)
  }

  @Test func anIDBelongsToItsSender() throws {
    let decision = try kiosk.receive(
      .order(Self.banana, panel: "p1"), .order(Self.banana, panel: "p2"),
      .restock(#"{"id":"a1","add":{"banana":1}}"#))
    #expect(try decision.statuses == [.ready, .ready, .applied])
    #expect(kiosk.stock["banana"] == 7)
  }

  @Test func anIDStandsForItsFirstCommandWhateverComesLater() throws {
    try kiosk.receive(.order(Self.banana))
    let decision = try kiosk.receive(.order(#"{"id":"a1","juice":"kiwi","quantity":2}"#))
    #expect(try decision.results.map(\.juice) == ["banana"])
    #expect(kiosk.stock["kiwi"] == 10)
  }

  @Test(
    arguments: [
      (Delivery.order(#"{"id":"a1","juice":"strawberry"}"#), .outOfStock),
      (.order(#"{"id":"a1","juice":"orange"}"#), .rejected),
      (.restock(#"{"id":"a1","set":{"kiwi":3}}"#), .applied),
      (.restock(#"{"id":"a1","add":{"kiwi":-99}}"#), .rejected),
      (.service(#"{"id":"a1","service":"closed"}"#), .applied),
    ] as [(Delivery, CommandResult.Status)])
  func everyKindOfResultIsRepeated(delivery: Delivery, status: CommandResult.Status) throws {
    let first = try kiosk.receive(delivery)
    #expect(try first.statuses == [status])
    // A repeat gets its first answer, even if a new command would get another one.
    try kiosk.receive(.restock(#"{"set":{"kiwi":100,"strawberry":100}}"#), .service("open"))
    let before = kiosk.stock
    let again = try kiosk.receive(delivery)
    #expect(
      again.answers.map(\.payload) == first.answers.map { marked($0.payload) })
    #expect(kiosk.stock == before)
    #expect(kiosk.core.service == .open)
  }

  @Test func aMalformedCommandUsesUpNoID() throws {
    let wrong = try kiosk.receive(.order(#"{"id":"a1","juice":7}"#))
    #expect(try wrong.reasons == [.malformed])
    #expect(try wrong.results.map(\.id) == ["a1"])
    #expect(try kiosk.receive(.order(Self.banana)).statuses == [.ready])
  }

  // MARK: Deliveries without an id

  @Test func aNewPressWithTheSameBytesIsANewOrder() throws {
    let decision = try kiosk.receive(
      .order("banana", packetID: 7), .order("banana", packetID: 7), .order("banana"))
    #expect(try decision.results.map(\.ticket) == [1, 2, 3])
    #expect(try kiosk.receive(.order("banana", packetID: 7)).results.map(\.ticket) == [4])
    #expect(kiosk.stock["banana"] == 2)
  }

  @Test func aRedeliveryIsRecognisedByItsFingerprint() throws {
    let first = try kiosk.receive(.order("banana", packetID: 7), .order("kiwi", packetID: 8))
    try kiosk.restart()
    let again = try kiosk.receive(
      .order("banana", packetID: 7, redelivered: true),
      .order("kiwi", packetID: 8, redelivered: true))
    #expect(
      again.answers.map(\.payload) == first.answers.map { marked($0.payload) })
    #expect(again.transaction.isEmpty)
    #expect(kiosk.stock["banana"] == 8)
  }

  /// A broker uses the same packet id again after 65,535 deliveries of any kind.
  @Test func aPressWithThePacketIDOfLongAgoIsAnOrder() throws {
    try kiosk.receive(.order("banana", packetID: 7))
    for count in 0..<4 {
      kiosk.pass(.seconds(1))
      try kiosk.receive(
        (0..<256).map { .service(#"{"id":"n\#(count)-\#($0)","service":"open"}"#, packetID: 8) })
    }
    try kiosk.restart()
    let press = try kiosk.receive(.order("banana", packetID: 7, redelivered: true))
    #expect(try press.results.map(\.ticket) == [2])
  }

  @Test(
    arguments: [
      .order("banana", packetID: 8, redelivered: true),
      .order("banana", panel: "p2", packetID: 7, redelivered: true),
      .order("banana ", packetID: 7, redelivered: true),
      .order("banana", packetID: 0, redelivered: true),
    ] as [Delivery])
  func aRedeliveryThatIsNotKnownIsAnOrder(delivery: Delivery) throws {
    try kiosk.receive(.order("banana", packetID: 7))
    let decision = try kiosk.receive(delivery)
    #expect(try decision.results.map(\.isDuplicate) == [false])
    #expect(kiosk.stock["banana"] == 6)
  }

  @Test func whatWasNeverCommittedIsMadeWhenItComesAgain() throws {
    var lost = kiosk.core.copy()
    var (commandFilter, tracker) = (kiosk.commandFilter, kiosk.tracker)
    _ = lost.decide(
      commandFilter.admit(
        [.order("banana", packetID: 7)], tracker: &tracker, at: kiosk.now),
      repeats: [:], at: kiosk.now)
    try kiosk.restart()
    let decision = try kiosk.receive(.order("banana", packetID: 7, redelivered: true))
    #expect(try decision.results.map(\.ticket) == [1])
  }

  // MARK: Retained messages

  @Test(
    arguments: [
      .order("banana", packetID: 7, retain: true), .order("banana", retain: true),
      .order(#"{"id":"a1","juice":"banana"}"#, packetID: 7, retain: true),
      .restock(#"{"set":{"banana":0}}"#, packetID: 7, retain: true),
      .service("closed", packetID: 7, retain: true),
    ] as [Delivery])
  func aRetainedCommandIsNeverCarriedOut(delivery: Delivery) throws {
    let decision = try kiosk.receive(delivery)
    #expect(try decision.reasons == [.retained])
    #expect(decision.transaction.records.count == 1)
    #expect(kiosk.reports.isEmpty)
    #expect(kiosk.stock["banana"] == 10)
    #expect(kiosk.core.service == .open)
  }

  @Test(arguments: ["banana", Self.banana])
  func itsRedeliveryNeedNotSayThatItWasRetained(payload: String) throws {
    try kiosk.receive(.order(payload, packetID: 7, retain: true))
    try kiosk.restart()
    let again = try kiosk.receive(.order(payload, packetID: 7, redelivered: true))
    #expect(try again.reasons == [.retained])
    #expect(try again.results.map(\.isDuplicate) == [true])
    #expect(kiosk.stock["banana"] == 10)
  }

  @Test func theSameIDSentUnretainedCounts() throws {
    try kiosk.receive(.order(Self.banana, packetID: 7, retain: true))
    #expect(try kiosk.receive(.order(Self.banana, packetID: 8)).statuses == [.ready])
    #expect(kiosk.stock["banana"] == 8)
  }

  @Test func aRetainedCopyOfACommandThatWasCarriedOutGetsItsAnswer() throws {
    try kiosk.receive(.order(Self.banana, packetID: 7))
    let copy = try kiosk.receive(.order(Self.banana, packetID: 8, retain: true))
    #expect(try copy.statuses == [.ready])
    #expect(try copy.results.map(\.isDuplicate) == [true])
    #expect(kiosk.stock["banana"] == 8)
  }
}

/// The answer to a repeat.
private func marked(_ payload: [UInt8]) -> [UInt8] {
  payload.dropLast() + #","duplicate":true}"#.utf8
}
