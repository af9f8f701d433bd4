import JuiceDomain
package import KioskMessages

/// Which troubles begin and which are over, and when that is told: each of it once.
///
/// A value: what it says follows from what it is shown, and from the times that it is given.
package struct TroubleWatch: Sendable {
  package struct Rules: Hashable, Sendable {
    /// For how long a kiosk, a machine or the broker has to be away before it is told.
    package var away: Duration
    /// For so long nothing is told after a start or after the broker was away, for kiosks come back by
    /// and by; for so long a trouble has to be over; and so far apart are two messages at least.
    package var quiet: Duration

    package init(away: Duration = .seconds(300), quiet: Duration = .seconds(60)) {
      (self.away, self.quiet) = (away, quiet)
    }
  }

  package struct News: Hashable, Sendable {
    package let trouble: Trouble
    package let isOver: Bool
    /// When the trouble began.
    package let since: Timestamp

    package init(_ trouble: Trouble, isOver: Bool = false, since: Timestamp) {
      (self.trouble, self.isOver, self.since) = (trouble, isOver, since)
    }
  }

  package typealias Instant = ContinuousClock.Instant

  /// No more troubles are told at a time.
  package static let maximum = 10_000
  /// A kiosk of which nothing is heard any more is forgotten after so long.
  private static let forgotten = Duration.seconds(30 * 24 * 3600)

  private let rules: Rules
  /// What was told and is not over, and since when it is so.
  package private(set) var told: [Trouble: Timestamp]
  /// What is there and was not told, and since when it is so.
  private var begun: [Trouble: Instant] = [:]
  /// What was told and is not there any more, and since when not.
  private var ended: [Trouble: Instant] = [:]
  private var started: Instant?
  private var connected: Instant?
  /// Since when there is something to tell.
  private var waiting: Instant?
  private var lastTold: Instant?

  /// - Parameter told: as an earlier one left it.
  package init(_ rules: Rules, told: [Trouble: Timestamp] = [:]) {
    (self.rules, self.told) = (rules, told)
  }

  /// To be asked about once a second.
  ///
  /// - Parameters:
  ///   - isConnected: whether the broker is there; if not, the kiosks count as they were.
  ///   - now: by the clock on the wall, for people; no rule goes by it.
  /// - Returns: what is to be told now, in one message; what is over comes last.
  package mutating func look(
    at fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp
  ) -> [News] {
    let started = started ?? instant
    self.started = started
    connected = isConnected ? connected ?? instant : nil
    compare(fleet, isConnected: isConnected, at: instant, now: now)

    let isSettled = connected.map { instant - $0 >= rules.quiet } ?? false
    func isDue(_ trouble: Trouble) -> Bool {
      trouble == .noBroker ? instant - started >= rules.quiet : isSettled
    }
    let begun = begun.filter { trouble, since in
      isDue(trouble) && instant - since >= patience(with: trouble, in: fleet)
    }
    let ended = ended.filter { isDue($0.key) && instant - $0.value >= rules.quiet }
    guard !begun.isEmpty || !ended.isEmpty else {
      waiting = nil
      return []
    }
    // What happens at once seldom does so to the second: a power cut of twenty kiosks.
    let waiting = waiting ?? instant
    self.waiting = waiting
    guard instant - waiting >= rules.quiet / 6,
      lastTold.map({ instant - $0 >= rules.quiet }) ?? true
    else { return [] }
    (self.waiting, lastTold) = (nil, instant)

    let new = begun.sorted { $0.key < $1.key }.prefix(max(0, Self.maximum - told.count))
      .map { trouble, since in News(trouble, since: now.before(instant - since)) }
    let over = ended.keys.sorted().map { News($0, isOver: true, since: told[$0] ?? now) }
    for news in new {
      told[news.trouble] = news.since
      self.begun[news.trouble] = nil
    }
    for news in over {
      told[news.trouble] = nil
      self.ended[news.trouble] = nil
    }
    return new + over
  }

  /// Notes what is there and what is not there any more.
  private mutating func compare(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp
  ) {
    func isKnown(_ trouble: Trouble) -> Bool {
      guard let kiosk = trouble.kiosk else { return true }
      // What a kiosk that is offline said last is neither true nor over.
      guard isConnected, let status = fleet[kiosk]?.status else { return false }
      return if case .offline = trouble { true } else { status == .online }
    }
    var there: Set<Trouble> = isConnected ? [] : [.noBroker]
    if isConnected { for kiosk in fleet.kiosks.values { there.formUnion(kiosk.troubles) } }
    for trouble in there where told[trouble] == nil { begun[trouble] = begun[trouble] ?? instant }
    for trouble in begun.keys where !there.contains(trouble) {
      // A broker that comes and goes makes no kiosk's absence shorter.
      if isConnected || trouble == .noBroker { begun[trouble] = nil }
    }
    for (trouble, since) in told {
      if there.contains(trouble) || !isKnown(trouble) {
        ended[trouble] = nil
      } else {
        ended[trouble] = ended[trouble] ?? instant
      }
      if isConnected, let kiosk = trouble.kiosk, fleet[kiosk] == nil,
        now.since(since) >= Self.forgotten
      {
        told[trouble] = nil
      }
    }
  }

  private func patience(with trouble: Trouble, in fleet: KioskFleet) -> Duration {
    switch trouble {
    case .noBroker, .offline: rules.away
    case .machine(let kiosk, let machine):
      // What has said that it is out of order will not come back by itself.
      switch fleet[kiosk]?.machines[machine]?.state {
      case .fault, .failing: .zero
      default: rules.away
      }
    case .job, .out: .zero
    }
  }
}

extension Timestamp {
  fileprivate func before(_ time: Duration) -> Timestamp {
    let (seconds, attoseconds) = time.components
    return Timestamp(
      milliseconds: milliseconds - seconds * 1000 - attoseconds / 1_000_000_000_000_000)
  }
}
