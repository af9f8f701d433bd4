import Simulation
import Testing

@Suite struct SimulationTests {
  /// `deploy/test` runs many more, in the release build.
  @Test func noScheduleBreaksTheContract() throws {
    for seed in 1...UInt64(100) { try Simulation.run(Schedule(seed: seed)) }
  }

  @Test func aSeedIsTheSameForEver() throws {
    for seed in 1...UInt64(10) {
      let trace = try Simulation.run(Schedule(seed: seed))
      #expect(try Simulation.run(Schedule(seed: seed)) == trace)
    }
  }

  /// At any of its dealings with the broker, and it is started again at once.
  @Test(arguments: 1...40)
  func aKioskThatDiesLosesNoPress(atCall call: Int) throws {
    let press = Step.send([Sending(from: "order/p3", wish: .order(juice: "banana", quantity: 1))])
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [.crash(after: call), .start, press, press, .start, press]))
  }

  @Test(arguments: [
    (World.Sabotage.acknowledgesEarly, Violation.Rule.lost), (.hidesRedelivery, .twice),
  ])
  func aBrokenGuardIsNoticed(sabotage: World.Sabotage, rule: Violation.Rule) throws {
    var found: Simulation.Failure?
    for seed in 1...UInt64(1_000) where found == nil {
      do throws(Simulation.Failure) {
        try Simulation.run(Schedule(seed: seed), sabotage: sabotage)
      } catch {
        found = error
      }
    }
    let failure = try #require(found)
    #expect(failure.violation.rule == rule)
    #expect(failure.schedule.steps.count <= 5)
    #expect(
      failure.description.contains("deploy/test --simulate 1 --seed \(failure.schedule.seed)"))
  }
}
