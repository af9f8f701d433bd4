import JuiceDomain
import KioskCore
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
    topics.published(["a", "b"], serial: 2, at: .zero)
    let confirmed = topics.confirmed(through: 2, at: .seconds(3_600))
    #expect(confirmed == nil)
  }

  /// Each menu of an operator or of the chain may have new fruits and juices.
  @Test func topicsThatAreNotClearedYetHaveALimit() {
    var topics = PublishedTopics(known: Set((1...5_000).map(String.init)))
    #expect(topics.objection(to: ["1", "a"]) == nil)
    topics.stored(topics.known.union(["a"]))
    let reason = "more than 5000 topics have messages of this kiosk"
    // All of them are in use: no time makes place.
    topics.published(topics.known, serial: 1, at: .zero)
    #expect(topics.objection(to: ["1", "b"]) == reason)
    topics.published(["1"], serial: 2, at: .zero)
    #expect(topics.objection(to: ["1", "b"])?.hasSuffix("try again then") == true)
    // What is known already takes no place.
    #expect(topics.objection(to: ["1", "a"]) == nil)
  }

  @Test func aClearedStateOfPaymentIsPublishedAgain() throws {
    let fixture = try KioskFixture {
      $0.payment = KioskSettings.Payment(devices: [.init(name: "terminal")])
    }
    let other = try fixture.testClient("other")
    try fixture.startKiosk()
    let report = try #require(fixture.retained("payment/terminal"))
    for name in ["", "/status", "/total"] {
      fixture.publish("", to: "kiosk/k1/payment/terminal", by: other, retain: true)
      fixture.publish("", to: "kiosk/k1/payment/terminal\(name)", by: other, retain: true)
      fixture.advance(by: .seconds(1))
      #expect(fixture.retained("payment/terminal") == report)
    }
  }

  @Test func theLedgerForgetsATopicOnlyOnceItIsCleared() {
    var topics = PublishedTopics(known: ["a", "b"])
    #expect(topics.obsolete(comparedTo: ["b", "c"]) == ["a"])
    #expect(topics.topicsToStore(["b", "c"]) == ["a", "b", "c"])
    topics.stored(["a", "b", "c"])
    topics.published(["b", "c"], serial: 7, at: .zero)
    let early = topics.confirmed(through: 6, at: .seconds(3_600))
    #expect(early == nil)
    let confirmed = topics.confirmed(through: 7, at: .seconds(3_600))
    #expect(confirmed == ["b", "c"])
    let again = topics.confirmed(through: 8, at: .seconds(3_600))
    #expect(again == nil)
  }

  @Test func aTopicThatIsBackBeforeItsClearingIsConfirmedIsNotForgotten() {
    var topics = PublishedTopics(known: ["a", "b"])
    topics.published(["b"], serial: 7, at: .zero)
    topics.published(["a", "b"], serial: 8, at: .zero)
    let confirmed = topics.confirmed(through: 8, at: .seconds(3_600))
    #expect(confirmed == nil)
    #expect(topics.obsolete(comparedTo: ["b"]) == ["a"])
  }

  /// A broker that is killed before it saves has the old message again.
  @Test func aTopicIsClearedOnEachConnectionForAnHour() {
    var topics = PublishedTopics(known: ["a", "b"])
    topics.published(["b"], serial: 7, at: .seconds(10))
    // A reload publishes everything again.
    topics.published(["b"], serial: 8, at: .seconds(3_600))
    let early = topics.confirmed(through: 8, at: .seconds(3_609))
    #expect(early == nil)
    #expect(topics.obsolete(comparedTo: ["b"]) == ["a"])
    let confirmed = topics.confirmed(through: 8, at: .seconds(3_610))
    #expect(confirmed == ["b"])
  }

  @Test func withALostConnectionAClearingMayBeLostToo() {
    var topics = PublishedTopics(known: ["a", "b"])
    topics.published(["b"], serial: 7, at: .zero)
    topics.connectionLost()
    let confirmed = topics.confirmed(through: 8, at: .seconds(3_600))
    #expect(confirmed == nil)
    #expect(topics.obsolete(comparedTo: ["b"]) == ["a"])
  }
}
