/// What a roll-out of a menu does next: a value that does no I/O and reads no clock.
///
/// So many kiosks get the menu first, at once. When each of them has reported, or has been silent for
/// longer than the timeout, the others follow at a rate. It stops by itself when too many have failed.
package struct Rollout: Equatable, Sendable {
  package enum State: String, Sendable, CaseIterable {
    case running
    /// By a person.
    case paused
    /// By itself: too many have failed.
    case stopped
    case aborted
    /// Every kiosk has been sent the menu, and has reported or been silent for too long.
    case done

    /// Another roll-out cannot begin.
    package var isOpen: Bool { self == .running || self == .paused || self == .stopped }
  }

  /// How many kiosks are how far.
  package struct Counts: Equatable, Sendable {
    package var unsent = 0
    /// Sent, and silent for no longer than the timeout.
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
    /// The next so many kiosks get the menu.
    case send(Int)
    case wait
    case become(State)
  }

  /// What a person decides.
  package enum Decision: String, Sendable { case pause, resume, abort }

  package let version: Int
  package var state: State
  /// So many kiosks get it at once.
  package var first: Int
  package var perMinute: Int
  /// It stops above: failed kiosks in percent of those that it was sent to.
  package var limit: Double
  package var counts: Counts
  /// In seconds, since a kiosk was sent it for the first time; `nil`: none was.
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
    // After a pause not all at once that might have been sent in it.
    let due = min(Int(max(0, min(sinceLast, 60)) * Double(perMinute) / 60), max(1, perMinute / 6))
    return due > 0 ? .send(min(due, counts.unsent)) : .wait
  }

  /// - Throws: why it cannot be.
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

/// Why a roll-out cannot do what is asked.
package enum RolloutError: Error, Equatable, Sendable {
  case none
  case noKiosks(region: String?)
  /// In bytes, as it would be sent.
  case tooLarge(Int, limit: Int)
  case open(version: Int, Rollout.State)
  case notNow(Rollout.Decision, Rollout)
  case overLimit(Rollout)
}

extension RolloutError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .none: "there is no such roll-out: begin one with 'fleet push'"
    case .noKiosks(let region):
      "there is no kiosk\(region.map { " in the region \($0)" } ?? ""): load a list with 'kiosks load'"
    case .tooLarge(let size, let limit):
      "the menu is a message of \(size) bytes, and kiosks read \(limit)"
    case .open(let version, let state):
      "menu \(version) is \(state.rawValue): wait for its end, or abort it, before another begins"
    case .notNow(let decision, let rollout):
      "menu \(rollout.version) is \(rollout.state.rawValue): it cannot \(decision.rawValue)"
    case .overLimit(let rollout):
      "menu \(rollout.version) has failed at \(rollout.counts.failed) of \(rollout.counts.sent) kiosks, more than "
        + "\(rollout.limit)%: resume with a higher --limit, or with --again for those that were mended"
    }
  }
}
