/// Runs schedules. If one breaks the contract, reports it without the steps that the violation does not need.
package enum Simulation {
  /// A violation with its schedule and trace.
  package struct Failure: Error, CustomStringConvertible, Sendable {
    package let violation: Violation
    package let schedule: Schedule
    package let trace: [String]

    /// The trace, shortened because a flood produces thousands of lines.
    private var excerpt: [String] {
      trace.count <= 200 ? trace : trace.prefix(100) + ["     …"] + trace.suffix(100)
    }

    package var description: String {
      """
      \(violation)
      \(schedule.title), shrunk to \(schedule.steps.count) steps:
      \(excerpt.joined(separator: "\n"))
      To run it again: deploy/test --simulate 1 --seed \(schedule.seed)
      """
    }
  }

  /// Runs a schedule.
  ///
  /// - Returns: the trace.
  /// - Throws: `Failure` with the shrunk schedule.
  @discardableResult
  package static func run(
    _ schedule: Schedule, injectedBug: World.InjectedBug? = nil
  ) throws(Failure) -> [String] {
    let (violation, trace) = play(schedule, injectedBug)
    guard let violation else { return trace }
    let shrunk = shrink(schedule, breaking: violation.rule, injectedBug)
    let (last, lastTrace) = play(shrunk, injectedBug)
    throw Failure(violation: last ?? violation, schedule: shrunk, trace: lastTrace)
  }

  private static func play(
    _ schedule: Schedule, _ injectedBug: World.InjectedBug?
  ) -> (Violation?, [String]) {
    var trace: [String] = []
    do {
      let world = try World(rules: schedule.rules, injectedBug: injectedBug)
      defer { world.close() }
      for (index, step) in schedule.steps.enumerated() {
        trace.append("\(index + 1). \(step)")
        try world.perform(step)
        trace += world.takeTrace().map { "     \($0)" }
        if let violation = world.violation { return (violation, trace) }
      }
      trace.append("Everything is mended.")
      try world.recover()
      trace += world.takeTrace().map { "     \($0)" }
      return (world.violation, trace)
    } catch {
      return (Violation(rule: .world, detail: "\(error)"), trace)
    }
  }

  /// Removes as many steps as possible, at first half of them at a time, while the same rule is
  /// broken.
  private static func shrink(
    _ schedule: Schedule, breaking rule: Violation.Rule, _ injectedBug: World.InjectedBug?
  ) -> Schedule {
    var shrunk = schedule
    var size = shrunk.steps.count / 2
    while size > 0 {
      var start = 0
      var hasShrunk = false
      while start < shrunk.steps.count {
        var candidate = shrunk
        candidate.steps.removeSubrange(start..<min(start + size, shrunk.steps.count))
        if play(candidate, injectedBug).0?.rule == rule {
          shrunk = candidate
          hasShrunk = true
        } else {
          start += size
        }
      }
      if size > 1 || !hasShrunk { size /= 2 }
    }
    return shrunk
  }
}
