import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
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

  /// The kiosk opens at ten and closes at eleven, and is offline from nine to twelve.
  @Test(arguments: [MachineProgram.Cause.opening, .closing])
  func aProgramAtAnEdgeOfTheHoursIsDueAfterAnOutage(edge: MachineProgram.Cause) throws {
    let saturday = try #require(OpeningHours.Interval("10:00-11:00"))
    var program = KioskSettings.Machine.Program()
    program.at = edge
    fixture.settings.machines[0].programs[.clean] = program
    fixture.settings.hours = OpeningHours([.sat: saturday])
    try fixture.startKiosk()
    fixture.crashConnection(for: .seconds(3 * 3_600))
    #expect(try causes() == [], "nothing is recorded while the kiosk is offline")
    fixture.advance(by: .seconds(120))
    #expect(fixture.retained("status") == "online")
    #expect(try causes() == [edge.rawValue])
  }

  /// The causes of the programs that became due.
  private func causes() throws -> [String] {
    try fixture.ledger { try $0.rows(after: 0).map(\.row.entry.outcome) }.compactMap { outcome in
      guard case .program(let step) = outcome, step.kind == .due else { return nil }
      return step.reason
    }
  }
}
