import Testing

@testable import KioskDaemon

@Suite struct TokenBucketTests {
  @Test func itHoldsTheBurst() {
    var bucket = TokenBucket(perSecond: 20, burst: 20)
    #expect((0..<21).map { _ in bucket.take(at: .zero) }.count(where: \.self) == 20)
    #expect(bucket.take(at: .milliseconds(50)) && !bucket.take(at: .milliseconds(50)))
  }

  @Test func whatIsTakenComesBackAtThePace() {
    var bucket = TokenBucket(perSecond: 100)
    #expect(bucket.available(at: .seconds(5)) == 10)
    bucket.take(10)
    #expect(bucket.available(at: .seconds(5)) == 0)
    #expect(bucket.wait(for: 5) == .milliseconds(50))
    #expect(bucket.available(at: .seconds(5) + .milliseconds(50)) == 5)
    #expect(bucket.available(at: .seconds(500)) == 10)
  }

  @Test func onePerSecondIsOneAtOnce() {
    var bucket = TokenBucket(perSecond: 1)
    #expect(bucket.available(at: .zero) == 1)
    bucket.take(1)
    #expect(bucket.wait(for: 50) == .seconds(1))
    #expect(bucket.available(at: .milliseconds(999)) == 0)
    #expect(bucket.available(at: .seconds(1)) == 1)
  }

  @Test func aClockThatStandsStillGivesNothing() {
    var bucket = TokenBucket(perSecond: 10)
    #expect(bucket.available(at: .seconds(9)) == 1)
    bucket.take(1)
    #expect(bucket.available(at: .seconds(3)) == 0)
  }
}
