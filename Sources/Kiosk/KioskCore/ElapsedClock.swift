package import KioskProtocol

/// The evidence that the computer has for its wall clock.
package struct ClockEvidence: Hashable, Sendable {
  /// A number that identifies this start of the computer, or `nil` if it is unknown.
  package var boot: Int?
  /// Whether a time server has set the wall clock since the start of the computer, or a hardware
  /// clock has given it the time.
  package var isConfirmed: Bool

  package init(boot: Int? = nil, isConfirmed: Bool = true) {
    (self.boot, self.isConfirmed) = (boot, isConfirmed)
  }
}

/// The clocks at a moment of an earlier process, as recorded in the ledger.
package struct ClockRecord: Hashable, Sendable {
  package var at: Timestamp
  /// The start of the computer, and the time since then; `boot` is `nil` if it is unknown.
  package var boot: Int?
  package var uptime: Duration
  /// The time that has elapsed since the first record, on a clock that is never set.
  package var elapsed: Duration
  /// Milliseconds by which a clock that is in doubt was set back, less the later steps forward.
  package var behind: Int64
  /// The last entry whose age is in doubt, or `nil` if the clock is not in doubt.
  package var doubtful: Int?
  /// Whether a person has said that the clock is right, so that the doubt blocks nothing.
  package var isAccepted: Bool

  package init(
    at: Timestamp, boot: Int?, uptime: Duration, elapsed: Duration, behind: Int64 = 0,
    doubtful: Int? = nil, isAccepted: Bool = false
  ) {
    (self.at, self.boot, self.uptime, self.elapsed) = (at, boot, uptime, elapsed)
    (self.behind, self.doubtful, self.isAccepted) = (behind, doubtful, isAccepted)
  }
}

/// Determines how much time has passed since earlier processes recorded something, and whether that
/// is in doubt.
///
/// | since the last record | the time that has passed |
/// |---|---|
/// | the computer has run on (same `boot`) | by the monotonic clock |
/// | it was off; the wall clock is confirmed, and not before the record | by the wall clock |
/// | it was off, and anything else | at least that by the wall clock, and at least zero: in doubt |
///
/// At the first start there is no record, and a clock that nothing confirms is in doubt, too.
///
/// The doubt ends when the wall clock is confirmed and shows no earlier time than any before. Each
/// step forward until then, beyond what the clock was behind, is time for which the computer was off,
/// and ages what earlier starts have recorded. A person who says that the clock is right ends what
/// the doubt blocks, and a later step still ages it. A confirmed clock that shows an earlier time
/// than the record never ends the doubt: the record was wrong, so that only a person can decide.
package struct ElapsedClock: Sendable {
  private let record: ClockRecord?
  /// The last entry of earlier processes.
  private let seq: Int
  /// The wall clock minus the uptime in milliseconds, or `nil` before the first `update`.
  private var offset: Int64?
  private(set) var startedAt = Duration.zero
  /// The time that has elapsed since the first record, minus the uptime.
  private(set) var base = Duration.zero
  /// The time that the wall clock showed at a start after the computer was off, as
  /// `ClockRecord.elapsed`.
  private var shown: Duration?
  /// Whether the computer was off between the last record and the start.
  private(set) var wasOff = false
  /// See `ClockRecord`.
  private(set) var doubtful: Int?
  /// See `ClockRecord`.
  private(set) var behind: Int64
  private var isAccepted = false
  private var isSaved = true
  /// Whether the ledger has a record of this start of the computer.
  private var isRecorded = false

  /// The smallest step of the clock that counts, in milliseconds. A time server adjusts smaller
  /// errors.
  private static let leastStep: Int64 = 1_000
  /// The error of the clock, in milliseconds, within which it is not before a record.
  private static let tolerance: Int64 = 60_000

  init(_ state: LedgerState) {
    (record, seq, behind) = (state.clock, state.seq, state.clock?.behind ?? 0)
  }

  /// A change of the wall clock against the monotonic clock.
  struct Step {
    /// Milliseconds, positive if the clock was set forward.
    var milliseconds: Int64 = 0
    /// The time for which the computer was off, and the last entry that it makes older.
    var passed = Duration.zero
    var ages = 0
  }

  /// Whether fruit and sensors are blocked because the time is unknown.
  package var blocks: Bool { doubtful != nil && !isAccepted }

  /// Whether the doubt has begun or ended, and the ledger does not have it yet.
  var hasChanged: Bool { !isSaved }

  /// Compares the clocks.
  ///
  /// - Returns: The change since the last call. The first call compares with the last record.
  mutating func update(at now: Moment) -> Step {
    let current = now.timestamp.milliseconds - now.uptime.milliseconds
    if offset == nil { start(at: now, current) }
    var step = Step(milliseconds: current - (offset ?? current))
    if abs(step.milliseconds) < Self.leastStep {
      step.milliseconds = 0
    } else {
      offset = current
      let ended = max(-behind, -step.milliseconds)
      behind += ended
      // guard: a clock that is set ages the stock of before the start
      if let doubtful {
        (step.passed, step.ages) = (.milliseconds(step.milliseconds + ended), doubtful)
      }
    }
    base += step.passed
    if now.evidence.isConfirmed, behind <= Self.tolerance {
      if doubtful != nil { (doubtful, isAccepted, isSaved) = (nil, false, false) }
    }
    // A clock that is not in doubt was ahead before it was set back.
    if doubtful == nil, now.evidence.isConfirmed { behind = 0 }
    return step
  }

  private mutating func start(at now: Moment, _ current: Int64) {
    (offset, startedAt) = (current, now.uptime)
    if let record, let boot = record.boot, boot == now.evidence.boot, now.uptime >= record.uptime {
      offset = record.at.milliseconds - record.uptime.milliseconds
      base = record.elapsed - record.uptime
      isRecorded = true
      (doubtful, isAccepted) = (record.doubtful, record.isAccepted)
    } else {
      wasOff = record != nil
      let away = record.map { now.timestamp.milliseconds - $0.at.milliseconds } ?? 0
      shown = record.map { $0.elapsed + .milliseconds(away) }
      let isBehind = away < behind - Self.tolerance
      // guard: a start whose clock is not confirmed is in doubt
      if !now.evidence.isConfirmed || isBehind { doubtful = seq }
      let step = away < 0 ? away : isBehind ? 0 : behind
      offset = current - step
      let passed = Duration.milliseconds(max(0, away - step))
      base = (record?.elapsed ?? .zero) + passed - now.uptime
      isSaved = record == nil
    }
  }

  /// Returns the uptime of something that an earlier start has recorded, after a step of the clock.
  func older(_ time: Duration, by step: Step) -> Duration {
    time <= startedAt ? time - step.passed : time
  }

  /// Returns whether an earlier process has recorded a time of `ClockRecord.elapsed`.
  func isEarlier(_ time: Duration) -> Bool { record.map { time <= $0.elapsed } ?? false }

  /// Returns whether an earlier start has recorded a time of `ClockRecord.elapsed` that is later
  /// than the wall clock showed at this start.
  func isAgeUnknown(of time: Duration) -> Bool {
    isEarlier(time) && shown.map { time > $0 } ?? false
  }

  /// Notes that a person has said that the clock is right.
  mutating func accept() {
    guard doubtful != nil else { return }
    (isAccepted, isSaved, behind) = (true, false, 0)
  }

  /// Adds the clocks to a transaction that stores times, if the doubt has changed, or to the first
  /// transaction since the start of the computer that changes an order.
  mutating func save(in transaction: inout LedgerTransaction, at now: Moment) {
    let needsRecord = transaction.state.keys.contains { key in
      key.kind.hasTimes || !isRecorded && (key.kind == .job || key.kind == .charge)
    }
    guard !isSaved || needsRecord else { return }
    (isSaved, isRecorded) = (true, true)
    transaction.clock = ClockRecord(
      at: now.timestamp, boot: now.evidence.boot, uptime: now.uptime, elapsed: now.uptime + base,
      behind: behind, doubtful: doubtful, isAccepted: isAccepted)
  }
}
