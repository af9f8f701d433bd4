import Devices
import InMemoryBroker
import KioskCore
import KioskDaemon
import KioskProtocol
import Ledger
import MessageBroker
import Testing

/// Tests the announcements outside the kiosk's own topics, and the repetition of all retained
/// messages after a birth message.
@Suite struct AnnouncementTests {
  private static let topic = "homeassistant/switch/kiosk_k1/service/config"
  private let fixture: KioskFixture
  private let home: TestClient

  init() throws {
    fixture = try KioskFixture { settings in
      settings.announcements = [Message(topic: Self.topic, text: "{}", retain: true)]
      settings.births = [
        Birth(topic: "homeassistant/status", payload: "online"),
        Birth(topic: "tele/screen/LWT", payload: "Online"),
      ]
    }
    home = try fixture.testClient(
      "home", subscribedTo: ["kiosk/k1/#", "homeassistant/+/+/+/config"])
  }

  private func announced() -> String? {
    fixture.broker.retained(Self.topic).map { String(decoding: $0.payload, as: UTF8.self) }
  }

  @Test func itIsRetainedOnceTheKioskIsOnline() throws {
    try fixture.startKiosk()
    #expect(announced() == "{}")
  }

  @Test(arguments: [("homeassistant/status", "online"), ("tele/screen/LWT", "Online")])
  func whoeverHasComeBackHearsEverythingAgain(topic: String, payload: String) throws {
    try fixture.startKiosk()
    let said = Set(home.take().map(\.topic))
    fixture.publish(payload, to: topic, by: home)
    // Sales reports are published at most every two seconds.
    fixture.advance(by: .seconds(2))
    let again = Set(home.take().map(\.topic))
    #expect(again == said.subtracting(["kiosk/k1/events"]))
    #expect(again.isSuperset(of: [Self.topic, "kiosk/k1/status", "kiosk/k1/stock/kiwi"]))
    #expect(fixture.retained("health")?.contains(#""dropped":0,"#) == true)
  }

  @Test(arguments: [
    ("homeassistant/status", "offline", false), ("homeassistant/status", "Online", false),
    ("tele/screen/LWT", "Offline", false), ("homeassistant/status", "online", true),
  ])
  func nothingElseOnItsTopicAsksForThatNorCounts(
    topic: String, payload: String, retain: Bool
  ) throws {
    if retain { fixture.publish(payload, to: topic, by: home, retain: true) }
    try fixture.startKiosk()
    let count = home.take().count { $0.topic == Self.topic }
    #expect(count == 1)
    if !retain { fixture.publish(payload, to: topic, by: home) }
    fixture.advance(by: .seconds(40))
    #expect(home.take().map(\.topic).allSatisfy { $0 == "kiosk/k1/health" })
    #expect(fixture.retained("health")?.contains(#""dropped":0,"#) == true)
  }

  @Test func birthsThatFollowQuicklyAreAnsweredOnceASecond() throws {
    try fixture.startKiosk()
    _ = home.take()
    for _ in 0..<20 { fixture.publish("online", to: "homeassistant/status", by: home) }
    #expect(home.take().count { $0.topic == Self.topic } == 1)
    fixture.advance(by: .milliseconds(999))
    #expect(home.take().isEmpty)
    fixture.advance(by: .seconds(10))
    let later = home.take().map(\.topic)
    #expect(later.count { $0 == Self.topic } == 1)
    #expect(later.count { $0 == "kiosk/k1/sales" } == 1)
  }

  /// The ledger lists the new topics, so that a kiosk without dates clears them.
  @Test func theFirstDateIsAnnounced() throws {
    let dated = "homeassistant/sensor/kiosk_k1/expires_kiwi/config"
    fixture.settings.announcementsWithDates = [Message(topic: dated, text: "{}", retain: true)]
    try fixture.startKiosk()
    #expect(announced() != nil && fixture.broker.retained(dated) == nil)
    #expect(fixture.retained("freshness/kiwi") == nil)
    fixture.publish(
      #"{"add":{"kiwi":1},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#,
      to: "kiosk/k1/restock/desk", by: home)
    #expect(announced() == nil && fixture.broker.retained(dated) != nil)
    #expect(fixture.retained("freshness/kiwi") == "2026-11-22T09:00:00Z")
    #expect(
      try fixture.ledger { try $0.state() }.topics
        .isSuperset(of: [dated, "kiosk/k1/freshness/kiwi"]))
  }

  @Test func whatIsNotAnnouncedAnyMoreIsCleared() throws {
    try fixture.startKiosk()
    fixture.crashKiosk()
    fixture.settings.announcements = []
    try fixture.startKiosk()
    #expect(announced() == nil)
    #expect(fixture.retained("stock/kiwi") == "10")
    fixture.advance(by: .seconds(3_630))
    #expect(try !fixture.ledger { try $0.state() }.topics.contains(Self.topic))
  }
}
