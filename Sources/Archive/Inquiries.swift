import JuiceDomain
import KioskMessages

/// Which kiosks are asked for entries that are missing: each for one range at a time, and again until it is
/// done. A value that does no I/O and reads no clock.
struct Inquiries: Sendable {
  struct Inquiry: Sendable {
    let ledger: LedgerKey
    let range: ClosedRange<Int>
    fileprivate(set) var sentAt: ContinuousClock.Instant
    fileprivate(set) var heardAt: ContinuousClock.Instant

    /// The same whoever asks, so that another archiver goes on where this one ends. A kiosk always has the
    /// entry after a gap, and says where its ledger begins if that is in between.
    var request: ReplayRequest {
      let id = "\(ledger.epoch)-\(range.lowerBound)-\(range.upperBound)"
      return ReplayRequest(
        id: Request.ID(id) ?? "gap", epoch: ledger.epoch,
        range: range.lowerBound...range.upperBound + 1)
    }
  }

  private var open: [KioskID: Inquiry] = [:]

  var kiosks: [KioskID] { Array(open.keys) }
  /// How many kiosks may be asked for something now.
  var room: Int { min(Self.atOnce, Self.most - open.count) }

  /// - Parameter gaps: of kiosks, the most urgent first.
  /// - Returns: which of them are asked for now.
  mutating func begin(
    _ gaps: [(ledger: LedgerKey, range: ClosedRange<Int>)], at now: ContinuousClock.Instant
  ) -> [Inquiry] {
    let room = room
    var begun: [Inquiry] = []
    for gap in gaps where open[gap.ledger.kiosk] == nil && begun.count < room {
      let inquiry = Inquiry(ledger: gap.ledger, range: gap.range, sentAt: now, heardAt: now)
      open[gap.ledger.kiosk] = inquiry
      begun.append(inquiry)
    }
    return begun
  }

  /// Those that are sent again, as a message or its answer may be lost.
  mutating func repeated(at now: ContinuousClock.Instant) -> [Inquiry] {
    let due = open.values.filter { now - $0.sentAt >= Self.interval }
    for inquiry in due { open[inquiry.ledger.kiosk]?.sentAt = now }
    return due
  }

  /// Those whose kiosks have been silent for too long. They are over.
  mutating func silent(at now: ContinuousClock.Instant) -> [Inquiry] {
    let silent = open.values.filter { now - $0.heardAt >= Self.longestSilence }
    for inquiry in silent { open[inquiry.ledger.kiosk] = nil }
    return silent
  }

  /// A kiosk has answered.
  ///
  /// - Returns: what it was asked; `nil` if this is no answer to it.
  mutating func heard(
    _ result: ReplayResult, from kiosk: KioskID, at now: ContinuousClock.Instant
  ) -> Inquiry? {
    guard let inquiry = open[kiosk] else { return nil }
    switch result {
    case .replaying(inquiry.request.id, _, _, _): open[kiosk]?.heardAt = now
    case .done(inquiry.request.id, _, _), .rejected(inquiry.request.id, _, _): open[kiosk] = nil
    default: return nil
    }
    return inquiry
  }

  /// Kiosks that tell entries again at a time: each so many as its pace allows, 200 in a second.
  private static let most = 100
  /// In one round, of which there is one in a second.
  private static let atOnce = 10
  private static let interval = Duration.seconds(5)
  private static let longestSilence = Duration.seconds(30)
}
