import InMemoryBroker
import KioskCore
import KioskDaemon
import KioskProtocol
import MessageBroker
import Synchronization
import Testing

/// Tests the conditions that the kiosk reports to its monitoring.
@Suite struct ConditionTests {
  private let fixture: KioskFixture

  init() throws { fixture = try KioskFixture { $0.orders.maximumAge = .seconds(86_400) } }

  @Test func eachTurnTellsHowItGoes() throws {
    try fixture.startKiosk()
    let testClient = try fixture.testClient("desk")
    fixture.publish("closed", to: "kiosk/k1/service/desk", by: testClient)
    fixture.publish("open", to: "kiosk/k1/service/desk", by: testClient)
    fixture.broker.stop()
    fixture.executor.run()
    fixture.broker.start()
    fixture.advance(by: .seconds(120))
    fixture.stopKiosk()
    var told = fixture.conditions.map { condition in
      if case .offline = condition { "offline" } else { "\(condition)" }
    }
    told = told.indices.filter { $0 == 0 || told[$0] != told[$0 - 1] }.map { told[$0] }
    #expect(
      told == [
        "connecting", "online(KioskProtocol.ServiceState.open)",
        "online(KioskProtocol.ServiceState.closed)", "online(KioskProtocol.ServiceState.open)",
        "offline", "online(KioskProtocol.ServiceState.open)", "stopping",
      ])
  }

  @Test func whereNothingHappensATurnComesEveryTenSeconds() throws {
    try fixture.startKiosk()
    let before = fixture.conditions.count
    fixture.advance(by: .seconds(60))
    #expect(fixture.conditions.count - before >= 6)
  }

  @Test func healthIsToldEveryHalfMinuteHoweverOldAnOrderMayBe() throws {
    try fixture.startKiosk()
    let monitor = try fixture.testClient("monitor", subscribedTo: ["kiosk/k1/health"])
    _ = monitor.take()
    fixture.advance(by: .seconds(65))
    #expect(monitor.take().count == 2)
    let health = try #require(fixture.retained("health"))
    #expect(
      health.contains(
        #""service":"open","low":0,"out":0,"machines_down":0,"undecided":0,"ledger":"#))
  }
}
