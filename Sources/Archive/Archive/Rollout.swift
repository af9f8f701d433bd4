/// The state of a menu's rollout, and its next step. A value without I/O and without a clock.
///
/// First, `first` kiosks get the menu at once. When each of them has reported, or has been silent
/// for longer than the timeout, the others follow at a rate of `perMinute`. The rollout stops when
/// too many kiosks have failed.
package struct Rollout: Equatable, Sendable {
  package enum State: String, Sendable, CaseIterable {
    case running
    /// Paused by a person.
    case paused
    /// Stopped automatically, because too many kiosks have failed.
    case stopped
    case aborted
    /// Each kiosk was sent the menu, and has reported or exceeded the timeout.
    case done

    /// Whether a rollout in this state prevents another rollout from starting.
    package var isOpen: Bool { self == .running || self == .paused }
  }

  /// The number of kiosks that were not sent the menu, that may still report, that have taken or
  /// refused it, and that have exceeded the timeout.
  package struct Counts: Equatable, Sendable {
    package var unsent = 0
    /// Kiosks that were sent the menu and may still report within the timeout.
    package var waiting = 0
    package var taken = 0
    package var refused = 0
    package var silent = 0

    package init(
      unsent: Int = 0, waiting: Int = 0, taken: Int = 0, refused: Int = 0, silent: Int = 0
    ) {
      self.unsent = unsent
      self.waiting = waiting
      self.taken = taken
      self.refused = refused
      self.silent = silent
    }

    package var failed: Int { refused + silent }
    package var sent: Int { waiting + taken + failed }
    package var all: Int { unsent + sent }
  }

  enum Step: Equatable {
    /// Sends the menu to this number of further kiosks. `rest` is the part of `sinceLast` that was
    /// too short for another kiosk, in seconds, at most 2; it counts for the next step.
    case send(Int, rest: Double = 0)
    case wait
    case become(State)
  }

  /// A decision of a person.
  package enum Decision: String, Sendable { case pause, resume, abort }

  package let version: Int
  package var state: State
  /// Number of kiosks that get the menu at once.
  package var first: Int
  package var perMinute: Int
  /// Maximum share of failed kiosks, in percent of the kiosks that were sent the menu.
  package var limit: Double
  package var counts: Counts
  /// Seconds since the menu was last sent to a further kiosk, or `nil` if it was sent to none.
  package var sinceLast: Double?

  package init(
    version: Int, state: State = .running, first: Int, perMinute: Int, limit: Double,
    counts: Counts, sinceLast: Double? = nil
  ) {
    self.version = version
    self.state = state
    self.first = first
    self.perMinute = perMinute
    self.limit = limit
    self.counts = counts
    self.sinceLast = sinceLast
  }

  package var isOverLimit: Bool { Double(counts.failed) * 100 > limit * Double(counts.sent) }

  func next() -> Step {
    guard state == .running else { return .wait }
    if isOverLimit { return .become(.stopped) }
    if counts.unsent == 0 { return counts.waiting == 0 ? .become(.done) : .wait }
    if counts.sent < first { return .send(min(first - counts.sent, counts.unsent)) }
    if counts.sent == first, counts.waiting > 0 { return .wait }
    guard let sinceLast else { return .send(1) }
    let due = max(0, min(sinceLast, 60)) * Double(perMinute) / 60
    guard due >= 1 else { return .wait }
    // `rest` shortens the kiosks' time to report, so it has a limit. It is longer than the time
    // between two steps only after a pause.
    let rest = min(2, due.truncatingRemainder(dividingBy: 1) * 60 / Double(perMinute))
    // Limits the number of menus, so that after a pause, the delayed ones are not all sent at once.
    return .send(min(Int(due), max(1, perMinute / 6), counts.unsent), rest: rest)
  }

  /// Returns the state after a decision.
  ///
  /// - Throws: `RolloutError` if the decision is not possible now.
  package func state(after decision: Decision) throws(RolloutError) -> State {
    switch (decision, state) {
    case (.pause, .running): return .paused
    case (.resume, .paused), (.resume, .stopped), (.resume, .aborted):
      guard !isOverLimit else { throw .overLimit(self) }
      return .running
    case (.abort, .running), (.abort, .paused), (.abort, .stopped): return .aborted
    default: throw .notNow(decision, self)
    }
  }
}

/// The reason why a rollout cannot start, or why a decision about it is not possible.
package enum RolloutError: Error, Equatable, Sendable {
  case none
  case noKiosks(region: String?)
  /// Size of the encoded menu message, in bytes.
  case tooLarge(Int, limit: Int)
  case open(version: Int, Rollout.State)
  /// More than `limit` percent of the kiosks will refuse the menu; `of` is the number of kiosks.
  case doesNotFit([RolloutTable.Misfit], of: Int, limit: Double)
  case notNow(Rollout.Decision, Rollout)
  case overLimit(Rollout)
}

extension RolloutError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .none: "there is no roll-out: start one with 'fleet push'"
    case .noKiosks(let region):
      "there is no kiosk\(region.map { " in the region \($0)" } ?? ""): load a list with 'kiosks load'"
    case .tooLarge(let size, let limit):
      "the menu message has \(size) bytes; kiosks accept at most \(limit)"
    case .open(let version, let state):
      "menu \(version) is \(state.rawValue): \(state == .paused ? "resume it" : "wait for its end") "
        + "or abort it before you push another"
    case .doesNotFit(let misfits, let all, let limit):
      "\(misfits.reduce(0) { $0 + $1.count }) of \(all) kiosks would refuse the menu, more than \(limit)%; "
        + "correct it, or push with a higher --limit:\n"
        + misfits.map { "\($0)" }.joined(separator: "\n")
    case .notNow(let decision, let rollout):
      "menu \(rollout.version) is \(rollout.state.rawValue): you cannot \(decision.rawValue) it"
    case .overLimit(let rollout):
      "menu \(rollout.version) has failed at \(rollout.counts.failed) of \(rollout.counts.sent) kiosks, more than "
        + "\(rollout.limit)%: resume with a higher --limit, or correct the failed kiosks and resume with --again"
    }
  }
}
