import JuiceDomain
package import KioskProtocol

/// Decides when people are told that an alert begins, and that it is over: once each.
///
/// A value without a clock: it follows from the fleets and the times that it was given.
package struct AlertEvaluator: Sendable {
  package struct Rules: Hashable, Sendable {
    /// For how long a kiosk, a machine or the broker has to be away before it is told.
    package var offlineDelay: Duration
    /// Nothing is told for so long after a start, or after the broker was away, since kiosks come back one
    /// by one. An alert has to be over for so long before that is told. Two messages are at least so far
    /// apart.
    package var quietPeriod: Duration

    package init(offlineDelay: Duration = .seconds(300), quietPeriod: Duration = .seconds(60)) {
      (self.offlineDelay, self.quietPeriod) = (offlineDelay, quietPeriod)
    }
  }

  package struct Transition: Hashable, Sendable {
    package let alert: Alert
    package let isResolved: Bool
    /// When the alert began.
    package let since: Timestamp

    package init(_ alert: Alert, isResolved: Bool = false, since: Timestamp) {
      (self.alert, self.isResolved, self.since) = (alert, isResolved, since)
    }
  }

  package typealias Instant = ContinuousClock.Instant

  /// No more alerts are told while so many are not over.
  package static let maximum = 10_000
  /// An alert of so long ago is deleted if nothing is heard of its kiosk any more.
  private static let retention = Duration.seconds(30 * 24 * 3600)

  private let rules: Rules
  /// The alerts that were told and are not over, and when they began.
  package private(set) var notified: [Alert: Timestamp]
  /// The alerts that were not told yet, and since when they are active.
  private var pending: [Alert: Instant] = [:]
  /// The alerts that were told and are gone, and since when they are.
  private var resolving: [Alert: Instant] = [:]
  private var started: Instant?
  private var connected: Instant?
  /// Since when there is something to tell.
  private var waiting: Instant?
  private var lastNotified: Instant?

  /// - Parameter notified: the alerts that an earlier watch has told.
  package init(_ rules: Rules, notified: [Alert: Timestamp] = [:]) {
    (self.rules, self.notified) = (rules, notified)
  }

  /// To be asked about once a second.
  ///
  /// - Parameters:
  ///   - isConnected: whether the broker is there; if not, the kiosks count as they were.
  ///   - now: by the clock on the wall, for people.
  /// - Returns: what to tell now, in one message; alerts that are over come last.
  package mutating func evaluate(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp
  ) -> [Transition] {
    let started = started ?? instant
    self.started = started
    connected = isConnected ? connected ?? instant : nil
    update(fleet, isConnected: isConnected, at: instant, now: now)

    let isSettled = connected.map { instant - $0 >= rules.quietPeriod } ?? false
    func isDue(_ alert: Alert) -> Bool {
      alert == .noBroker ? instant - started >= rules.quietPeriod : isSettled
    }
    let pending = pending.filter { alert, since in
      isDue(alert) && instant - since >= delay(for: alert, in: fleet)
    }
    let resolving = resolving.filter { isDue($0.key) && instant - $0.value >= rules.quietPeriod }
    guard !pending.isEmpty || !resolving.isEmpty else {
      waiting = nil
      return []
    }
    // One message tells of all alerts with one cause, such as a power cut of twenty kiosks, although they
    // do not begin in the same second.
    let waiting = waiting ?? instant
    self.waiting = waiting
    guard instant - waiting >= rules.quietPeriod / 6,
      lastNotified.map({ instant - $0 >= rules.quietPeriod }) ?? true
    else { return [] }
    (self.waiting, lastNotified) = (nil, instant)

    let new = pending.sorted { $0.key < $1.key }.prefix(max(0, Self.maximum - notified.count))
      .map { alert, since in Transition(alert, since: now.before(instant - since)) }
    let over = resolving.keys.sorted().map {
      Transition($0, isResolved: true, since: notified[$0] ?? now)
    }
    for transition in new {
      notified[transition.alert] = transition.since
      self.pending[transition.alert] = nil
    }
    for transition in over {
      notified[transition.alert] = nil
      self.resolving[transition.alert] = nil
    }
    return new + over
  }

  /// Notes which alerts are there, and which are gone.
  private mutating func update(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp
  ) {
    func isKnown(_ alert: Alert) -> Bool {
      guard let kiosk = alert.kiosk else { return true }
      // Nobody knows whether the alerts inside a kiosk that is offline are over.
      guard isConnected, let status = fleet[kiosk]?.status else { return false }
      return if case .offline = alert { true } else { status == .online }
    }
    var active: Set<Alert> = isConnected ? [] : [.noBroker]
    if isConnected { for kiosk in fleet.kiosks.values { active.formUnion(kiosk.activeAlerts) } }
    for alert in active where notified[alert] == nil { pending[alert] = pending[alert] ?? instant }
    for alert in pending.keys where !active.contains(alert) {
      // A broker that comes and goes makes no kiosk's absence shorter.
      if isConnected || alert == .noBroker { pending[alert] = nil }
    }
    for (alert, since) in notified {
      if active.contains(alert) || !isKnown(alert) {
        resolving[alert] = nil
      } else {
        resolving[alert] = resolving[alert] ?? instant
      }
      if isConnected, let kiosk = alert.kiosk, fleet[kiosk] == nil,
        now.since(since) >= Self.retention
      {
        notified[alert] = nil
      }
    }
  }

  private func delay(for alert: Alert, in fleet: KioskFleet) -> Duration {
    switch alert {
    case .noBroker, .offline: rules.offlineDelay
    case .machine(let kiosk, let machine):
      // A machine that says that it is out of order does not come back by itself.
      switch fleet[kiosk]?.machines[machine]?.state {
      case .fault, .failing: .zero
      default: rules.offlineDelay
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
