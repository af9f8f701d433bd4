import JuiceDomain
import KioskProtocol

/// The schedule of replay requests, without I/O and clock: at most one pending range per kiosk,
/// requested again until the kiosk has published it, rejects it or is silent for `answerTimeout`.
struct ReplayScheduler: Sendable {
  struct PendingReplay: Sendable {
    let ledger: LedgerKey
    let range: ClosedRange<Int>
    fileprivate(set) var sentAt: ContinuousClock.Instant
    fileprivate(set) var lastAnswerAt: ContinuousClock.Instant

    /// The request, with an id derived from the range, so that another archiver can continue the
    /// replay. The range includes the entry after the gap: a kiosk whose ledger begins with that
    /// entry then reports it as the first one, and does not reject the request.
    var request: ReplayRequest {
      let id = "\(ledger.epoch)-\(range.lowerBound)-\(range.upperBound)"
      return ReplayRequest(
        id: Request.ID(id) ?? "gap", epoch: ledger.epoch,
        range: range.lowerBound...range.upperBound + 1)
    }
  }

  private var open: [KioskID: PendingReplay] = [:]
  /// The times at which the latest replays ended.
  private var ended: [KioskID: ContinuousClock.Instant] = [:]

  /// The kiosks that replay, or have done so until a moment ago: a kiosk with many gaps must leave
  /// room for others.
  var kiosks: [KioskID] { Array(open.keys) + ended.keys }
  /// Number of replays that may begin now.
  var capacity: Int { min(Self.maximumPerSecond, Self.maximumOpen - open.count) }

  /// Records replays of gaps, up to the capacity and at most one per kiosk.
  ///
  /// - Parameter gaps: Gaps, the most urgent first.
  /// - Returns: The replays to request now.
  mutating func schedule(
    _ gaps: [(ledger: LedgerKey, range: ClosedRange<Int>)], at now: ContinuousClock.Instant
  ) -> [PendingReplay] {
    let limit = capacity
    var begun: [PendingReplay] = []
    for gap in gaps where open[gap.ledger.kiosk] == nil && begun.count < limit {
      let replay = PendingReplay(
        ledger: gap.ledger, range: gap.range, sentAt: now, lastAnswerAt: now)
      open[gap.ledger.kiosk] = replay
      begun.append(replay)
    }
    return begun
  }

  /// Returns the replays to request again, because a request or its answer may be lost.
  mutating func takeDueForRetry(at now: ContinuousClock.Instant) -> [PendingReplay] {
    let due = open.values.filter { now - $0.sentAt >= Self.retryInterval }
    for replay in due { open[replay.ledger.kiosk]?.sentAt = now }
    return due
  }

  /// Removes and returns the replays whose kiosks have not answered for `answerTimeout`.
  mutating func removeTimedOut(at now: ContinuousClock.Instant) -> [PendingReplay] {
    ended = ended.filter { now - $0.value < Self.restInterval }
    let silent = open.values.filter { now - $0.lastAnswerAt >= Self.answerTimeout }
    for replay in silent { open[replay.ledger.kiosk] = nil }
    return silent
  }

  /// Records an answer of a kiosk.
  ///
  /// - Returns: The replay that it belongs to, or `nil` if it answers no pending request.
  mutating func receive(
    _ result: ReplayResult, from kiosk: KioskID, at now: ContinuousClock.Instant
  ) -> PendingReplay? {
    guard let replay = open[kiosk] else { return nil }
    switch result {
    case .replaying(replay.request.id, _, _, _): open[kiosk]?.lastAnswerAt = now
    case .done(replay.request.id, _, _), .rejected(replay.request.id, _, _):
      open[kiosk] = nil
      ended[kiosk] = now
    default: return nil
    }
    return replay
  }

  /// Maximum number of kiosks that replay at the same time, each at up to
  /// `uplink.entries_per_second` (200 by default).
  private static let maximumOpen = 100
  /// Maximum number of replays begun per second; repeated requests do not count.
  private static let maximumPerSecond = 10
  /// Time between the end of a kiosk's replay and its next one.
  private static let restInterval = Duration.seconds(3)
  private static let retryInterval = Duration.seconds(5)
  private static let answerTimeout = Duration.seconds(30)
}
