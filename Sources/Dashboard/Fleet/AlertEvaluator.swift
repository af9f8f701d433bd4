import JuiceDomain
package import KioskProtocol

/// Determines when people are notified of an alert: once when it begins, and once when it is
/// resolved.
///
/// ```swift
/// var evaluator = AlertEvaluator(AlertEvaluator.Rules(), notified: savedAlerts)
/// // About once a second:
/// let transitions = evaluator.evaluate(fleet, isConnected: true, at: .now, now: .now)
/// if !transitions.isEmpty { send(transitions) }  // One message for all of them
/// ```
///
/// The dashboard's broker and a problem that often ends without a person (`Problem.mayRecover`) must
/// be active for `offlineDelay`, another problem for 0 s.
///
/// An alert is resolved when it has been absent for `quietPeriod`. The evaluator is a value without
/// a clock: its results depend only on the fleets and times that are passed to it.
package struct AlertEvaluator: Sendable {
  package struct Rules: Hashable, Sendable {
    /// Time for which the broker must be offline, or a problem that may end without a person must
    /// exist, before people are notified of the alert.
    package var offlineDelay: Duration
    /// Three minimum times: after a start or a reconnect to the broker, people are notified of no
    /// alert for this time, because kiosks reconnect one by one; an alert is resolved when it has
    /// been absent for this time; and at least this time passes between two messages.
    package var quietPeriod: Duration

    package init(offlineDelay: Duration = .seconds(300), quietPeriod: Duration = .seconds(60)) {
      (self.offlineDelay, self.quietPeriod) = (offlineDelay, quietPeriod)
    }
  }

  /// The beginning or the end of an alert, of which people must be notified.
  package struct Transition: Hashable, Sendable {
    package let alert: Alert
    package let isResolved: Bool
    /// The time at which the alert began.
    package let since: Timestamp
    /// Whether the alert may have begun before `since`, because it was active when the dashboard started
    /// or connected to its broker.
    package let isEarlier: Bool

    package init(
      _ alert: Alert, isResolved: Bool = false, since: Timestamp, isEarlier: Bool = false
    ) {
      (self.alert, self.isResolved) = (alert, isResolved)
      (self.since, self.isEarlier) = (since, isEarlier)
    }
  }

  package typealias Instant = ContinuousClock.Instant

  /// Maximum number of unresolved alerts of which people were notified. People are notified of a
  /// further alert only after one of these is resolved.
  package static let maximum = 10_000
  /// Age at which a notified alert is deleted if its kiosk has no status.
  private static let retention = Duration.seconds(30 * 24 * 3600)

  private let rules: Rules
  /// The notified alerts that are not resolved, with the time at which they began.
  package private(set) var notified: [Alert: Timestamp]
  /// The notified alerts that may have begun earlier: see `Transition.isEarlier`.
  package private(set) var earlier: Set<Alert>
  /// The times of the monotonic clock at which notified alerts began. Does not contain the alerts of
  /// an earlier evaluator.
  private var begun: [Alert: Instant] = [:]
  /// The active alerts that are not notified yet, with the time from which they are active.
  private var pending: [Alert: Instant] = [:]
  /// The notified alerts that are absent, with the time from which they are absent.
  private var resolving: [Alert: Instant] = [:]
  private var started: Instant?
  private var connected: Instant?
  /// The time from which a transition is due, or `nil` if none is.
  private var waiting: Instant?
  private var lastNotified: Instant?

  /// Creates an evaluator.
  ///
  /// - Parameters:
  ///   - notified: The `notified` alerts of an earlier evaluator, with the time at which they began.
  ///   - earlier: Its `earlier` alerts.
  package init(
    _ rules: Rules, notified: [Alert: Timestamp] = [:], earlier: Set<Alert> = []
  ) {
    (self.rules, self.notified, self.earlier) = (rules, notified, earlier)
  }

  /// Updates the alerts and returns the transitions to notify now. Call it about once a second.
  ///
  /// - Parameters:
  ///   - isConnected: Whether the broker is connected. If not, the kiosks count as unchanged.
  ///   - instant: The time of the monotonic clock.
  ///   - now: The wall-clock time, for the messages.
  ///   - isQuiet: Whether no people are notified now. They are notified afterwards of each alert that
  ///     has begun or ended meanwhile, and has not changed again.
  ///   - isIncluded: Returns whether people are notified of an alert.
  /// - Returns: The transitions to notify in one message; resolved alerts come last.
  package mutating func evaluate(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp,
    isQuiet: Bool = false, where isIncluded: (Alert) -> Bool = { _ in true }
  ) -> [Transition] {
    let started = started ?? instant
    self.started = started
    connected = isConnected ? connected ?? instant : nil
    let recovering = update(
      fleet, isConnected: isConnected, at: instant, now: now, where: isIncluded)

    let isSettled = connected.map { instant - $0 >= rules.quietPeriod } ?? false
    func isDue(_ alert: Alert) -> Bool {
      alert == .noBroker ? instant - started >= rules.quietPeriod : isSettled
    }
    let pending = pending.filter { alert, since in
      isDue(alert) && instant - since >= (recovering.contains(alert) ? rules.offlineDelay : .zero)
    }
    let resolving = resolving.filter { isDue($0.key) && instant - $0.value >= rules.quietPeriod }
    guard !isQuiet, !pending.isEmpty || !resolving.isEmpty else {
      waiting = nil
      return []
    }
    // Collects transitions for a sixth of the quiet period, so that one message contains all alerts
    // of one cause, such as a power cut at twenty kiosks, although they do not begin in the same
    // second.
    let waiting = waiting ?? instant
    self.waiting = waiting
    guard instant - waiting >= rules.quietPeriod / 6,
      lastNotified.map({ instant - $0 >= rules.quietPeriod }) ?? true
    else { return [] }
    (self.waiting, lastNotified) = (nil, instant)

    let new = pending.sorted { $0.key < $1.key }.prefix(max(0, Self.maximum - notified.count))
      .map { alert, active in
        var since = active
        var isEarlier = active - (connected ?? started) < rules.quietPeriod
        if case .problem(.offline, let kiosk) = alert {
          let known = fleet[kiosk]?.offlineSince
          isEarlier = known == nil
          // An evaluator that a user has started is younger than the alert.
          if let known { since = min(since, instant - now.since(known)) }
        }
        begun[alert] = since
        return Transition(alert, since: now.before(instant - since), isEarlier: isEarlier)
      }
    let over = resolving.keys.sorted().map {
      Transition(
        $0, isResolved: true, since: beginning(of: $0, at: instant, now: now),
        isEarlier: earlier.contains($0))
    }
    for transition in new {
      notified[transition.alert] = transition.since
      if transition.isEarlier { earlier.insert(transition.alert) }
      self.pending[transition.alert] = nil
    }
    for transition in over {
      notified[transition.alert] = nil
      earlier.remove(transition.alert)
      begun[transition.alert] = nil
      self.resolving[transition.alert] = nil
    }
    return new + over
  }

  /// Updates the alerts.
  ///
  /// - Returns: The alerts that may end without a person. A lost connection to the broker does not
  ///   change those of the kiosks.
  private mutating func update(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp,
    where isIncluded: (Alert) -> Bool
  ) -> Set<Alert> {
    func isKnown(_ alert: Alert) -> Bool {
      guard case .problem(let problem, let kiosk) = alert else { return true }
      return isConnected && fleet[kiosk]?.isKnown(problem) ?? false
    }
    let found = fleet.kiosks.flatMap { $0.activeAlerts(at: now) }.filter { isIncluded($0.alert) }
    let recovering = Set(found.filter(\.problem.mayRecover).map(\.alert))
    let active = isConnected ? Set(found.map(\.alert)) : Set([.noBroker].filter(isIncluded))
    for alert in active where notified[alert] == nil { pending[alert] = pending[alert] ?? instant }
    for alert in pending.keys where !active.contains(alert) {
      // A lost connection to the broker does not end the pending alerts of kiosks.
      if isConnected || alert == .noBroker { pending[alert] = nil }
    }
    for (alert, since) in notified {
      if active.contains(alert) || !isKnown(alert) {
        resolving[alert] = nil
      } else {
        resolving[alert] = resolving[alert] ?? instant
      }
      if isConnected, let kiosk = alert.kiosk, fleet[kiosk]?.status == nil,
        now.since(since) >= Self.retention
      {
        notified[alert] = nil
        earlier.remove(alert)
        begun[alert] = nil
      }
    }
    return recovering.union([.noBroker])
  }

  /// Returns the time at which a notified alert began: by the current wall clock, which may have
  /// been set since then, or the stored time of an alert of an earlier evaluator.
  package func beginning(of alert: Alert, at instant: Instant, now: Timestamp) -> Timestamp {
    begun[alert].map { now.before(instant - $0) } ?? notified[alert] ?? now
  }
}

extension Timestamp {
  fileprivate func before(_ time: Duration) -> Timestamp {
    let (seconds, attoseconds) = time.components
    return Timestamp(
      milliseconds: milliseconds - seconds * 1000 - attoseconds / 1_000_000_000_000_000)
  }
}
