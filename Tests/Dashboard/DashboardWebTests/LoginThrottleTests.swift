import Testing

@testable import DashboardWeb

@Suite final class LoginThrottleTests {
  /// A throttle with enough slots that the tests' keys share none.
  private var throttle = LoginThrottle(slots: 1 << 16)
  private let start = ContinuousClock.Instant.start

  /// Returns how many of `count` attempts are allowed.
  private func tries(
    _ count: Int, after time: Duration = .zero, _ attempt: (Int) -> LoginThrottle.Attempt
  ) -> Int {
    (0..<count).count { throttle.begin(attempt($0), at: start + time) == nil }
  }

  private func stranger(_ name: String, _ address: String) -> LoginThrottle.Attempt {
    LoginThrottle.Attempt(name: name, origin: AddressBlock(address), device: nil)
  }

  private func known(_ name: String, _ device: String) -> LoginThrottle.Attempt {
    LoginThrottle.Attempt(name: name, origin: AddressBlock("192.0.2.1"), device: device)
  }

  @Test func aNameFromAnAddressHasTenAttemptsAndOneMoreEachMinute() {
    #expect(tries(20) { _ in stranger("minji", "192.0.2.1") } == 10)
    #expect(throttle.begin(stranger("minji", "192.0.2.1"), at: start) == .seconds(60))
    #expect(tries(5, after: .seconds(59)) { _ in stranger("minji", "192.0.2.1") } == 0)
    #expect(tries(5, after: .seconds(60)) { _ in stranger("minji", "192.0.2.1") } == 1)
    #expect(tries(20, after: .seconds(3600)) { _ in stranger("minji", "192.0.2.1") } == 10)
    // Other addresses and other names are not affected.
    #expect(tries(1, after: .seconds(3600)) { _ in stranger("minji", "192.0.2.2") } == 1)
    #expect(tries(1, after: .seconds(3600)) { _ in stranger("vera", "192.0.2.1") } == 1)
  }

  @Test func anAddressHasThirtyAttemptsAtAllNames() {
    #expect(tries(100) { stranger("u\($0)", "192.0.2.1") } == 30)
    #expect(tries(100) { stranger("u\($0)", "192.0.2.2") } == 30)
    #expect(tries(5, after: .seconds(60)) { stranger("v\($0)", "192.0.2.1") } == 1)
  }

  @Test func aNameHasAHundredAttemptsFromEverywhere() {
    #expect(tries(300) { stranger("minji", "2001:db8:0:\($0)::1") } == 100)
    #expect(tries(300, after: .seconds(600)) { stranger("minji", "2001:db8:1:\($0)::1") } == 10)
    #expect(tries(1) { _ in stranger("vera", "2001:db8:0:1::1") } == 1)
    // Known browsers are counted separately and do not use up each other's attempts.
    #expect(tries(20) { _ in known("minji", "phone") } == 10)
    #expect(tries(20) { _ in known("minji", "till") } == 10)
    #expect(tries(1) { _ in stranger("vera", "192.0.2.1") } == 1)
  }

  @Test func aRightPasswordDoesNotCount() {
    for _ in 0..<200 {
      for attempt in [stranger("minji", "192.0.2.1"), known("minji", "phone")] {
        #expect(throttle.begin(attempt, at: start) == nil)
        throttle.revert(attempt)
      }
    }
    // A successful login does not reset the count for other names, so having an account does not
    // help to guess passwords.
    #expect(tries(30) { stranger("u\($0)", "192.0.2.1") } == 30)
    throttle.revert(stranger("minji", "192.0.2.1"))
    #expect(tries(5) { stranger("w\($0)", "192.0.2.1") } == 1)
  }
}
