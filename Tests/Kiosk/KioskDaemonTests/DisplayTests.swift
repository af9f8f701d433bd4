import Devices
import InMemoryBroker
import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskDaemon

/// Tests screens and lamps that cannot subscribe themselves.
@Suite struct DisplayTests {
  private static func fixture(_ displays: [Display]) throws -> KioskFixture {
    try KioskFixture { $0.displays = displays }
  }

  private static func text(
    _ text: String, birth: Birth? = nil, maximumPerSecond: Int = 2
  ) throws -> Display {
    Display(
      content: .text(Push(topic: "screen", payload: try Template(text))), birth: birth,
      maximumPerSecond: maximumPerSecond)
  }

  private func texts(_ testClient: TestClient) -> [String] {
    testClient.take().map { String(decoding: $0.payload, as: UTF8.self) }
  }

  @Test func isToldWhenTheKioskComesAndWhenSomethingChanges() throws {
    let fixture = try Self.fixture([try Self.text("Kiwi {stock.kiwi} {alert.kiwi} {servings.kiwi}")]
    )
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    let panel = try fixture.panel()
    try fixture.startKiosk()
    #expect(texts(screen) == ["Kiwi 10 ok 3"])
    fixture.advance(by: .seconds(1))
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(texts(screen) == [])
    fixture.publish("kiwi", to: "kiosk/k1/order/p1", by: panel)
    #expect(texts(screen) == ["Kiwi 7 ok 2"])
  }

  @Test func changesThatFollowQuicklyAreShownAsOne() throws {
    let fixture = try Self.fixture([try Self.text("{stock.banana}")])
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    let panel = try fixture.panel()
    try fixture.startKiosk()
    fixture.advance(by: .seconds(1))
    for _ in 0..<4 { fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel) }
    #expect(texts(screen) == ["10", "8"])
    fixture.advance(by: .milliseconds(499))
    #expect(texts(screen) == [])
    fixture.advance(by: .milliseconds(1))
    #expect(texts(screen) == ["2"])
    fixture.advance(by: .seconds(60))
    #expect(texts(screen) == [])
  }

  @Test func isToldAgainWhenItSaysThatItIsBack() throws {
    let birth = Birth(topic: "tele/screen/LWT", payload: "Online")
    let fixture = try Self.fixture([try Self.text("{stock.kiwi}", birth: birth)])
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    try fixture.startKiosk()
    #expect(texts(screen) == ["10"])
    fixture.publish("Offline", to: "tele/screen/LWT", by: screen)
    #expect(texts(screen) == [])
    fixture.advance(by: .seconds(1))
    for _ in 0..<10 { fixture.publish("Online", to: "tele/screen/LWT", by: screen) }
    #expect(texts(screen) == ["10"])
    fixture.advance(by: .milliseconds(499))
    #expect(texts(screen) == [])
    fixture.advance(by: .seconds(60))
    #expect(texts(screen) == ["10"])
  }

  @Test func isToldAgainAfterAnOutage() throws {
    let fixture = try Self.fixture([try Self.text("{stock.kiwi}")])
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    try fixture.startKiosk()
    fixture.crashKiosk()
    try fixture.startKiosk()
    #expect(texts(screen) == ["10", "10"])
  }

  @Test(arguments: [false, true]) func aRemovedDisplaySTextIsCleared(reloading: Bool) throws {
    var display = try Self.text("{stock.kiwi}")
    display.retain = true
    let fixture = try Self.fixture([display])
    try fixture.startKiosk()
    #expect(fixture.broker.retained("screen")?.payload == Array("10".utf8))
    #expect(try fixture.ledger { try $0.state() }.topics.contains("screen"))
    if reloading {
      fixture.reload { $0.displays = [] }
      fixture.advance(by: .seconds(1))
    } else {
      fixture.crashKiosk()
      fixture.settings.displays = []
      try fixture.startKiosk()
    }
    #expect(fixture.broker.retained("screen") == nil)
    fixture.advance(by: .seconds(3_630))
    #expect(try !fixture.ledger { try $0.state() }.topics.contains("screen"))
  }

  @Test func showsThatTheKioskHasGone() throws {
    let fixture = try Self.fixture([try Self.text("kiosk {kiosk.status}")])
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    try fixture.startKiosk()
    fixture.stopKiosk()
    #expect(texts(screen) == ["kiosk online", "kiosk offline"])
  }

  /// The price, the request to pay, the decline for a minute, and the device that is away.
  @Test func theCustomerSeesWhatToPayAndWhyNot() throws {
    let display = try Self.text("{price.kiwi}|{payment.terminal}", maximumPerSecond: 100)
    let feedback = Feedback(
      pay: Push(topic: "led", payload: try Template("{ticket} {message}")),
      rejected: Push(topic: "led", payload: try Template("{message}")))
    let menu = try Menu(
      fruits: Menu.standard.fruits,
      juices: Menu.standard.juices.map {
        Juice(
          id: $0.id, name: $0.name, recipe: $0.recipe,
          price: $0.id == "kiwi" ? Money(units: 350, .euro) : nil)
      })
    let fixture = try KioskFixture { settings in
      settings.menu = menu
      settings.payment = KioskSettings.Payment(devices: [.init(name: "terminal")])
      settings.displays = [display]
      settings.panels = [
        PanelBinding(
          name: "hall", dialect: .tasmota, topic: "stat/hall",
          buttons: ["single": .order(Order(juice: "kiwi"))],
          feedback: feedback)
      ]
    }
    let screen = try fixture.testClient("screen", subscribedTo: ["screen", "led"])
    let terminal = try fixture.testClient("terminal", subscribedTo: ["kiosk/k1/charge/terminal"])
    try fixture.startKiosk()
    let away = "€3.50|The card terminal is out of order."
    #expect(texts(screen) == [away])
    fixture.publish("online", to: "kiosk/k1/payment/terminal/status", by: terminal)
    fixture.advance(by: .seconds(1))
    #expect(texts(screen) == ["€3.50|"])
    fixture.publish(#"{"Button1":{"Action":"SINGLE"}}"#, to: "stat/hall/RESULT", by: screen)
    fixture.advance(by: .seconds(1))
    #expect(
      texts(screen) == [
        "1 €3.50 at the terminal, please.", "€3.50|€3.50 at the terminal, please.",
      ])
    let charge = try #require(
      texts(terminal).first.map { try ChargeRequest(payload: Array($0.utf8)) })
    let answer = PaymentAnswer(charge: charge.charge, status: .declined, reason: "card expired")
    fixture.publish(
      String(decoding: answer.payload, as: UTF8.self), to: "kiosk/k1/paid/terminal", by: terminal)
    fixture.advance(by: .seconds(1))
    let why = "The payment was declined: card expired. Nothing was charged."
    #expect(texts(screen) == [why, "€3.50|\(why)"])
    fixture.advance(by: .seconds(60))
    #expect(texts(screen) == ["€3.50|"])
  }

  @Test func aLampShowsWhetherThereIsAGlassLeft() throws {
    let lamp = Display(
      content: .availability(
        "mango", available: Push(topic: "screen", payload: try Template("ON")),
        soldOut: Push(topic: "screen", payload: try Template("OFF"))), maximumPerSecond: 100)
    let fixture = try Self.fixture([lamp])
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    let panel = try fixture.panel()
    try fixture.startKiosk()
    for _ in 0..<3 {
      fixture.publish("mango", to: "kiosk/k1/order/p1", by: panel)
      fixture.advance(by: .seconds(1))
    }
    #expect(texts(screen) == ["ON", "OFF"])
    fixture.publish(#"{"add":{"mango":3}}"#, to: "kiosk/k1/restock/desk", by: panel)
    #expect(texts(screen) == ["ON"])
  }

  @Test(arguments: [false, true]) func aLampMayHaveOneMessage(isForSoldOut: Bool) throws {
    let push = Push(topic: "screen", payload: try Template("blink"))
    let lamp = Display(
      content: .availability(
        "mango", available: isForSoldOut ? nil : push, soldOut: isForSoldOut ? push : nil))
    let fixture = try Self.fixture([lamp])
    let screen = try fixture.testClient("screen", subscribedTo: ["screen"])
    let desk = try fixture.panel()
    try fixture.startKiosk()
    for amount in [0, 10, 0, 10] {
      fixture.advance(by: .seconds(1))
      fixture.publish(#"{"set":{"mango":\#(amount)}}"#, to: "kiosk/k1/restock/desk", by: desk)
    }
    #expect(texts(screen) == Array(repeating: "blink", count: isForSoldOut ? 2 : 3))
  }
}
