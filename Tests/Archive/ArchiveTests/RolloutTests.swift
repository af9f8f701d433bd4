import Testing

@testable import Archive

/// A rollout to 100 kiosks: the first 10 at once, then 60 a minute; it stops above 10% failed.
@Suite struct RolloutTests {
  typealias Counts = Rollout.Counts

  private static func rollout(
    _ counts: Counts, _ state: Rollout.State = .running, sinceLast: Double? = 1, limit: Double = 10
  ) -> Rollout {
    Rollout(
      version: 7, state: state, first: 10, perMinute: 60, limit: limit, counts: counts,
      sinceLast: sinceLast)
  }

  @Test(arguments: [
    // The first kiosks get the menu at once, the others only after each of these has an outcome.
    (Counts(unsent: 100), nil, Rollout.Step.send(10)),
    (Counts(unsent: 97, waiting: 3), 0, .send(7)),
    (Counts(unsent: 90, waiting: 10), 1, .wait),
    (Counts(unsent: 90, waiting: 1, taken: 9), 1000, .wait),
    (Counts(unsent: 90, taken: 10), 1, .send(1)),
    (Counts(unsent: 90, taken: 9, silent: 1), 1, .send(1)),
    // Then at the rate, whether the kiosks have reported or not.
    (Counts(unsent: 89, waiting: 1, taken: 10), 0.9, .wait),
    (Counts(unsent: 89, waiting: 1, taken: 10), 1, .send(1)),
    (Counts(unsent: 89, waiting: 1, taken: 10), 3.5, .send(3, rest: 0.5)),
    (Counts(unsent: 89, waiting: 1, taken: 10), 86_400, .send(10)),
    (Counts(unsent: 2, waiting: 1, taken: 97), 5, .send(2)),
    (Counts(unsent: 89, waiting: 1, taken: 10), -5, .wait),
    // Until the rollout is done.
    (Counts(waiting: 1, taken: 99), 1, .wait),
    (Counts(taken: 90, refused: 5, silent: 5), 1, .become(.done)),
    (Counts(), nil, .become(.done)),
    // Or until too many kiosks have failed.
    (Counts(unsent: 90, taken: 8, refused: 1, silent: 1), 1, .become(.stopped)),
    (Counts(unsent: 90, waiting: 8, refused: 2), 1, .become(.stopped)),
    (Counts(unsent: 80, taken: 18, refused: 2), 1, .send(1)),
    (Counts(taken: 89, refused: 11), 1, .become(.stopped)),
  ])
  func whatComesNext(counts: Counts, sinceLast: Double?, step: Rollout.Step) {
    #expect(Self.rollout(counts, sinceLast: sinceLast).next() == step)
  }

  @Test func theRateIsKept() {
    var rollout = Self.rollout(Counts(unsent: 1000, taken: 10))
    rollout.perMinute = 100
    var (last, sent) = (0.0, 0)
    for call in 1...60 {
      let now = Double(call) * 1.01
      rollout.sinceLast = now - last
      guard case .send(let count, let rest) = rollout.next() else { continue }
      (last, sent) = (now - rest, sent + count)
    }
    #expect((99...101).contains(sent))
  }

  /// The shortest timeout is 5 seconds.
  @Test func aKioskHasTimeToReportAfterAPause() {
    var rollout = Self.rollout(Counts(unsent: 89, taken: 11), sinceLast: 59)
    rollout.perMinute = 2
    #expect(rollout.next() == .send(1, rest: 2))
  }

  @Test(arguments: Rollout.State.allCases) func onlyOneThatRunsDoesAnything(state: Rollout.State) {
    let step = Self.rollout(Counts(unsent: 1), state).next()
    #expect((step == .wait) == (state != .running))
  }

  @Test func noneMayFailAtALimitOfZero() {
    #expect(Self.rollout(Counts(unsent: 1, taken: 99), limit: 0).next() == .send(1))
    #expect(
      Self.rollout(Counts(unsent: 1, taken: 98, refused: 1), limit: 0).next() == .become(.stopped))
  }

  @Test(arguments: [
    (Rollout.State.running, Rollout.Decision.pause, Rollout.State.paused),
    (.running, .abort, .aborted),
    (.paused, .resume, .running), (.paused, .abort, .aborted), (.stopped, .resume, .running),
    (.stopped, .abort, .aborted), (.aborted, .resume, .running),
  ])
  func aPersonDecides(state: Rollout.State, decision: Rollout.Decision, next: Rollout.State) throws
  {
    #expect(try Self.rollout(Counts(unsent: 1), state).state(after: decision) == next)
  }

  @Test(arguments: [
    (Rollout.State.running, Rollout.Decision.resume), (.paused, .pause), (.stopped, .pause),
    (.aborted, .pause),
    (.aborted, .abort), (.done, .pause), (.done, .resume), (.done, .abort),
  ])
  func someThingsCannotBe(state: Rollout.State, decision: Rollout.Decision) {
    let rollout = Self.rollout(Counts(unsent: 1), state)
    #expect(throws: RolloutError.notNow(decision, rollout)) { try rollout.state(after: decision) }
  }

  @Test func whatHasStoppedDoesNotGoOnAboveItsLimit() {
    let rollout = Self.rollout(Counts(unsent: 90, taken: 8, refused: 2), .stopped)
    #expect(throws: RolloutError.overLimit(rollout)) { try rollout.state(after: .resume) }
  }
}
