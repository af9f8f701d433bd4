import MessageBroker
import Testing

@testable import KioskCore

/// An order is written as a letter for its content and its packet id: `b7`, or `b7!` with DUP.
@Suite struct DeliveryTrackerTests {
  // MARK: Redeliveries

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The deliveries that the ledger has recorded and that are not acknowledged.
    let kept: [Fingerprint]
    let came: [Delivery]
    /// For each arrival, the delivery that it repeats; itself if the ledger has to decide.
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
    Row("only the last one redelivered", "b7 k8", came: "k1!", are: "k8"),
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
    var tracker = DeliveryTracker(keeping: row.kept)
    #expect(row.came.map { tracker.match($0).original } == row.originals)
  }

  @Test func aDeliveryWithoutAPacketIDRepeatsNone() {
    var tracker = DeliveryTracker(keeping: "b7")
    #expect(tracker.match(.order("b", redelivered: true)).original == nil)
    #expect(tracker.match(.order("b", packetID: 7, redelivered: true)).original != nil)
  }

  /// Acknowledging early redeliveries says nothing about the ones that have not arrived.
  @Test(
    arguments: [
      ("", "", true), ("b7", "", false), ("b7 k8", "b1!", false), ("b7 k8", "b1! k2!", true),
      ("b7 k8", "k1!", true), ("b7 k8", "b7! k8!", true), ("b7", "x1!", false), ("b7", "x1", true),
    ])
  func itIsOverWhenAllHaveComeOrANewOneHas(kept: String, came: String, isOver: Bool) {
    var tracker = DeliveryTracker(keeping: kept)
    tracker.match(came)
    #expect(tracker.allRedeliveriesReceived == isOver)
  }

  /// A retained message follows the subscription, before the redeliveries or after them.
  @Test func aRetainedMessageDoesNotEndWhatComesAgain() {
    var tracker = DeliveryTracker(keeping: "b7")
    #expect(tracker.match(.order("x", packetID: 1, retain: true)).original == nil)
    #expect(!tracker.allRedeliveriesReceived)
  }

  /// The delivery was rejected when it first arrived, and later ones were not.
  @Test(
    arguments: [
      ("b7 k8", "x1!", "b7 k8"), ("b7 k8", "b1! x2!", "k8"), ("b7", "b1! x2!", ""),
      ("b7", "b7! x8!", ""), ("b7", "x8!", ""), ("b7", "x1", ""), ("b7", "y1 x2!", ""),
    ])
  func whatARedeliveryThatIsNotKeptHasOvertaken(kept: String, came: String, skipped: String) {
    var tracker = DeliveryTracker(keeping: kept)
    let last = Delivery.list(came).compactMap(\.self).map { tracker.match($0) }.last
    #expect(last?.skipped == Fingerprint.list(skipped)[...])
  }

  // MARK: Deletion

  @Test(arguments: [
    ("b7 k8", "b7!", nil), ("b7 k8", "b1! k2! b3", 9), ("", "x1", 9), ("", "x9", nil),
  ])
  func whereNumbersBeginAnewAcknowledgedOnesAreForgottenOnce(
    kept: String, came: String, deletableThrough: Int?
  ) {
    var tracker = DeliveryTracker(keeping: kept)
    tracker.match(came)
    #expect(tracker.deletableThrough == deletableThrough)
    tracker.deliveriesDeleted()
    tracker.match("b1! x1")
    #expect(tracker.deletableThrough == nil)
  }

  @Test func inANewSessionAllAreForgottenWheneverTheLedgerCan() {
    var tracker = DeliveryTracker(keeping: "b7")
    tracker.sessionBegan()
    tracker.connectionLost()
    #expect(tracker.deletableThrough == .max)
    tracker.match("x1")
    #expect(tracker.deletableThrough == .max, "not only what is acknowledged")
    tracker.deliveriesDeleted()
    #expect(tracker.deletableThrough == nil)
  }

  // MARK: Confirmation

  @Test func anEntryIsConfirmedWithItsLastMessage() {
    var tracker = DeliveryTracker(keeping: "")
    tracker.published(through: 12, serial: 4)
    tracker.published(through: 13, serial: 6)
    let states = (UInt64(3)...6).map { serial in
      tracker.confirm(through: serial)
      return [tracker.confirmed, tracker.depth]
    }
    #expect(states == [[10, 3], [12, 2], [12, 1], [13, 0]])
  }

  @Test func messagesWithoutAnEntryConfirmNone() {
    var tracker = DeliveryTracker(keeping: "")
    tracker.published(serial: 3)
    tracker.published(through: 10, serial: 5)
    #expect(tracker.depth == 5)
    tracker.confirm(through: 5)
    #expect(tracker.confirmed == 10)
    #expect(tracker.depth == 0)
  }

  @Test func severalPublicationsMayBeConfirmedAtOnce() {
    var tracker = DeliveryTracker(keeping: "")
    for seq in 11...20 { tracker.published(through: seq, serial: UInt64(seq)) }
    tracker.confirm(through: 19)
    #expect(tracker.confirmed == 19)
    tracker.confirm(through: 100)
    #expect(tracker.confirmed == 20)
    #expect(tracker.depth == 0)
  }

  @Test func whatWasOnItsWayIsNotConfirmedByALaterConnection() {
    var tracker = DeliveryTracker(keeping: "")
    tracker.published(through: 12, serial: 4)
    tracker.published(through: 13, serial: 6)
    tracker.confirm(through: 4)
    tracker.connectionLost()
    #expect(tracker.depth == 0)
    tracker.confirm(through: 6)
    #expect(tracker.confirmed == 12)
    // The entry is published again.
    tracker.published(through: 13, serial: 8)
    tracker.confirm(through: 8)
    #expect(tracker.confirmed == 13)
  }

  @Test func theLedgerIsToldWhatIsConfirmed() {
    var tracker = DeliveryTracker(keeping: "")
    #expect(tracker.unsaved == nil)
    tracker.published(through: 11, serial: 1)
    tracker.confirm(through: 1)
    #expect(tracker.unsaved == 11)
    tracker.hasSaved()
    #expect(tracker.unsaved == nil)
  }

  // MARK: Acknowledgement

  @Test func theAnswerToAnOrderProvesThatItIsAcknowledged() {
    var tracker = DeliveryTracker(keeping: "")
    tracker.caughtUp()
    tracker.published(through: 12, serial: 4)
    #expect(tracker.acknowledged == 9)
    tracker.confirm(through: 4)
    #expect(tracker.acknowledged == 12)
  }

  /// The answer is in flight again before its order is redelivered.
  @Test func anAnswerThatIsPublishedAgainProvesNothing() {
    var tracker = DeliveryTracker(keeping: "")
    tracker.caughtUp()
    tracker.published(through: 12, serial: 4)
    tracker.connectionLost()
    #expect(tracker.stage == .initial)
    tracker.ledgerRead(unacknowledged: [])
    tracker.published(through: 12, serial: 8)
    tracker.confirm(through: 8)
    #expect([tracker.confirmed, tracker.acknowledged] == [12, 9])
    tracker.caughtUp()
    tracker.published(through: 13, serial: 9)
    tracker.confirm(through: 9)
    #expect(tracker.acknowledged == 13)
  }

  @Test func anAnswerProvesNothingWhileOthersMayComeAgain() {
    var tracker = DeliveryTracker(keeping: "b7 k8")
    tracker.caughtUp()
    tracker.match("b7!")
    tracker.published(through: 12, serial: 4)
    tracker.match("k8!")
    tracker.published(through: 13, serial: 5)
    tracker.confirm(through: 4)
    #expect([tracker.confirmed, tracker.acknowledged] == [12, 9])
    tracker.confirm(through: 5)
    #expect([tracker.confirmed, tracker.acknowledged] == [13, 13])
  }

  /// The record may belong to another ledger that was replaced by this one.
  @Test(arguments: [(nil, 10), (9, 9), (12, 12), (100, 20)] as [(Int?, Int)])
  func aNoteCountsAsFarAsTheLedgerGoes(lastAcknowledged: Int?, acknowledged: Int) {
    #expect(
      DeliveryTracker(DeliveryTrackerTests.state, lastAcknowledged: lastAcknowledged).acknowledged
        == acknowledged)
  }

  // MARK: Poison messages

  @Test func whatWasOnItsWayWhenTwoConnectionsInARowEndedIsTriedAlone() {
    var tracker = DeliveryTracker(keeping: "")
    for serial in UInt64(4)...5 {
      #expect(tracker.poisonMessageStep == nil)
      tracker.published(through: 13, serial: serial)
      tracker.connectionLost()
    }
    #expect(tracker.poisonMessageStep == .asRequested)
    #expect(!tracker.hasEntriesInFlight)
    tracker.published(through: 11, serial: 6)
    #expect(tracker.hasEntriesInFlight)
    tracker.confirm(through: 6)
    #expect(tracker.poisonMessageStep == .asRequested, "the others are under suspicion still")
    tracker.published(through: 13, serial: 7)
    tracker.confirm(through: 7)
    #expect(tracker.poisonMessageStep == nil)
  }

  @Test func anEntryThatEndsEachConnectionIsPublishedWithLessAndLess() {
    var tracker = DeliveryTracker(keeping: "")
    let trials = (UInt64(1)...10).map { serial in
      tracker.published(through: 11, serial: serial)
      tracker.connectionLost()
      return tracker.poisonMessageStep
    }
    #expect(
      trials == [
        nil, .asRequested, .asRequested, .onDefaultTopic, .onDefaultTopic, .onDefaultTopic,
        .onDefaultTopic,
        .withoutAnswer(isFirst: true), .withoutAnswer(isFirst: false),
        .withoutAnswer(isFirst: false),
      ])
  }

  @Test func aConnectionThatTheKioskHasEndedPutsNothingUnderSuspicion() {
    var tracker = DeliveryTracker(keeping: "")
    for serial in UInt64(4)..<8 {
      tracker.published(through: 13, serial: serial)
      tracker.connectionLost(isOurs: true)
    }
    #expect(tracker.poisonMessageStep == nil)
  }

  fileprivate static let state = {
    var state = LedgerState()
    (state.seq, state.confirmed) = (20, 10)
    return state
  }()
}

extension DeliveryTracker {
  /// A tracker on a new connection, with entries confirmed up to 10 and deliveries acknowledged up
  /// to 9.
  fileprivate init(keeping kept: [Fingerprint]) {
    self.init(DeliveryTrackerTests.state, lastAcknowledged: 9)
    ledgerRead(unacknowledged: kept)
  }

  fileprivate init(keeping kept: String) { self.init(keeping: Fingerprint.list(kept)) }

  fileprivate mutating func match(_ came: String) {
    for case let delivery? in Delivery.list(came) { _ = match(delivery) }
  }
}

extension Fingerprint {
  fileprivate static func list(_ text: String) -> [Fingerprint] {
    Delivery.list(text).compactMap { $0.map { Fingerprint($0) } }
  }
}

extension Delivery {
  /// Parses deliveries; `-` stands for none.
  fileprivate static func list(_ text: String) -> [Delivery?] {
    text.split(separator: " ").map { word in
      UInt16(word.dropFirst().filter(\.isNumber)).map {
        .order(String(word.prefix(1)), packetID: $0, redelivered: word.last == "!")
      }
    }
  }
}
