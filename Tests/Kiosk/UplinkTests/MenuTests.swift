import InMemoryBroker
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskDaemon

/// Tests the desired menu and the reports about it, between the broker and the mailbox.
@Suite struct MenuTests {
  private let fixture: UplinkFixture
  private let menu = DesiredMenu(version: 7, text: "menu: {base: standard}")

  init() throws {
    fixture = try UplinkFixture()
    try fixture.start()
    fixture.advance(by: .seconds(1))
  }

  private func send(_ payload: [UInt8], retain: Bool = false) {
    fixture.send(Message(topic: fixture.topics.desiredMenu, payload: payload, retain: retain))
  }

  private func reports() throws -> [DesiredMenuReport] {
    try fixture.received.messages.filter { $0.topic == fixture.topics.reportedMenu }
      .map { try DesiredMenuReport(payload: $0.payload) }
  }

  @Test func itLiesThereUntilSomebodyTakesIt() throws {
    send(menu.payload)
    send(DesiredMenu(version: 8, text: "").payload)
    #expect(fixture.menus.takeDesired()?.version == 8)
    #expect(fixture.menus.takeDesired() == nil)
  }

  @Test func anOlderMenuIsRefused() throws {
    func expectRefusal(of version: Int, newest: Int) throws {
      fixture.received.clear()
      send(DesiredMenu(version: version, text: "").payload)
      #expect(
        try reports().first
          == .refused(version: version, detail: "it is older than menu \(newest)"))
    }
    send(menu.payload)
    // It has arrived, is being read, is in use.
    try expectRefusal(of: 3, newest: 7)
    #expect(fixture.menus.takeDesired() == menu)
    try expectRefusal(of: 6, newest: 7)
    fixture.menus.report(.taken(version: 7))
    try expectRefusal(of: 6, newest: 7)
    #expect(fixture.menus.takeDesired() == nil)
    // A menu that the kiosk has refused sets no mark.
    send(DesiredMenu(version: 9, text: "").payload)
    #expect(fixture.menus.takeDesired()?.version == 9)
    fixture.menus.report(.refused(version: 9, detail: "no"))
    send(DesiredMenu(version: 8, text: "").payload)
    #expect(fixture.menus.takeDesired()?.version == 8)
  }

  @Test func refusedMenusAreLoggedOnceAMinute() {
    send(menu.payload)
    for _ in 0..<120 { send(DesiredMenu(version: 3, text: "").payload) }
    let lines = fixture.log.lines.filter { $0.contains("menu 3 of the chain is refused") }
    #expect(lines.count == 2)
    #expect(lines.last?.contains("and 59 more") == true)
  }

  /// Twenty requests and then twenty menus at once, and one too many of each.
  @Test func requestsAndMenusDoNotDisplaceEachOther() throws {
    let request = Message(
      topic: fixture.topics.replay(by: "archive"), payload: [], qos: .atMostOnce)
    let menus = (1...21).map { version in
      Message(
        topic: fixture.topics.desiredMenu,
        payload: DesiredMenu(version: version, text: "").payload, qos: .atMostOnce)
    }
    fixture.send(Array(repeating: request, count: 21) + menus)
    #expect(try fixture.results().count == 20)
    #expect(fixture.menus.takeDesired()?.version == 20)
    #expect(fixture.uplinkProgress.droppedRequests == 2)
  }

  @Test func aStoredMenuThatCannotBeUsedIsTold() throws {
    let report = DesiredMenuReport.taken(version: 0, detail: "damaged")
    #expect(MenuMailbox(version: 0, problem: "damaged").currentReport == report)
  }

  @Test func whatComesOfItIsTold() throws {
    #expect(try reports() == [.taken(version: 0)])
    fixture.menus.report(.refused(version: 7, detail: "no"))
    fixture.advance(by: .seconds(1))
    #expect(try reports().last == .refused(version: 7, detail: "no"))
    fixture.menus.report(.taken(version: 8))
    fixture.advance(by: .seconds(1))
    fixture.broker.cut("uplink-0")
    fixture.advance(by: .seconds(10))
    // Each report is published once, and the current one again on the next connection.
    #expect(
      try reports() == [
        .taken(version: 0), .refused(version: 7, detail: "no"), .taken(version: 8),
        .taken(version: 8),
      ])
  }

  @Test func whatHappensWithoutALineIsToldLater() throws {
    fixture.broker.refuseLogins()
    fixture.broker.cut("uplink-0")
    fixture.menus.report(.refused(version: 7, detail: "no"))
    fixture.advance(by: .seconds(10))
    #expect(try reports() == [.taken(version: 0)])
    fixture.broker.refuseLogins(false)
    fixture.advance(by: .seconds(10))
    #expect(try reports().dropFirst() == [.taken(version: 0), .refused(version: 7, detail: "no")])
  }

  @Test(arguments: [
    ("{", "not valid JSON at byte 1"),
    (#"{"version":0,"menu":""}"#, "'version' is invalid or out of range"),
    (String(repeating: " ", count: 65_537), "the payload is too large: 65536 bytes are read"),
  ])
  func whatCannotBeReadIsRefused(payload: String, words: String) throws {
    send(Array(payload.utf8))
    guard case .refused(nil, let detail) = try reports().last else {
      Issue.record("\(try reports())")
      return
    }
    #expect(detail.contains(words))
    #expect(fixture.menus.takeDesired() == nil)
  }

  @Test func whatABrokerHasKeptIsPassedOver() throws {
    send(menu.payload, retain: true)
    #expect(fixture.menus.takeDesired() == menu)
    fixture.broker.cut("uplink-0")
    fixture.advance(by: .seconds(10))
    #expect(fixture.menus.takeDesired() == nil)
  }
}
