import JuiceDomain
import KioskCore
import KioskMessages
import MessageBroker
import Testing

/// A kiosk that has a machine, and a broker that comes and goes.
@Suite struct MachineConnectionTests {
  private let scene: Scene

  init() throws {
    scene = try Scene { $0.machines = [KioskSettings.Machine(name: "bar")] }
  }

  @Test func afterAnOutageTheMachineIsAskedAgain() throws {
    try scene.startKiosk()
    let panel = try scene.panel()
    let bar = try scene.person("bar", hearing: ["kiosk/k1/make/bar/#"])
    scene.publish("online", to: "kiosk/k1/machine/bar/status", by: bar, retain: true)
    scene.publish("banana", to: "kiosk/k1/order/p1", by: panel)
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar"])
    // What was on its way may not have arrived.
    scene.crashConnection(for: .seconds(1))
    scene.advance(by: .seconds(5))
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar"])
    scene.publish(#"{"job":2,"status":"started"}"#, to: "kiosk/k1/made/bar", by: bar)
    scene.crashConnection(for: .seconds(1))
    scene.advance(by: .seconds(5))
    #expect(bar.take().map(\.topic) == ["kiosk/k1/make/bar/cancel"])
    scene.publish(#"{"job":2,"status":"done"}"#, to: "kiosk/k1/made/bar", by: bar)
    #expect(try panel.takeResults().map(\.status) == [.accepted, .ready])
  }
}
