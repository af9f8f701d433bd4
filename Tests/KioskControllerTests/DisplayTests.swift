import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskMessages
import MessageBroker
import Panels
import Testing

@testable import KioskController

/// Screens and lamps that have to be told.
@Suite struct DisplayTests {
  private static func scene(_ displays: [Display]) throws -> Scene {
    try Scene { $0.displays = displays }
  }

  private static func text(
    _ text: String, birth: Birth? = nil, maximumPerSecond: Int = 2
  ) throws -> Display {
    Display(
      content: .text(Push(topic: "screen", payload: try Template(text))), birth: birth,
      maximumPerSecond: maximumPerSecond)
  }

  private func texts(_ person: Person) -> [String] {
    person.take().map { String(decoding: $0.payload, as: UTF8.self) }
  }

  @Test func isToldWhenTheKioskComesAndWhenSomethingChanges() throws {
    let scene = try Self.scene([try Self.text("Kiwi {stock.kiwi} {alert.kiwi} {servings.kiwi}")])
    let screen = try scene.person("screen", hearing: ["screen"])
    let panel = try scene.panel()
    try scene.startKiosk()
    #expect(texts(screen) == ["Kiwi 10 ok 3"])
    scene.advance(by: .seconds(1))
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(texts(screen) == [])
    scene.publish("kiwi", to: "kiosk/k1/order/p1", by: panel)
    #expect(texts(screen) == ["Kiwi 7 ok 2"])
  }

  @Test func changesThatFollowQuicklyAreShownAsOne() throws {
    let scene = try Self.scene([try Self.text("{stock.banana}")])
    let screen = try scene.person("screen", hearing: ["screen"])
    let panel = try scene.panel()
    try scene.startKiosk()
    scene.advance(by: .seconds(1))
    for _ in 0..<4 { scene.publish("banana", to: "kiosk/k1/order/p1", by: panel) }
    #expect(texts(screen) == ["10", "8"])
    scene.advance(by: .milliseconds(499))
    #expect(texts(screen) == [])
    scene.advance(by: .milliseconds(1))
    #expect(texts(screen) == ["2"])
    scene.advance(by: .seconds(60))
    #expect(texts(screen) == [])
  }

  @Test func isToldAgainWhenItSaysThatItIsBack() throws {
    let birth = Birth(topic: "tele/screen/LWT", payload: "Online")
    let scene = try Self.scene([try Self.text("{stock.kiwi}", birth: birth)])
    let screen = try scene.person("screen", hearing: ["screen"])
    try scene.startKiosk()
    #expect(texts(screen) == ["10"])
    scene.publish("Offline", to: "tele/screen/LWT", by: screen)
    #expect(texts(screen) == [])
    scene.publish("Online", to: "tele/screen/LWT", by: screen)
    #expect(texts(screen) == ["10"])
  }

  @Test func isToldAgainAfterAnOutage() throws {
    let scene = try Self.scene([try Self.text("{stock.kiwi}")])
    let screen = try scene.person("screen", hearing: ["screen"])
    try scene.startKiosk()
    scene.crashKiosk()
    try scene.startKiosk()
    #expect(texts(screen) == ["10", "10"])
  }

  @Test func showsThatTheKioskHasGone() throws {
    let scene = try Self.scene([try Self.text("kiosk {kiosk.status}")])
    let screen = try scene.person("screen", hearing: ["screen"])
    try scene.startKiosk()
    scene.stopKiosk()
    #expect(texts(screen) == ["kiosk online", "kiosk offline"])
  }

  @Test func aLampShowsWhetherThereIsAGlassLeft() throws {
    let lamp = Display(
      content: .availability(
        "mango", available: Push(topic: "screen", payload: try Template("ON")),
        soldOut: Push(topic: "screen", payload: try Template("OFF"))), maximumPerSecond: 100)
    let scene = try Self.scene([lamp])
    let screen = try scene.person("screen", hearing: ["screen"])
    let panel = try scene.panel()
    try scene.startKiosk()
    for _ in 0..<3 {
      scene.publish("mango", to: "kiosk/k1/order/p1", by: panel)
      scene.advance(by: .seconds(1))
    }
    #expect(texts(screen) == ["ON", "OFF"])
    scene.publish(#"{"add":{"mango":3}}"#, to: "kiosk/k1/restock/desk", by: panel)
    #expect(texts(screen) == ["ON"])
  }
}
