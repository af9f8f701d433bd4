import JuiceDomain
package import KioskProtocol

/// The history of a fleet on one day: the outages, faults and stockouts that the dashboard has
/// detected, the entries of ledgers that people look up later, and the actions of users.
///
/// ```swift
/// var log = ActivityLog()
/// // About once a second:
/// log.update(fleet, isConnected: true, at: .now, instant: .now)
/// log.records  // Today's entries and actions, and the alerts that have ended
/// log.open  // The alerts that have not ended
/// ```
///
/// It is a value without a clock: its records depend only on the fleets and times that are passed
/// to it. `begin(day:continuing:)` starts the next day.
package struct ActivityLog: Sendable, Equatable {
  /// Time after a start or a reconnect in which retained messages arrive. In this time the log
  /// records no alerts and no entries of kiosks.
  package static let settleTime = Duration.seconds(10)
  /// Time without an update after which the dashboard counts as not running.
  package static let maximumPause = Duration.seconds(600)

  struct Beginning: Hashable, Sendable {
    let at: Timestamp
    var details: Details
    /// The time by which the kiosk's clock was ahead when the alert `offline` began, or `nil` if unknown.
    var clockLead: Duration?

    /// Returns whether the program of a kiosk that was offline is another one than before.
    ///
    /// - Parameters:
    ///   - before: The start of the program before the alert, by the kiosk's clock.
    ///   - after: The present start.
    fileprivate func hasRestarted(_ kiosk: KioskState, from before: Timestamp, to after: Timestamp)
      -> Bool
    {
      // To set the clock by more than a second moves the start of a program that runs on by as much.
      let isSet = clockLead.map { lead in
        let change = (kiosk.reports.clockLead - lead) / .seconds(1)
        return abs(change) > 1 && abs(after.since(before) / .seconds(1) - change) < 2
      }
      return before != after && isSet != true
    }
  }

  /// The day of the records in UTC, in days since 1970-01-01.
  package private(set) var day: Int64 = 0
  /// The time of the last update, or `nil` before the first one.
  package private(set) var updatedAt: Timestamp?
  /// The time of the monotonic clock at the last update, or `nil` before the first one of this process.
  private var updatedInstant: ContinuousClock.Instant?
  /// The records of the day, in the order in which they were made.
  package private(set) var records: [Record] = []
  /// Whether the day had more records than are stored.
  package private(set) var isCut = false
  private(set) var lasting: [Alert: Beginning] = [:]
  /// The `seq` of the last recorded entry of each ledger, by kiosk and epoch.
  private(set) var known: [KioskID: [Int: Int]] = [:]
  private var counts = Counts()
  /// The start of the current connection to the broker, or `nil` if there is none.
  private var connectedAt: Timestamp?
  /// The start of the time without a connection to the broker, or `nil` if there is one.
  private var disconnectedAt: Timestamp?
  /// The kiosks that were online at the last update of the current connection. The problems of another
  /// kiosk may have begun before they are detected.
  private var observed: Set<KioskID> = []

  package init() {}

  /// The alerts that have not ended.
  package var open: [Record] {
    lasting.map { Record(at: $1.at, .alert($0, $1.details, until: nil)) }
  }

  /// Records the changes since the last update.
  ///
  /// - Parameter instant: The time of the monotonic clock, which cannot be set.
  /// - Returns: Whether the log has changed: a record, the open alerts, or `isCut`.
  @discardableResult
  package mutating func update(
    _ fleet: KioskFleet, isConnected: Bool, at now: Timestamp, instant: ContinuousClock.Instant
  ) -> Bool {
    let before = (records.count, lasting.keys, isCut)
    recordChanges(fleet, isConnected: isConnected, at: now, instant: instant)
    return before != (records.count, lasting.keys, isCut)
  }

  private mutating func recordChanges(
    _ fleet: KioskFleet, isConnected: Bool, at now: Timestamp, instant: ContinuousClock.Instant
  ) {
    // A clock that is set forward is no stop.
    let hasPaused = updatedInstant.map { instant - $0 > Self.maximumPause } ?? true
    updatedInstant = instant
    if let updatedAt, hasPaused, now.since(updatedAt) > Self.maximumPause {
      add(Record(at: updatedAt, .stopped(until: now)))
      (connectedAt, disconnectedAt, observed) = (nil, nil, [])
    }
    updatedAt = now
    guard isConnected else {
      (connectedAt, observed) = (nil, [])
      let since = min(disconnectedAt ?? now, now)
      disconnectedAt = since
      // Connecting after a start takes some seconds, which are not an outage.
      if now.since(since) >= Self.settleTime { begin(.noBroker, Details(), at: since) }
      return
    }
    disconnectedAt = nil
    end(.noBroker, in: fleet, at: now)
    // The clock may have been set back since then.
    connectedAt = min(connectedAt ?? now, now)
    guard let connectedAt, now.since(connectedAt) >= Self.settleTime else { return }
    var active: Set<Alert> = []
    for kiosk in fleet.kiosks {
      let wasObserved = observed.contains(kiosk.id)
      if kiosk.isOnline { observed.insert(kiosk.id) } else { observed.remove(kiosk.id) }
      for (alert, problem) in kiosk.activeAlerts(at: now) {
        active.insert(alert)
        guard lasting[alert] == nil else { continue }
        var details = Details(text: kiosk.sentence(about: problem.kind))
        guard problem.kind == .offline else {
          let known = wasObserved ? now : kiosk.beginning(of: problem.kind)
          details.isEarlier = known == nil
          begin(alert, details, at: min(known ?? now, now))
          continue
        }
        details.startedAt = kiosk.startedAt
        details.isEarlier = !wasObserved || kiosk.offlineSince == nil
        begin(alert, details, at: kiosk.offlineSince ?? now, kiosk.reports.clockLead)
      }
      record(kiosk, at: now)
    }
    for alert in lasting.keys where !active.contains(alert) {
      if case .problem(let problem, let kiosk) = alert, fleet[kiosk]?.isKnown(problem) == false {
        continue
      }
      end(alert, in: fleet, at: now)
    }
  }

  /// Starts another day. The alerts that have not ended remain open.
  ///
  /// - Parameter stored: The stored lines of the day. There are some if the day begins again, after
  ///   the clock was wrong or the state was lost.
  package mutating func begin(day: Int64, continuing stored: [Line] = []) {
    (self.day, records, counts, isCut) = (day, [], Counts(), false)
    restore(stored)
  }

  mutating func restore(
    updatedAt: Timestamp?, open: [(Alert, Beginning)], known: [(KioskID, epoch: Int, seq: Int)]
  ) {
    self.updatedAt = updatedAt
    for (alert, beginning) in open.prefix(AlertEvaluator.maximum) { lasting[alert] = beginning }
    for (kiosk, epoch, seq) in known { self.known[kiosk, default: [:]][epoch] = seq }
  }

  /// Adds the stored lines of the day to a new log with the state that was stored before them.
  package mutating func restore(_ lines: [Line]) {
    for line in lines {
      guard case .record(let record) = line else {
        isCut = true
        continue
      }
      add(record)
      switch record.event {
      case .entry(let kiosk, let entry):
        let last = known[kiosk]?[entry.epoch] ?? 0
        known[kiosk, default: [:]][entry.epoch] = max(last, entry.seq)
      case .alert(let alert, _, until: .some) where lasting[alert]?.at == record.at:
        lasting[alert] = nil
      case .alert, .stopped, .action: break
      }
    }
  }

  private mutating func begin(
    _ alert: Alert, _ details: Details, at time: Timestamp, _ clockLead: Duration? = nil
  ) {
    guard lasting[alert] == nil, lasting.count < AlertEvaluator.maximum else { return }
    lasting[alert] = Beginning(at: time, details: details, clockLead: clockLead)
  }

  private mutating func end(_ alert: Alert, in fleet: KioskFleet, at now: Timestamp) {
    guard var beginning = lasting.removeValue(forKey: alert) else { return }
    if case .problem(.offline, let id) = alert {
      if let before = beginning.details.startedAt, let kiosk = fleet[id],
        let after = kiosk.startedAt
      {
        if beginning.hasRestarted(kiosk, from: before, to: after) {
          beginning.details.restartedAt = kiosk.dashboardTime(of: after)
        }
      } else {
        beginning.details.startedAt = nil
      }
    }
    add(Record(at: beginning.at, .alert(alert, beginning.details, until: now)))
  }

  /// Records the entries of `services` and the failed or returned orders that are not recorded yet.
  private mutating func record(_ kiosk: KioskState, at now: Timestamp) {
    let failures = kiosk.orders.filter { [.failed, .returned].contains($0.status) }
    let entries = Array(kiosk.services) + failures
    guard !entries.isEmpty else { return }
    let before = known[kiosk.id] ?? [:]
    var after: [Int: Int] = [:]
    for entry in entries { after[entry.epoch] = max(after[entry.epoch] ?? 0, entry.seq) }
    guard after != before else { return }
    known[kiosk.id] = after.merging(before.filter { after[$0.key] != nil }) { max($0, $1) }
    for entry in entries.sorted(by: { $0.seq < $1.seq })
    where entry.seq > before[entry.epoch] ?? 0 {
      add(Record(at: min(entry.at, now), .entry(kiosk.id, entry)))
    }
  }

  /// Adds a record, unless its `Room` is full.
  package mutating func add(_ record: Record) {
    if counts.add(record) { records.append(record) } else { isCut = true }
  }
}

extension KioskState {
  /// Returns the time, by the dashboard's clock, at which a problem began according to the kiosk's
  /// reports, or `nil` if they do not contain it.
  fileprivate func beginning(of problem: Problem.Kind) -> Timestamp? {
    // A report has the time of its state: not that of a silence, nor that of the alarm before a block.
    guard case .sensor(let id) = problem, let sensor = reports.sensors[id],
      sensor.state == .alarm, !sensor.isSilent
    else { return nil }
    return sensor.since.map(dashboardTime)
  }

  /// Returns the present sentence about a problem; `nil` about `offline`, whose times say more.
  fileprivate func sentence(about problem: Problem.Kind) -> LocalizedName? {
    func sentence(_ language: Language) -> String {
      ProblemText(reports, language) { _ in language("soon", "곧") }.sentence(about: problem)
        .visible(upTo: ActivityLog.Details.maximumText)
    }
    return problem == .offline
      ? nil : LocalizedName(english: sentence(.english), korean: sentence(.korean), fallback: "")
  }
}
