import Testing

@testable import Uplink

@Suite struct AllowanceTests {
  @Test func whatIsTakenComesBackAtThePace() {
    var allowance = Allowance(perSecond: 100)
    #expect(allowance.available(at: .seconds(5)) == 10)
    allowance.take(10)
    #expect(allowance.available(at: .seconds(5)) == 0)
    #expect(allowance.wait(for: 5) == .milliseconds(50))
    #expect(allowance.available(at: .seconds(5) + .milliseconds(50)) == 5)
    #expect(allowance.available(at: .seconds(500)) == 10)
  }

  @Test func onePerSecondIsOneAtOnce() {
    var allowance = Allowance(perSecond: 1)
    #expect(allowance.available(at: .zero) == 1)
    allowance.take(1)
    #expect(allowance.wait(for: 50) == .seconds(1))
    #expect(allowance.available(at: .milliseconds(999)) == 0)
    #expect(allowance.available(at: .seconds(1)) == 1)
  }

  @Test func aClockThatStandsStillGivesNothing() {
    var allowance = Allowance(perSecond: 10)
    #expect(allowance.available(at: .seconds(9)) == 1)
    allowance.take(1)
    #expect(allowance.available(at: .seconds(3)) == 0)
  }
}
