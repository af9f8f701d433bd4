import JuiceDomain
import KioskCore
import KioskProtocol
import MessageBroker
import Testing

/// Tests a kiosk with a machine and an unreliable connection to the broker.
@Suite struct MachineConnectionTests {
  private let fixture: KioskFixture

  init() throws {
    fixture = try KioskFixture { $0.machines = [KioskSettings.Machine(name: "bar")] }
  }

  @Test func afterAnOutageTheMachineIsAskedAgain() throws {
    try fixture.startKiosk()
    let panel = try fixture.panel()
    let bar = try fixture.testClient("bar", subscribedTo: ["kiosk/k1/make/bar/#"])
    fixture.publish("online", to: "kiosk/k1/machine/bar/status", by: bar, retain: true)
    fixture.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar"])
    // Messages in flight may not have arrived.
    fixture.crashConnection(for: .seconds(1))
    fixture.advance(by: .seconds(5))
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar"])
    fixture.publish(#"{"job":2,"status":"started"}"#, to: "kiosk/k1/made/bar", by: bar)
    fixture.crashConnection(for: .seconds(1))
    fixture.advance(by: .seconds(5))
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar/cancel"])
    fixture.publish(#"{"job":2,"status":"done"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(try panel.takeResults().map(\.status) == [.accepted, .ready])
  }
}
