import JuiceDomain
package import KioskMessages

/// Decides when people are told that a trouble begins, and that it is over: once each.
///
/// A value without a clock: it follows from the fleets and the times that it was given.
package struct TroubleWatch: Sendable {
  package struct Rules: Hashable, Sendable {
    /// For how long a kiosk, a machine or the broker has to be away before it is told.
    package var away: Duration
    /// Nothing is told for so long after a start, or after the broker was away, since kiosks come back one
    /// by one. A trouble has to be over for so long before that is told. Two messages are at least so far
    /// apart.
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

  /// No more troubles are told while so many are not over.
  package static let maximum = 10_000
  /// A trouble of so long ago is forgotten if nothing is heard of its kiosk any more.
  private static let forgotten = Duration.seconds(30 * 24 * 3600)

  private let rules: Rules
  /// The troubles that were told and are not over, and when they began.
  package private(set) var told: [Trouble: Timestamp]
  /// The troubles that were not told yet, and since when they are there.
  private var begun: [Trouble: Instant] = [:]
  /// The troubles that were told and are gone, and since when they are.
  private var ended: [Trouble: Instant] = [:]
  private var started: Instant?
  private var connected: Instant?
  /// Since when there is something to tell.
  private var waiting: Instant?
  private var lastTold: Instant?

  /// - Parameter told: the troubles that an earlier watch has told.
  package init(_ rules: Rules, told: [Trouble: Timestamp] = [:]) {
    (self.rules, self.told) = (rules, told)
  }

  /// To be asked about once a second.
  ///
  /// - Parameters:
  ///   - isConnected: whether the broker is there; if not, the kiosks count as they were.
  ///   - now: by the clock on the wall, for people.
  /// - Returns: what to tell now, in one message; troubles that are over come last.
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
    // One message tells of all troubles with one cause, such as a power cut of twenty kiosks, although they
    // do not begin in the same second.
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

  /// Notes which troubles are there, and which are gone.
  private mutating func compare(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp
  ) {
    func isKnown(_ trouble: Trouble) -> Bool {
      guard let kiosk = trouble.kiosk else { return true }
      // Nobody knows whether the troubles inside a kiosk that is offline are over.
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
      // A machine that says that it is out of order does not come back by itself.
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
