import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Published state, also after a change of the menu.
@Suite struct PublicationTests {
  private let kiosk: TestKiosk

  init() throws { kiosk = try TestKiosk() }

  @Test func onlyWhatChangedIsToldOncePerBatch() throws {
    let decision = try kiosk.receive(.order("banana"), .order("banana"), .order("kiwi"))
    #expect(
      kiosk.reports == [
        "stock/banana 6", "stock/kiwi 7", "juice/banana 3", "juice/kiwi 2",
        #"stock {"seq":4,"at":"2026-11-21T09:00:00Z","fruits":"#
          + #"{"banana":6,"kiwi":7,"mango":10,"pineapple":10,"strawberry":10}}"#,
      ])
    #expect(kiosk.changes.allSatisfy { $0.retain })
    #expect(decision.answers.map(\.retain) == [false, false, false])
    #expect((decision.answers + kiosk.changes).allSatisfy { $0.qos == .atLeastOnce })
  }

  @Test func whatIsBackWhereItWasIsNotTold() throws {
    let decision = try kiosk.receive(.order("banana"), .restock(#"{"add":{"banana":2}}"#))
    #expect(try decision.statuses == [.ready, .applied])
    #expect(kiosk.reports.isEmpty)
  }

  @Test func servingsAreToldOnlyWhereTheirNumberChanges() throws {
    try kiosk.receive(.order("mango_kiwi"))
    #expect(
      kiosk.reports.dropLast() == [
        "stock/kiwi 9", "stock/mango 8", "juice/mango 2", "juice/mango_kiwi 4",
      ])
  }

  @Test func alertsAreToldWhenTheyChange() throws {
    func alerts(_ restock: String) throws -> [String] {
      try kiosk.receive(.restock(restock))
      return kiosk.reports.filter { $0.hasPrefix("alert") }
    }
    #expect(try alerts(#"{"set":{"kiwi":6}}"#) == [])
    #expect(try alerts(#"{"set":{"kiwi":5,"mango":0}}"#) == ["alert/kiwi low", "alert/mango out"])
    #expect(try alerts(#"{"set":{"kiwi":6}}"#) == [])
    #expect(try alerts(#"{"set":{"kiwi":7,"mango":1}}"#) == ["alert/kiwi ok"])
    #expect(
      try alerts(#"{"set":{"mango":2,"strawberry":9}}"#) == [
        "alert/mango low", "alert/strawberry out",
      ])
  }

  /// A stock between the mark and a quarter above it: its level depends on the level before.
  @Test(arguments: ["restart", "recover", "reload"])
  func aLevelStaysWhatItIs(after event: String) throws {
    func restart(_ kiosk: TestKiosk) throws {
      switch event {
      case "restart": try kiosk.restart()
      case "recover": try kiosk.recover()
      default: try kiosk.reload()
      }
    }

    try kiosk.receive(.restock(#"{"set":{"kiwi":5,"mango":0}}"#))
    try kiosk.receive(.restock(#"{"set":{"kiwi":6,"mango":6}}"#))
    try restart(kiosk)
    #expect(kiosk.core.alert(of: "kiwi") == .low && kiosk.core.alert(of: "mango") == .low)
    try kiosk.receive(.restock(#"{"set":{"kiwi":7}}"#))
    try kiosk.receive(.restock(#"{"set":{"kiwi":6}}"#))
    try restart(kiosk)
    #expect(kiosk.core.alert(of: "kiwi") == .ok && kiosk.core.alert(of: "mango") == .low)
    #expect(kiosk.core.fruits(at: .low) == 1)
  }

  @Test func serviceIsToldWhenItChanges() throws {
    try kiosk.receive(.service("open"))
    #expect(kiosk.reports.isEmpty)
    let closed = try kiosk.receive(.service("closed"))
    #expect(kiosk.reports == ["service closed"])
    #expect(closed.transaction.service == .closed)
    try kiosk.receive(.service("open"), .service("closed"))
    #expect(kiosk.reports.isEmpty)
  }

  @Test func theWholeStateIsToldOnEveryConnection() {
    let topics = kiosk.settings.topics
    let state = topics.state(of: kiosk.core, at: kiosk.now.timestamp)
    let told = Dictionary(
      state.map { ($0.topic.dropFirst("kiosk/k1/".count).description, text($0.payload)) },
      uniquingKeysWith: { first, _ in first })
    #expect(state.count == told.count)
    #expect(state.allSatisfy { $0.retain && $0.qos == .atLeastOnce })
    var expected = ["service": "open", "menu": text(kiosk.settings.menuReport.payload)]
    for fruit in Menu.standard.fruits {
      expected["stock/\(fruit.id)"] = "10"
      expected["alert/\(fruit.id)"] = "ok"
    }
    for (juice, count) in [
      ("strawberry", 0), ("banana", 5), ("kiwi", 3), ("pineapple", 5), ("strawberry_banana", 1),
      ("mango", 3), ("mango_kiwi", 5),
    ] {
      expected["juice/\(juice)"] = String(count)
    }
    expected["stock"] =
      #"{"seq":1,"at":"2026-11-21T09:00:00Z","fruits":"#
      + #"{"banana":10,"kiwi":10,"mango":10,"pineapple":10,"strawberry":10}}"#
    #expect(told == expected)
  }

  // MARK: Changes of the menu

  private func menu(_ fruits: [Fruit.ID]) throws -> Menu {
    try Menu(
      fruits: fruits.map { Fruit(id: $0, name: LocalizedName(fallback: $0.text)) },
      juices: fruits.map {
        Juice(
          id: Juice.ID($0.text) ?? "x", name: LocalizedName(fallback: $0.text),
          recipe: try Recipe([$0: 3]))
      })
  }

  @Test func aFruitThatJoinsALedgerBeginsAtZero() throws {
    let settings = KioskSettings.test(menu: try menu(["kiwi", "orange", "lime"]))
    let opening = try #require(
      Kiosk.opening(settings: settings, state: try kiosk.ledger.state(), at: kiosk.now))
    #expect(
      opening.records.map(\.row.entry) == [
        LedgerEntry(
          seq: 2, epoch: try kiosk.ledger.state().epoch, at: TestKiosk.start, source: nil, id: nil,
          outcome: .opened(["lime": 0, "orange": 0]))
      ])
    #expect(opening.records.allSatisfy { $0.reply == nil && $0.key == nil })
    try kiosk.ledger.commit(opening)
    let state = try kiosk.ledger.state()
    #expect(state.stock["orange"] == 0 && state.stock["kiwi"] == 10)
    #expect(Kiosk.opening(settings: settings, state: state, at: kiosk.now) == nil)
    #expect(try kiosk.ledger.verify() == 2)
  }

  @Test func aFruitThatLeftTheMenuIsKeptInTheLedgerButNotTold() throws {
    try kiosk.receive(.order("kiwi"))
    let settings = KioskSettings.test(menu: try menu(["banana"]))
    var core = Kiosk(settings: settings, state: try kiosk.ledger.state())
    #expect(core.juiceMaker.stock == ["banana": 10])
    var (commandFilter, tracker) = (CommandFilter(settings: settings), DeliveryTracker())
    let decision = core.decide(
      commandFilter.admit(
        [.order("kiwi"), .restock(#"{"add":{"kiwi":1}}"#)], tracker: &tracker, at: kiosk.now
      ),
      repeats: [:], at: kiosk.now)
    #expect(try decision.reasons == [.unknownJuice, .unknownFruit])
    try kiosk.ledger.commit(decision.transaction)
    // The fruit returns with its last stock.
    try kiosk.restart()
    #expect(kiosk.stock["kiwi"] == 7)
  }

  @Test func whatLeftTheMenuIsNotToldAnyMore() throws {
    func topics(_ fruits: [Fruit.ID]) throws -> Set<String> {
      let settings = KioskSettings.test(menu: try menu(fruits))
      let core = Kiosk(settings: settings, state: try kiosk.ledger.state())
      return Set(settings.topics.state(of: core, at: kiosk.now.timestamp).map(\.topic))
    }
    #expect(
      try topics(["kiwi", "mango"]).subtracting(topics(["mango"])) == [
        "kiosk/k1/alert/kiwi", "kiosk/k1/juice/kiwi", "kiosk/k1/stock/kiwi",
      ])
  }
}
