import JuiceDomain
import KioskProtocol
import Testing

@Suite struct KioskTopicsTests {
  private let topics = KioskTopics(root: "kiosk", kiosk: "k1")
  private let panel = Source(kind: .order, name: "panel1")

  @Test(arguments: [
    ("kiosk/k1/order/panel1", "order/panel1"), ("kiosk/k1/restock/dashboard", "restock/dashboard"),
    ("kiosk/k1/service/dashboard", "service/dashboard"), ("kiosk/k1/order/주문 1", "order/주문 1"),
    ("kiosk/k1/order/result", "order/result"), ("kiosk/k1/order/", "order/"),
  ])
  func aCommandTellsItsSource(topic: String, source: String) {
    #expect(topics.source(ofCommandOn: topic)?.description == source)
  }

  @Test(arguments: [
    "", "kiosk", "kiosk/k1", "kiosk/k1/", "kiosk/k1/order", "kiosk/k1/order/p/result",
    "kiosk/k1/order/p/", "kiosk/k1//order/p", "/kiosk/k1/order/p", "kiosk/k1order/p",
    "kiosk/k10/order/p", "kiosk/k1x/order/p", "kiosk/k2/order/p", "juice/k1/order/p",
    "Kiosk/k1/order/p", "kiosk/k1/Order/p", "kiosk/k1/orders/p", "kiosk/k1/stock/kiwi",
    "kiosk/k1/service", "$SYS/kiosk/k1/order/p",
  ])
  func noOtherTopicIsOneForCommands(topic: String) {
    #expect(topics.source(ofCommandOn: topic) == nil)
  }

  @Test func theTopicsAreThoseOfTheContract() {
    #expect(
      Command.Kind.allCases.map(topics.filter) == [
        "kiosk/k1/order/+", "kiosk/k1/restock/+", "kiosk/k1/service/+", "kiosk/k1/settings/+",
        "kiosk/k1/job/+", "kiosk/k1/made/+", "kiosk/k1/paid/+", "kiosk/k1/program/+",
      ])
    #expect(topics.make(by: "bar") == "kiosk/k1/make/bar")
    #expect(topics.cancel(by: "bar") == "kiosk/k1/make/bar/cancel")
    #expect(topics.made(by: "bar") == "kiosk/k1/made/bar")
    #expect(topics.report(of: "bar") == "kiosk/k1/machine/bar")
    #expect(topics.status(of: "bar") == "kiosk/k1/machine/bar/status")
    #expect(topics.command(from: panel) == "kiosk/k1/order/panel1")
    #expect(topics.result(for: panel) == "kiosk/k1/order/panel1/result")
    #expect(topics.stock(of: "kiwi") == "kiosk/k1/stock/kiwi")
    #expect(topics.stock == "kiosk/k1/stock")
    #expect(topics.servings(of: "mango_kiwi") == "kiosk/k1/juice/mango_kiwi")
    #expect(topics.menu == "kiosk/k1/menu")
    #expect(topics.alert(for: "kiwi") == "kiosk/k1/alert/kiwi")
    #expect(topics.service == "kiosk/k1/service")
    #expect(topics.status == "kiosk/k1/status")
    #expect(topics.info == "kiosk/k1/info")
    #expect(topics.health == "kiosk/k1/health")
    #expect(topics.sales == "kiosk/k1/sales")
    #expect(topics.dailySales == "kiosk/k1/sales/days")
    #expect(topics.forecast == "kiosk/k1/forecast")
    #expect(topics.history == "kiosk/k1/history")
    #expect(topics.events == "kiosk/k1/events")
  }

  @Test func aRootMayHaveSeveralLevels() {
    let topics = KioskTopics(root: "shop/seoul", kiosk: "k1")
    #expect(topics.source(ofCommandOn: "shop/seoul/k1/order/panel1") == panel)
    #expect(topics.source(ofCommandOn: "shop/k1/order/panel1") == nil)
  }
}
