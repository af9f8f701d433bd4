import JuiceDomain
import KioskProtocol

/// Which kiosks are asked for entries that are missing: each for one range at a time, and again until it is
/// done. A value that does no I/O and reads no clock.
struct ReplayScheduler: Sendable {
  struct PendingReplay: Sendable {
    let ledger: LedgerKey
    let range: ClosedRange<Int>
    fileprivate(set) var sentAt: ContinuousClock.Instant
    fileprivate(set) var lastAnswerAt: ContinuousClock.Instant

    /// The same whoever asks, so that another archiver goes on where this one ends. A kiosk always has the
    /// entry after a gap, and says where its ledger begins if that is in between.
    var request: ReplayRequest {
      let id = "\(ledger.epoch)-\(range.lowerBound)-\(range.upperBound)"
      return ReplayRequest(
        id: Request.ID(id) ?? "gap", epoch: ledger.epoch,
        range: range.lowerBound...range.upperBound + 1)
    }
  }

  private var open: [KioskID: PendingReplay] = [:]

  var kiosks: [KioskID] { Array(open.keys) }
  /// How many kiosks may be asked for something now.
  var capacity: Int { min(Self.maximumPerSecond, Self.maximumOpen - open.count) }

  /// - Parameter gaps: of kiosks, the most urgent first.
  /// - Returns: which of them are asked for now.
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

  /// Those that are sent again, as a message or its answer may be lost.
  mutating func takeDueForRetry(at now: ContinuousClock.Instant) -> [PendingReplay] {
    let due = open.values.filter { now - $0.sentAt >= Self.retryInterval }
    for replay in due { open[replay.ledger.kiosk]?.sentAt = now }
    return due
  }

  /// Those whose kiosks have been silent for too long. They are over.
  mutating func removeTimedOut(at now: ContinuousClock.Instant) -> [PendingReplay] {
    let silent = open.values.filter { now - $0.lastAnswerAt >= Self.answerTimeout }
    for replay in silent { open[replay.ledger.kiosk] = nil }
    return silent
  }

  /// A kiosk has answered.
  ///
  /// - Returns: what it was asked; `nil` if this is no answer to it.
  mutating func receive(
    _ result: ReplayResult, from kiosk: KioskID, at now: ContinuousClock.Instant
  ) -> PendingReplay? {
    guard let replay = open[kiosk] else { return nil }
    switch result {
    case .replaying(replay.request.id, _, _, _): open[kiosk]?.lastAnswerAt = now
    case .done(replay.request.id, _, _), .rejected(replay.request.id, _, _): open[kiosk] = nil
    default: return nil
    }
    return replay
  }

  /// Kiosks that tell entries again at a time: each so many as its pace allows, 200 in a second.
  private static let maximumOpen = 100
  /// The maximum number of replays requested in one second.
  private static let maximumPerSecond = 10
  private static let retryInterval = Duration.seconds(5)
  private static let answerTimeout = Duration.seconds(30)
}
