import InMemoryBroker
import KioskMessages
import MessageBroker
import Testing

@testable import Uplink

/// The menu that comes down, between the broker and whoever takes it over.
@Suite struct MenuTests {
  private let scene: Scene
  private let menu = DesiredMenu(version: 7, text: "menu: {base: standard}")

  init() throws {
    scene = try Scene()
    try scene.start()
    scene.advance(by: .seconds(1))
  }

  private func send(_ payload: [UInt8], retain: Bool = false) {
    scene.send(Message(topic: scene.topics.desiredMenu, payload: payload, retain: retain))
  }

  private func reports() throws -> [DesiredMenuReport] {
    try scene.heard.messages.filter { $0.topic == scene.topics.reportedMenu }
      .map { try DesiredMenuReport(payload: $0.payload) }
  }

  @Test func itLiesThereUntilSomebodyTakesIt() throws {
    send(menu.payload)
    send(DesiredMenu(version: 8, text: "").payload)
    #expect(scene.menus.takeDesired()?.version == 8)
    #expect(scene.menus.takeDesired() == nil)
  }

  @Test func whatComesOfItIsTold() throws {
    #expect(try reports() == [.taken(version: 0)])
    scene.menus.report(.refused(version: 7, detail: "no"))
    scene.advance(by: .seconds(1))
    #expect(try reports().last == .refused(version: 7, detail: "no"))
    scene.menus.report(.taken(version: 8))
    scene.advance(by: .seconds(1))
    scene.broker.cut("uplink-0")
    scene.advance(by: .seconds(10))
    // Once, and on the next connection what holds.
    #expect(
      try reports() == [
        .taken(version: 0), .refused(version: 7, detail: "no"), .taken(version: 8),
        .taken(version: 8),
      ])
  }

  @Test func whatHappensWithoutALineIsToldLater() throws {
    scene.broker.refuseLogins()
    scene.broker.cut("uplink-0")
    scene.menus.report(.refused(version: 7, detail: "no"))
    scene.advance(by: .seconds(10))
    #expect(try reports() == [.taken(version: 0)])
    scene.broker.refuseLogins(false)
    scene.advance(by: .seconds(10))
    #expect(try reports().dropFirst() == [.taken(version: 0), .refused(version: 7, detail: "no")])
  }

  @Test(arguments: [
    ("{", "not valid JSON at byte 1"),
    (#"{"version":0,"menu":""}"#, "version (1 or more) and menu (a text) are required"),
    (String(repeating: " ", count: 65_537), "the payload is too large: 65536 bytes are read"),
  ])
  func whatCannotBeReadIsRefused(payload: String, words: String) throws {
    send(Array(payload.utf8))
    guard case .refused(nil, let detail) = try reports().last else {
      Issue.record("\(try reports())")
      return
    }
    #expect(detail.contains(words))
    #expect(scene.menus.takeDesired() == nil)
  }

  @Test func whatABrokerHasKeptIsPassedOver() throws {
    send(menu.payload, retain: true)
    #expect(scene.menus.takeDesired() == menu)
    scene.broker.cut("uplink-0")
    scene.advance(by: .seconds(10))
    #expect(scene.menus.takeDesired() == nil)
  }
}
