import MessageBroker
import Testing

@testable import KioskCore

/// Orders go by a letter for what they carry and their packet id: `b7`, and `b7!` with DUP.
@Suite struct SettlementTests {
  // MARK: What comes again

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What the ledger keeps, unacknowledged.
    let kept: [Fingerprint]
    let came: [Delivery]
    /// For each that came, which one it repeats; itself where the ledger has to be asked.
    let originals: [Fingerprint?]

    init(_ description: String, _ kept: String, came: String, are originals: String) {
      testDescription = description
      self.kept = Fingerprint.list(kept)
      self.came = Delivery.list(came).compactMap(\.self)
      self.originals = Delivery.list(originals).map { $0.map { Fingerprint($0) } }
    }
  }

  static let rows = [
    Row("numbers that are kept", "b7 k8", came: "b7! k8! b9", are: "b7 k8 -"),
    Row("the ledger remembers more", "", came: "b7!", are: "b7"),
    Row("queued and marked all the same", "b7", came: "b8! k9!", are: "b8 k9"),
    Row("the session's first messages", "b1 b2", came: "b1! b2! b3!", are: "b1 b2 -"),
    Row("round after 65,535", "b65534 b65535", came: "b1!", are: "b1"),
    Row("numbered anew", "b7 k8", came: "b1! k2!", are: "b7 k8"),
    Row("only the last one comes again", "b7 k8", came: "k1!", are: "k8"),
    Row("an old number and its bytes", "", came: "b1!", are: "-"),
    Row("each repeats one", "b7 b8", came: "b1! b2! b3!", are: "b7 b8 -"),
    Row("in their order", "b7 k8 b9", came: "k1! b2! b3!", are: "k8 b9 -"),
    Row("not what was passed over", "b7 k8", came: "k1! b2!", are: "k8 -"),
    Row("other bytes", "b7", came: "k1! b2!", are: "- b7"),
    Row("a new press is one", "b7", came: "b1", are: "-"),
    Row("behind one of a session taken over", "b7", came: "k1 b2!", are: "- b7"),
    Row("in a later batch too", "b7 k8", came: "b1! x2 k3!", are: "b7 - k8"),
  ]

  @Test(arguments: rows)
  func whatADeliveryRepeats(row: Row) {
    var settlement = Settlement(keeping: row.kept)
    #expect(row.came.map { settlement.recognise($0).original } == row.originals)
  }

  @Test func aDeliveryWithoutAPacketIDRepeatsNone() {
    var settlement = Settlement(keeping: "b7")
    #expect(settlement.recognise(.order("b", redelivered: true)).original == nil)
    #expect(settlement.recognise(.order("b", packetID: 7, redelivered: true)).original != nil)
  }

  /// What is settled meanwhile tells nothing about what is still to come.
  @Test(
    arguments: [
      ("", "", true), ("b7", "", false), ("b7 k8", "b1!", false), ("b7 k8", "b1! k2!", true),
      ("b7 k8", "k1!", true), ("b7 k8", "b7! k8!", true), ("b7", "x1!", false), ("b7", "x1", true),
    ])
  func itIsOverWhenAllHaveComeOrANewOneHas(kept: String, came: String, isOver: Bool) {
    var settlement = Settlement(keeping: kept)
    settlement.recognise(came)
    #expect(settlement.isOver == isOver)
  }

  /// It comes with the subscription, before what comes again or after it.
  @Test func aRetainedMessageDoesNotEndWhatComesAgain() {
    var settlement = Settlement(keeping: "b7")
    #expect(settlement.recognise(.order("x", packetID: 1, retain: true)).original == nil)
    #expect(!settlement.isOver)
  }

  /// What was turned away at first, and those behind it were not.
  @Test(
    arguments: [
      ("b7 k8", "x1!", "b7 k8"), ("b7 k8", "b1! x2!", "k8"), ("b7", "b1! x2!", ""),
      ("b7", "b7! x8!", ""), ("b7", "x8!", ""), ("b7", "x1", ""), ("b7", "y1 x2!", ""),
    ])
  func whatARedeliveryThatIsNotKeptHasOvertaken(kept: String, came: String, overtaken: String) {
    var settlement = Settlement(keeping: kept)
    let last = Delivery.list(came).compactMap(\.self).map { settlement.recognise($0) }.last
    #expect(last?.overtaken == Fingerprint.list(overtaken)[...])
  }

  // MARK: What is forgotten

  @Test(arguments: [
    ("b7 k8", "b7!", nil), ("b7 k8", "b1! k2! b3", 9), ("", "x1", 9), ("", "x9", nil),
  ])
  func whereNumbersBeginAnewAcknowledgedOnesAreForgottenOnce(
    kept: String, came: String, forgettable: Int?
  ) {
    var settlement = Settlement(keeping: kept)
    settlement.recognise(came)
    #expect(settlement.forgettable == forgettable)
    settlement.hasForgotten()
    settlement.recognise("b1! x1")
    #expect(settlement.forgettable == nil)
  }

  @Test func inANewSessionAllAreForgottenWheneverTheLedgerCan() {
    var settlement = Settlement(keeping: "b7")
    settlement.sessionBegan()
    settlement.connectionLost()
    #expect(settlement.forgettable == .max)
    settlement.recognise("x1")
    #expect(settlement.forgettable == .max, "not only what is acknowledged")
    settlement.hasForgotten()
    #expect(settlement.forgettable == nil)
  }

  // MARK: What the broker has

  @Test func anEntryIsConfirmedWithItsLastMessage() {
    var settlement = Settlement(keeping: "")
    settlement.published(through: 12, serial: 4)
    settlement.published(through: 13, serial: 6)
    let states = (UInt64(3)...6).map { serial in
      settlement.confirm(through: serial)
      return [settlement.confirmed, settlement.depth]
    }
    #expect(states == [[10, 3], [12, 2], [12, 1], [13, 0]])
  }

  @Test func messagesWithoutAnEntryConfirmNone() {
    var settlement = Settlement(keeping: "")
    settlement.published(serial: 3)
    settlement.published(through: 10, serial: 5)
    #expect(settlement.depth == 5)
    settlement.confirm(through: 5)
    #expect(settlement.confirmed == 10)
    #expect(settlement.depth == 0)
  }

  @Test func severalPublicationsMayBeConfirmedAtOnce() {
    var settlement = Settlement(keeping: "")
    for seq in 11...20 { settlement.published(through: seq, serial: UInt64(seq)) }
    settlement.confirm(through: 19)
    #expect(settlement.confirmed == 19)
    settlement.confirm(through: 100)
    #expect(settlement.confirmed == 20)
    #expect(settlement.depth == 0)
  }

  @Test func whatWasOnItsWayIsNotConfirmedByALaterConnection() {
    var settlement = Settlement(keeping: "")
    settlement.published(through: 12, serial: 4)
    settlement.published(through: 13, serial: 6)
    settlement.confirm(through: 4)
    settlement.connectionLost()
    #expect(settlement.depth == 0)
    settlement.confirm(through: 6)
    #expect(settlement.confirmed == 12)
    // It is published again.
    settlement.published(through: 13, serial: 8)
    settlement.confirm(through: 8)
    #expect(settlement.confirmed == 13)
  }

  @Test func theLedgerIsToldWhatIsConfirmed() {
    var settlement = Settlement(keeping: "")
    #expect(settlement.unsaved == nil)
    settlement.published(through: 11, serial: 1)
    settlement.confirm(through: 1)
    #expect(settlement.unsaved == 11)
    settlement.hasSaved()
    #expect(settlement.unsaved == nil)
  }

  // MARK: What is acknowledged

  @Test func theAnswerToAnOrderProvesThatItIsAcknowledged() {
    var settlement = Settlement(keeping: "")
    settlement.caughtUp()
    settlement.published(through: 12, serial: 4)
    #expect(settlement.acknowledged == 9)
    settlement.confirm(through: 4)
    #expect(settlement.acknowledged == 12)
  }

  /// On the way again before the order is: it may come back still.
  @Test func anAnswerThatIsPublishedAgainProvesNothing() {
    var settlement = Settlement(keeping: "")
    settlement.caughtUp()
    settlement.published(through: 12, serial: 4)
    settlement.connectionLost()
    #expect(settlement.stage == .fresh)
    settlement.lookedBack(unacknowledged: [])
    settlement.published(through: 12, serial: 8)
    settlement.confirm(through: 8)
    #expect([settlement.confirmed, settlement.acknowledged] == [12, 9])
    settlement.caughtUp()
    settlement.published(through: 13, serial: 9)
    settlement.confirm(through: 9)
    #expect(settlement.acknowledged == 13)
  }

  @Test func anAnswerProvesNothingWhileOthersMayComeAgain() {
    var settlement = Settlement(keeping: "b7 k8")
    settlement.caughtUp()
    settlement.recognise("b7!")
    settlement.published(through: 12, serial: 4)
    settlement.recognise("k8!")
    settlement.published(through: 13, serial: 5)
    settlement.confirm(through: 4)
    #expect([settlement.confirmed, settlement.acknowledged] == [12, 9])
    settlement.confirm(through: 5)
    #expect([settlement.confirmed, settlement.acknowledged] == [13, 13])
  }

  /// Somebody has put another ledger in the place of the one that the note is about.
  @Test(arguments: [(nil, 10), (9, 9), (12, 12), (100, 20)] as [(Int?, Int)])
  func aNoteCountsAsFarAsTheLedgerGoes(noted: Int?, acknowledged: Int) {
    #expect(Settlement(SettlementTests.state, noted: noted).acknowledged == acknowledged)
  }

  // MARK: Suspicion

  @Test func whatWasOnItsWayWhenTwoConnectionsInARowEndedIsTriedAlone() {
    var settlement = Settlement(keeping: "")
    for serial in UInt64(4)...5 {
      #expect(settlement.trial == nil)
      settlement.published(through: 13, serial: serial)
      settlement.connectionLost()
    }
    #expect(settlement.trial == .asAsked)
    #expect(!settlement.isWaiting)
    settlement.published(through: 11, serial: 6)
    #expect(settlement.isWaiting)
    settlement.confirm(through: 6)
    #expect(settlement.trial == .asAsked, "the others are under suspicion still")
    settlement.published(through: 13, serial: 7)
    settlement.confirm(through: 7)
    #expect(settlement.trial == nil)
  }

  @Test func anEntryThatEndsEachConnectionIsPublishedWithLessAndLess() {
    var settlement = Settlement(keeping: "")
    let trials = (UInt64(1)...10).map { serial in
      settlement.published(through: 11, serial: serial)
      settlement.connectionLost()
      return settlement.trial
    }
    #expect(
      trials == [
        nil, .asAsked, .asAsked, .onUsualTopic, .onUsualTopic, .onUsualTopic, .onUsualTopic,
        .withoutAnswer(isFirst: true), .withoutAnswer(isFirst: false),
        .withoutAnswer(isFirst: false),
      ])
  }

  @Test func aConnectionThatTheKioskHasEndedPutsNothingUnderSuspicion() {
    var settlement = Settlement(keeping: "")
    for serial in UInt64(4)..<8 {
      settlement.published(through: 13, serial: serial)
      settlement.connectionLost(isOurs: true)
    }
    #expect(settlement.trial == nil)
  }

  fileprivate static let state = {
    var state = LedgerState()
    (state.seq, state.confirmed) = (20, 10)
    return state
  }()
}

extension Settlement {
  /// On a new connection: entries are confirmed up to 10, and deliveries acknowledged up to 9.
  fileprivate init(keeping kept: [Fingerprint]) {
    self.init(SettlementTests.state, noted: 9)
    lookedBack(unacknowledged: kept)
  }

  fileprivate init(keeping kept: String) { self.init(keeping: Fingerprint.list(kept)) }

  fileprivate mutating func recognise(_ came: String) {
    for case let delivery? in Delivery.list(came) { _ = recognise(delivery) }
  }
}

extension Fingerprint {
  fileprivate static func list(_ text: String) -> [Fingerprint] {
    Delivery.list(text).compactMap { $0.map { Fingerprint($0) } }
  }
}

extension Delivery {
  /// `-` is none.
  fileprivate static func list(_ text: String) -> [Delivery?] {
    text.split(separator: " ").map { word in
      UInt16(word.dropFirst().filter(\.isNumber)).map {
        .order(String(word.prefix(1)), packetID: $0, redelivered: word.last == "!")
      }
    }
  }
}
