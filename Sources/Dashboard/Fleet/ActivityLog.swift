package import JuiceDomain
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

  package struct Record: Hashable, Sendable {
    package enum Event: Hashable, Sendable {
      /// An alert that has ended, or that is still active if `until` is `nil`.
      case alert(Alert, Details, until: Timestamp?)
      /// The dashboard did not run, so it recorded nothing.
      case stopped(until: Timestamp)
      case entry(KioskID, LedgerEntry)
      case action(Action)
    }

    /// The time at which the event began or occurred.
    package let at: Timestamp
    package let event: Event

    package init(at: Timestamp, _ event: Event) { (self.at, self.event) = (at, event) }

    /// The kiosk, or `nil` if the record is about the dashboard.
    package var kiosk: KioskID? {
      switch event {
      case .alert(let alert, _, _): alert.kiosk
      case .stopped: nil
      case .entry(let kiosk, _): kiosk
      case .action(let action): action.kiosk
      }
    }

    package var kind: Kind {
      switch event {
      case .alert(let alert, _, _):
        switch alert.problem?.group {
        case .machines: .machines
        case .payments: .payments
        case .sales, .stock: .stockouts
        case .sensors, .dates: .safety
        case .offline, nil: .outages
        }
      case .stopped: .outages
      case .entry(_, let entry):
        switch entry.outcome {
        case .restocked: .restocks
        // An order that was not paid is no trouble of the machine.
        case .failed(_, let reason, _), .returned(_, let reason, _):
          PaymentEnd(rawValue: reason) == nil ? .machines : .payments
        case .decided: .machines
        case .expired, .removed, .program, .sensor: .safety
        case .payment, .total: .payments
        default: .service
        }
      case .action: .actions
      }
    }

    /// The time at which the event ended or occurred, or `nil` if it has not ended.
    package var end: Timestamp? {
      switch event {
      case .alert(_, _, let until): until
      case .stopped(let until): until
      case .entry, .action: at
      }
    }
  }

  package enum Kind: String, CaseIterable, Sendable {
    case outages, machines, payments, stockouts, safety, service, restocks
    /// Actions of users that are not entries of a ledger.
    case actions
  }

  /// An action of a user that is not an entry of a ledger.
  package struct Action: Hashable, Sendable {
    package enum Verb: String, Sendable {
      case loggedIn = "logged_in"
      /// A wrong name or password; the `user` is the name as entered.
      case failedLogin = "failed_login"
      case addedUser = "added_user"
      case changedRole = "changed_role"
      case changedRegions = "changed_regions"
      case removedUser = "removed_user"
      case madeLink = "made_link"
      case setPassword = "set_password"
      case endedSession = "ended_session"
      case changedMessages = "changed_messages"
      case changedSettings = "changed_settings"
      case plannedRoute = "planned_route"
      case changedRoute = "changed_route"
      case deletedRoute = "deleted_route"
      case madeWallLink = "made_wall_link"
      case revokedWallLink = "revoked_wall_link"
      case madeTabletLink = "made_tablet_link"
      case revokedTabletLink = "revoked_tablet_link"
    }

    package let user: String
    package let verb: Verb
    /// The other user whom the action is about, or `nil` if it is about a kiosk or the user's own
    /// account.
    package var subject: String?
    package var kiosk: KioskID?
    /// The new role or regions, the address of the browser, `link` for a password that was set with a link, the
    /// changed settings with their old values, the address of messages, or the name and the stops of a route.
    package var detail: String?
    /// The `detail` in Korean, or `nil` if it is the same, or in a record of an earlier version.
    package var koreanDetail: String?
    /// The command that brings back the settings that the action has replaced, or `nil` if there is none, or if it
    /// would be longer than `maximumUndo`.
    package private(set) var undo: SettingsCommand?

    /// Maximum length of `undo` in a record, in bytes.
    static let maximumUndo = 2_048

    /// Whether the action changes nothing: a login or an attempt.
    package var isLogin: Bool { verb == .loggedIn || verb == .failedLogin }

    /// Whether the action changes only the user's own password, sessions or messages.
    var isAboutOwnAccount: Bool {
      subject == nil && [.setPassword, .endedSession, .changedMessages].contains(verb)
    }

    /// Whether the action changes who has access, or the account of another user.
    var isAboutUsers: Bool {
      subject != nil
        || [.addedUser, .changedRole, .changedRegions, .removedUser, .madeLink].contains(verb)
    }

    var isAboutRoute: Bool { [.plannedRoute, .changedRoute, .deletedRoute].contains(verb) }

    package init(
      _ user: String, _ verb: Verb, subject: String? = nil, kiosk: KioskID? = nil,
      detail: String? = nil
    ) {
      (self.user, self.verb, self.subject) = (user, verb, subject)
      (self.kiosk, self.detail) = (kiosk, detail)
    }

    /// Sets `undo`, unless it is too long.
    package mutating func set(undo: SettingsCommand) {
      let payload = JSONWriter.object { $0.members(undo) }
      self.undo = payload.count <= Self.maximumUndo ? undo : nil
    }
  }

  /// The circumstances of an alert.
  package struct Details: Hashable, Sendable {
    /// The sentence about the problem when it began, or `nil` if its title says all.
    package var text: LocalizedName?
    /// Whether the alert may have begun before the time of the record, because the kiosk was
    /// offline, or the dashboard not connected.
    package var isEarlier = false
    /// The start, by the kiosk's clock, of the program that ran when the alert `offline` began, or `nil` if
    /// it is unknown whether that program kept running.
    package var startedAt: Timestamp?
    /// The time at which the program started during the alert `offline`, or `nil` if it did not.
    package var restartedAt: Timestamp?

    package init(
      text: LocalizedName? = nil, startedAt: Timestamp? = nil, restartedAt: Timestamp? = nil
    ) {
      (self.text, self.startedAt, self.restartedAt) = (text, startedAt, restartedAt)
    }

    /// Maximum length of a sentence, in Unicode scalars.
    static let maximumText = 120
  }

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
      return before != (records.count, lasting.keys, isCut)
    }
    disconnectedAt = nil
    end(.noBroker, in: fleet, at: now)
    // The clock may have been set back since then.
    connectedAt = min(connectedAt ?? now, now)
    guard let connectedAt, now.since(connectedAt) >= Self.settleTime else {
      return before != (records.count, lasting.keys, isCut)
    }
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
    return before != (records.count, lasting.keys, isCut)
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
        known[kiosk, default: [:]][entry.epoch, default: 0].formMax(entry.seq)
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
    let failures = kiosk.orders.filter { entry in
      switch entry.outcome {
      case .failed, .returned: true
      default: false
      }
    }
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

extension Int {
  fileprivate mutating func formMax(_ other: Int) { self = Swift.max(self, other) }
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
