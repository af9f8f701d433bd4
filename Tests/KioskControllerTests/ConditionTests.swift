import InMemoryBroker
import KioskController
import KioskCore
import KioskMessages
import MessageBroker
import Synchronization
import Testing

/// What whoever looks after the kiosk is told.
@Suite struct ConditionTests {
  private let scene: Scene

  init() throws { scene = try Scene { $0.orders.maximumAge = .seconds(86_400) } }

  @Test func eachTurnTellsHowItGoes() throws {
    try scene.startKiosk()
    let person = try scene.person("desk")
    scene.publish("closed", to: "kiosk/k1/service/desk", by: person)
    scene.publish("open", to: "kiosk/k1/service/desk", by: person)
    scene.broker.stop()
    scene.executor.run()
    scene.broker.start()
    scene.advance(by: .seconds(120))
    scene.stopKiosk()
    var told = scene.conditions.map { condition in
      if case .offline = condition { "offline" } else { "\(condition)" }
    }
    told = told.indices.filter { $0 == 0 || told[$0] != told[$0 - 1] }.map { told[$0] }
    #expect(
      told == [
        "connecting", "online(KioskMessages.ServiceState.open)",
        "online(KioskMessages.ServiceState.closed)", "online(KioskMessages.ServiceState.open)",
        "offline", "online(KioskMessages.ServiceState.open)", "leaving",
      ])
  }

  @Test func whereNothingHappensATurnComesEveryTenSeconds() throws {
    try scene.startKiosk()
    let before = scene.conditions.count
    scene.advance(by: .seconds(60))
    #expect(scene.conditions.count - before >= 6)
  }

  @Test func healthIsToldEveryHalfMinuteHoweverOldAnOrderMayBe() throws {
    try scene.startKiosk()
    let monitor = try scene.person("monitor", hearing: ["kiosk/k1/health"])
    _ = monitor.take()
    scene.advance(by: .seconds(65))
    #expect(monitor.take().count == 2)
    let health = try #require(scene.retained("health"))
    #expect(
      health.contains(
        #""service":"open","low":0,"out":0,"machines_down":0,"undecided":0,"ledger":"#))
  }
}
