import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskDaemon

@Suite struct PublishedTopicsTests {
  @Test func theLedgerKnowsOfATopicBeforeItIsPublished() {
    var topics = PublishedTopics(known: [])
    #expect(topics.topicsToStore(["a", "b"]) == ["a", "b"])
    // The ledger has not stored them yet.
    #expect(topics.topicsToStore(["a", "b"]) == ["a", "b"])
    topics.stored(["a", "b"])
    #expect(topics.topicsToStore(["a", "b"]) == nil)
    topics.published(["a", "b"], serial: 2)
    let confirmed = topics.confirmed(through: 2)
    #expect(confirmed == nil)
  }

  @Test func theLedgerForgetsATopicOnlyOnceItIsCleared() {
    var topics = PublishedTopics(known: ["a", "b"])
    #expect(topics.obsolete(comparedTo: ["b", "c"]) == ["a"])
    #expect(topics.topicsToStore(["b", "c"]) == ["a", "b", "c"])
    topics.stored(["a", "b", "c"])
    topics.published(["b", "c"], serial: 7)
    let early = topics.confirmed(through: 6)
    #expect(early == nil)
    let confirmed = topics.confirmed(through: 7)
    #expect(confirmed == ["b", "c"])
    let again = topics.confirmed(through: 8)
    #expect(again == nil)
  }

  @Test func aTopicThatIsBackBeforeItsClearingIsConfirmedIsNotForgotten() {
    var topics = PublishedTopics(known: ["a", "b"])
    topics.published(["b"], serial: 7)
    topics.published(["a", "b"], serial: 8)
    let confirmed = topics.confirmed(through: 8)
    #expect(confirmed == nil)
    #expect(topics.obsolete(comparedTo: ["b"]) == ["a"])
  }

  @Test func withALostConnectionAClearingMayBeLostToo() {
    var topics = PublishedTopics(known: ["a", "b"])
    topics.published(["b"], serial: 7)
    topics.connectionLost()
    let confirmed = topics.confirmed(through: 8)
    #expect(confirmed == nil)
    #expect(topics.obsolete(comparedTo: ["b"]) == ["a"])
  }
}
