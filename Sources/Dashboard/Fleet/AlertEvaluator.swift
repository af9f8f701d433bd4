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
/// | alert | must be active for |
/// |---|---|
/// | broker or kiosk offline; machine offline, silent, disabled or unknown | `offlineDelay` |
/// | payment device off, without a reason | `offlineDelay` |
/// | juices that cannot be sold | 0 s, or the time of their machine or payment device |
/// | machine with fault or failures, missing fruit, or program that needs a person | 0 s |
/// | payment device off, with a reason | 0 s |
/// | undecided job or charge; end of day with a difference | 0 s |
/// | sensor with an alarm, a block or no readings | 0 s |
/// | fruit too short for a juice; fruit that expires soon or has expired | 0 s |
///
/// An alert is resolved when it has been absent for `quietPeriod`. The evaluator is a value without
/// a clock: its results depend only on the fleets and times that are passed to it.
package struct AlertEvaluator: Sendable {
  package struct Rules: Hashable, Sendable {
    /// Time for which the broker, a kiosk, a machine or a payment device must be offline before
    /// people are notified of the alert.
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

    package init(_ alert: Alert, isResolved: Bool = false, since: Timestamp) {
      (self.alert, self.isResolved, self.since) = (alert, isResolved, since)
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
  /// - Parameter notified: The `notified` alerts of an earlier evaluator, with the time at which they
  ///   began.
  package init(_ rules: Rules, notified: [Alert: Timestamp] = [:]) {
    (self.rules, self.notified) = (rules, notified)
  }

  /// Updates the alerts and returns the transitions to notify now. Call it about once a second.
  ///
  /// - Parameters:
  ///   - isConnected: Whether the broker is connected. If not, the kiosks count as unchanged.
  ///   - instant: The time of the monotonic clock.
  ///   - now: The wall-clock time, for the messages.
  ///   - isIncluded: Returns whether people are notified of an alert.
  /// - Returns: The transitions to notify in one message; resolved alerts come last.
  package mutating func evaluate(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp,
    where isIncluded: (Alert) -> Bool = { _ in true }
  ) -> [Transition] {
    let started = started ?? instant
    self.started = started
    connected = isConnected ? connected ?? instant : nil
    update(fleet, isConnected: isConnected, at: instant, now: now, where: isIncluded)

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
      .map { alert, since in
        begun[alert] = since
        return Transition(alert, since: now.before(instant - since))
      }
    let over = resolving.keys.sorted().map {
      Transition($0, isResolved: true, since: beginning(of: $0, at: instant, now: now))
    }
    for transition in new {
      notified[transition.alert] = transition.since
      self.pending[transition.alert] = nil
    }
    for transition in over {
      notified[transition.alert] = nil
      begun[transition.alert] = nil
      self.resolving[transition.alert] = nil
    }
    return new + over
  }

  private mutating func update(
    _ fleet: KioskFleet, isConnected: Bool, at instant: Instant, now: Timestamp,
    where isIncluded: (Alert) -> Bool
  ) {
    func isKnown(_ alert: Alert) -> Bool {
      guard let kiosk = alert.kiosk else { return true }
      return isConnected && fleet[kiosk]?.isKnown(alert) ?? false
    }
    var active: Set<Alert> = isConnected ? [] : [.noBroker]
    if isConnected {
      for kiosk in fleet.kiosks { active.formUnion(kiosk.activeAlerts(at: now)) }
    }
    active = active.filter(isIncluded)
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
        begun[alert] = nil
      }
    }
  }

  /// Returns the time at which a notified alert began: by the current wall clock, which may have
  /// been set since then, or the stored time of an alert of an earlier evaluator.
  package func beginning(of alert: Alert, at instant: Instant, now: Timestamp) -> Timestamp {
    begun[alert].map { now.before(instant - $0) } ?? notified[alert] ?? now
  }

  private func delay(for alert: Alert, in fleet: KioskFleet) -> Duration {
    switch alert {
    case .noBroker, .offline: rules.offlineDelay
    case .noSales(let kiosk), .unsold(let kiosk): delay(ofSalesAt: fleet[kiosk], in: fleet)
    case .machine(let kiosk, let machine):
      // A machine that reports a fault does not recover without a person.
      switch fleet[kiosk]?.machines[machine]?.state {
      case .fault, .failing, .idle, .busy, .waiting, .cleaning, .cleaningDue: .zero
      default: rules.offlineDelay
      }
    case .payment(let kiosk, let device):
      // A device that reports no reason is unreachable, and may recover without a person.
      fleet[kiosk]?.payments[device]?.reason == nil ? rules.offlineDelay : .zero
    case .job, .out, .charge, .difference, .sensor, .expires, .expired: .zero
    }
  }

  /// Returns the shortest delay of the causes for which the kiosk cannot sell juices.
  private func delay(ofSalesAt kiosk: KioskState?, in fleet: KioskFleet) -> Duration {
    guard let kiosk else { return .zero }
    let needsPerson = kiosk.lostJuices.contains { _, obstacle in
      switch obstacle {
      case .blocked, .cleaningDue, .machineOut: true
      default: false
      }
    }
    if needsPerson { return .zero }
    let devices =
      kiosk.machines.filter { !$0.value.takesOrders }.map { Alert.machine(kiosk.id, $0.key) }
      + kiosk.payments.filter { $0.value.state == .off }.map { .payment(kiosk.id, $0.key) }
    return devices.map { delay(for: $0, in: fleet) }.min() ?? .zero
  }
}

extension Timestamp {
  fileprivate func before(_ time: Duration) -> Timestamp {
    let (seconds, attoseconds) = time.components
    return Timestamp(
      milliseconds: milliseconds - seconds * 1000 - attoseconds / 1_000_000_000_000_000)
  }
}
