import Testing

@testable import KioskController

@Suite struct ResultFeedTests {
  private var feed = ResultFeed(confirmed: 10, acknowledged: 9)

  @Test mutating func anEntryIsConfirmedWithItsLastMessage() {
    feed.published(through: 12, serial: 4)
    feed.published(through: 13, serial: 6)
    #expect(feed.confirmed == 10)
    #expect(feed.depth == 6)
    feed.confirm(through: 3)
    #expect(feed.confirmed == 10)
    feed.confirm(through: 4)
    #expect(feed.confirmed == 12)
    #expect(feed.depth == 2)
    feed.confirm(through: 5)
    #expect(feed.confirmed == 12)
    feed.confirm(through: 6)
    #expect(feed.confirmed == 13)
    #expect(feed.depth == 0)
  }

  @Test mutating func messagesWithoutAnEntryConfirmNone() {
    feed.published(through: 0, serial: 3)
    feed.published(through: 10, serial: 5)
    #expect(feed.depth == 5)
    feed.confirm(through: 5)
    #expect(feed.confirmed == 10)
    #expect(feed.depth == 0)
  }

  @Test mutating func severalPublicationsMayBeConfirmedAtOnce() {
    for seq in 11...20 { feed.published(through: seq, serial: UInt64(seq)) }
    feed.confirm(through: 19)
    #expect(feed.confirmed == 19)
    feed.confirm(through: 100)
    #expect(feed.confirmed == 20)
    #expect(feed.depth == 0)
  }

  @Test mutating func whatWasOnItsWayIsNotConfirmedByALaterConnection() {
    feed.published(through: 12, serial: 4)
    feed.published(through: 13, serial: 6)
    feed.confirm(through: 4)
    feed.connectionLost()
    #expect(feed.depth == 0)
    feed.confirm(through: 6)
    #expect(feed.confirmed == 12)
    // It is published again.
    feed.published(through: 13, serial: 8)
    feed.confirm(through: 8)
    #expect(feed.confirmed == 13)
  }

  @Test mutating func whatWasOnItsWayWhenTwoConnectionsInARowEndedIsTriedAlone() {
    for losses in 0..<2 {
      #expect(feed.trial == nil)
      feed.published(through: 13, serial: UInt64(4 + losses))
      feed.connectionLost()
    }
    #expect(feed.trial == 0)
    feed.published(through: 11, serial: 6)
    #expect(feed.isWaiting)
    feed.connectionLost()
    #expect(feed.trial == 1)
    feed.published(through: 11, serial: 7)
    feed.confirm(through: 7)
    #expect(feed.trial == 0)
    feed.published(through: 13, serial: 8)
    feed.confirm(through: 8)
    #expect(feed.trial == nil)
  }

  @Test mutating func aConnectionThatTheKioskHasEndedPutsNothingUnderSuspicion() {
    for serial in 4..<8 {
      feed.published(through: 13, serial: UInt64(serial))
      feed.connectionLost(isOurs: true)
    }
    #expect(feed.trial == nil)
  }

  @Test mutating func theAnswerToAnOrderProvesThatItIsAcknowledged() {
    feed.published(through: 12, serial: 4, acknowledging: true)
    #expect(feed.acknowledged == 9)
    feed.confirm(through: 4)
    #expect(feed.acknowledged == 12)
  }

  /// On the way again before the order is: it may come back still.
  @Test mutating func anAnswerThatIsPublishedAgainProvesNothing() {
    feed.published(through: 12, serial: 4, acknowledging: true)
    feed.connectionLost()
    feed.published(through: 12, serial: 8)
    feed.confirm(through: 8)
    #expect(feed.confirmed == 12)
    #expect(feed.acknowledged == 9)
    feed.published(through: 13, serial: 9, acknowledging: true)
    feed.published(through: 14, serial: 10)
    feed.confirm(through: 10)
    #expect(feed.acknowledged == 13)
  }

  @Test mutating func theLedgerIsToldWhatIsConfirmed() {
    #expect(feed.saved == 10)
    feed.published(through: 11, serial: 1)
    feed.confirm(through: 1)
    #expect(feed.saved == 10)
    feed.markSaved()
    #expect(feed.saved == 11)
  }
}
