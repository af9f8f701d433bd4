import JuiceDomain
package import KioskProtocol

/// The sensors of a kiosk: evaluates their readings, and determines what they block.
///
/// | state | next state |
/// |---|---|
/// | `unknown` | `ok` or `outside` with the first reading |
/// | `ok` | `outside` with a reading outside the limits |
/// | `outside` | `ok` with a reading within the limits; `alarm` after `alarmAfter` |
/// | `alarm` | `ok` with a reading within the limits |
/// | `outside`, `alarm` | `blocked` after `blockAfter` |
/// | `blocked` | after the decision `release`: `outside` or `ok` |
/// | `blocked` | after the decision `discard`: `ok`, as soon as a reading is within the limits |
///
/// A sensor that is no longer configured blocks until a decision of either kind.
///
/// The monotonic clock measures durations. After a start a duration continues from the recorded
/// one, plus the time that has passed since by the wall clock. A sensor that becomes silent keeps
/// its state, and its time outside the limits continues, because the fruit may still be warm. After
/// a `release` the durations begin at zero. New limits apply to the last reading: if it is within
/// them, the time outside ends.
///
/// A jump of the value within a minute (see `SensorUnit.jump`) counts when the next reading
/// confirms it.
package struct Sensors: Sendable {
  private let settings: [KioskSettings.Sensor]
  package private(set) var records: [SensorID: SensorRecord]
  private var live: [SensorID: Live] = [:]
  /// The uptime at which `recordMinute` last stored readings, or was first called.
  private var recordedAt: Duration?

  /// Minimum time between two transactions that store readings in the same state, and the time
  /// after which the kiosk stores readings in a transaction without entries.
  private static let interval = Duration.seconds(60)
  private static let longestWait = Duration.seconds(70)

  /// The state that the ledger does not store. Uptimes are of the monotonic clock.
  private struct Live: Sendable {
    /// The uptime of the last reading that counted, or of the creation of this value if none has.
    var readAt: Duration
    /// The uptime up to which the time is counted in an hour of the record.
    var countedAt: Duration
    var outsideSince: Duration?
    /// The last reading that counted since the start.
    var value: Int?
    /// The value of a jump that the next reading may confirm, or `nil` if there is none.
    var jump: Int?
    /// Whether the ledger lacks the last reading.
    var isUnwritten = false
    var ignored = 0
  }

  init(_ settings: KioskSettings, state: LedgerState) {
    self.settings = settings.sensors
    records = state.sensors
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: Sensors) {
    live = other.live.filter { id, _ in settings.contains { $0.name == id } }
    for (id, known) in live where !isOutside(known.value ?? records[id]?.value, of: id) {
      live[id]?.outsideSince = nil
    }
    recordedAt = other.recordedAt
    // The ledger does not record each change between `ok` and `outside`.
    for (id, known) in other.records where known.state == .ok || known.state == .outside {
      guard var record = records[id], record.state == .ok || record.state == .outside else {
        continue
      }
      (record.state, record.since) = (known.state, known.since)
      records[id] = record
    }
  }

  var isEmpty: Bool { settings.isEmpty && records.isEmpty }

  /// The fruits that no order may take, and the machines that get no orders.
  var blocked: Blocked {
    var blocked = Blocked()
    for record in records.values where record.state == .blocked {
      blocked.fruits.formUnion(record.fruits)
      blocked.machines.formUnion(record.machines)
    }
    return blocked
  }

  struct Blocked: Hashable, Sendable {
    var fruits: Set<Fruit.ID> = []
    var machines: Set<MachineID> = []
  }

  /// The published state of each configured sensor, and of each removed one that still blocks.
  package var reports: [(sensor: SensorID, report: SensorReport)] {
    let configured = settings.map { sensor in
      let record = records[sensor.name]
      return (
        sensor.name,
        SensorReport(
          state: record?.state ?? .unknown, value: record?.value, unit: sensor.unit,
          minimum: sensor.minimum, maximum: sensor.maximum, since: record?.since,
          isSilent: record?.isSilent ?? false,
          fruits: record?.fruits ?? [], machines: record?.machines ?? [],
          ignored: live[sensor.name]?.ignored ?? 0)
      )
    }
    let removed = records.filter { id, record in
      record.state == .blocked && !settings.contains { $0.name == id }
    }
    return configured
      + removed.sorted { $0.key < $1.key }.map { id, record in
        (
          id,
          SensorReport(
            state: .blocked, value: record.value, unit: record.unit, since: record.since,
            isSilent: true, fruits: record.fruits, machines: record.machines)
        )
      }
  }

  private func settings(of sensor: SensorID) -> KioskSettings.Sensor? {
    settings.first { $0.name == sensor }
  }

  /// Returns whether a value is outside the present limits of a sensor. A sensor that is no longer
  /// configured has none.
  private func isOutside(_ value: Int?, of sensor: SensorID) -> Bool {
    guard let value, let sensor = settings(of: sensor) else { return false }
    return !sensor.isWithinLimits(value)
  }

  // MARK: Readings

  /// Evaluates a message of a sensor. A value that no sensor can measure, and a single jump, do not
  /// count as a reading.
  ///
  /// - Parameter value: The value in thousandths of the unit, or `nil` if the message has none.
  mutating func read(_ value: Int?, of name: SensorID, at now: Moment, into changes: inout Changes)
  {
    guard let sensor = settings(of: name) else { return }
    var live = self.live[name] ?? look(at: name, at: now)
    defer { self.live[name] = live }
    // guard: a value that no sensor can measure is no reading
    guard let value, sensor.unit.plausible.contains(value) else {
      if live.ignored == 0 { changes.ignored.append(name) }
      live.ignored += 1
      return
    }
    // guard: one reading far from the others changes nothing
    if let jump = sensor.unit.jump, let last = live.value, now.uptime - live.readAt < Self.interval,
      abs(value - last) > jump, live.jump.map({ abs(value - $0) > jump }) ?? true
    {
      live.jump = value
      return
    }
    (live.jump, live.value, live.readAt, live.ignored) = (nil, value, now.uptime, 0)
    live.isUnwritten = true
    var record = records[name] ?? SensorRecord(state: .ok, unit: sensor.unit, since: now.timestamp)
    endHour(of: &record, sensor, at: now, into: &changes)
    count(value, in: &record, sensor, &live, at: now)
    if record.isSilent { changes.add(.ok, name, value, sensor) }
    record.isSilent = false
    if sensor.isWithinLimits(value) {
      live.outsideSince = nil
      let ends = record.state == .blocked && record.isDiscarded
      // guard: what is blocked stays blocked until a person decides
      if ends || record.state == .outside || record.state == .alarm || record.state == .unknown {
        if ends || record.state == .alarm { changes.add(.ok, name, value, sensor) }
        record = record.with(.ok, at: now)
      }
    } else {
      live.outsideSince = live.outsideSince ?? now.uptime
      if record.state == .ok || record.state == .unknown { record = record.with(.outside, at: now) }
    }
    store(record, name, &live, at: now, into: &changes)
  }

  /// Continues to measure the time of the sensors that were outside their limits in an earlier
  /// process.
  mutating func begin(at now: Moment) {
    for sensor in settings where records[sensor.name]?.outside != nil {
      live[sensor.name] = live[sensor.name] ?? look(at: sensor.name, at: now)
    }
  }

  /// Returns the initial state of a sensor after a start: its time outside the limits continues.
  private func look(at name: SensorID, at now: Moment) -> Live {
    let since = records[name].map { max(.zero, now.timestamp.since($0.at)) } ?? .zero
    var live = Live(readAt: now.uptime, countedAt: now.uptime - since)
    if let outside = records[name]?.outside, isOutside(records[name]?.value, of: name) {
      // guard: a restart keeps the time outside the limits
      live.outsideSince = now.uptime - outside - since
    }
    return live
  }

  /// Adds a reading to its hour. The time since the previous reading counts as measured, unless it
  /// is longer than an hour or than the time after which the sensor counts as silent.
  private func count(
    _ value: Int, in record: inout SensorRecord, _ sensor: KioskSettings.Sensor,
    _ live: inout Live, at now: Moment
  ) {
    let gap = now.uptime - live.countedAt
    let isMeasured = gap <= min(.seconds(3600), sensor.silentAfter)
    let seconds = isMeasured ? Int(gap / .seconds(1)) : 0
    live.countedAt = isMeasured ? live.countedAt + .seconds(seconds) : now.uptime
    let isOutside = live.outsideSince != nil || !sensor.isWithinLimits(value)
    let reading = SafetyDay.Hour(
      at: now.timestamp.hour, low: value, high: value, secondsOutside: isOutside ? seconds : 0,
      secondsMeasured: seconds)
    if record.hour?.add(reading) == nil { record.hour = reading }
  }

  /// Adds the entry of an hour that is over.
  private func endHour(
    of record: inout SensorRecord, _ sensor: KioskSettings.Sensor, at now: Moment,
    into changes: inout Changes
  ) {
    guard let hour = record.hour, hour.at != now.timestamp.hour else { return }
    changes.steps.append(
      SensorStep(
        .hour, of: sensor.name, value: nil, unit: sensor.unit, minimum: sensor.minimum,
        maximum: sensor.maximum, hour: hour))
    record.hour = nil
  }

  /// Blocks the fruits and machines of sensors that have been outside their limits for
  /// `blockAfter`.
  mutating func block(at now: Moment, into changes: inout Changes) {
    for sensor in settings {
      let name = sensor.name
      var live = self.live[name] ?? look(at: name, at: now)
      defer { self.live[name] = live }
      guard let blockAfter = sensor.blockAfter, let since = live.outsideSince,
        now.uptime - since >= blockAfter, var record = records[name], record.state != .blocked
      else { continue }
      record = record.with(.blocked, at: now)
      (record.fruits, record.machines) = (sensor.fruits, sensor.machines)
      changes.add(.blocked, name, live.value ?? record.value, sensor)
      store(record, name, &live, at: now, into: &changes)
    }
  }

  /// Records changes of state that are due by time, hours that are over, and the readings of the
  /// last minute.
  ///
  /// - Parameter hasEntries: Whether the transaction is committed anyway, because it has entries.
  mutating func fire(at now: Moment, hasEntries: Bool, into changes: inout Changes) {
    block(at: now, into: &changes)
    for sensor in settings {
      let name = sensor.name
      var live = self.live[name] ?? look(at: name, at: now)
      let before = records[name]
      var record = before ?? SensorRecord(state: .unknown, unit: sensor.unit, since: now.timestamp)
      endHour(of: &record, sensor, at: now, into: &changes)
      if now.uptime - live.readAt >= sensor.silentAfter, !record.isSilent {
        record.isSilent = true
        changes.add(.silent, name, record.value, sensor)
      }
      if let since = live.outsideSince, record.state == .outside,
        now.uptime - since >= sensor.alarmAfter
      {
        record = record.with(.alarm, at: now)
        changes.add(.alarm, name, live.value ?? record.value, sensor)
      }
      if before != nil || record.isSilent { store(record, name, &live, at: now, into: &changes) }
      self.live[name] = live
    }
    recordMinute(at: now, hasEntries: hasEntries || !changes.steps.isEmpty, into: &changes)
  }

  private mutating func recordMinute(
    at now: Moment, hasEntries: Bool, into changes: inout Changes
  ) {
    let last = recordedAt ?? now.uptime
    recordedAt = last
    guard now.uptime - last >= (hasEntries ? Self.interval : Self.longestWait) else { return }
    for (name, var live) in live where live.isUnwritten {
      guard let record = records[name] else { continue }
      recordedAt = now.uptime
      write(record, name, &live, at: now, into: &changes)
      self.live[name] = live
    }
  }

  /// Stores a record. Writes it to the ledger if it is new, an hour has begun or ended, or the
  /// state, the silence or a discard has changed; but not if the state changes between `ok` and
  /// `outside`, because a value near a limit can cause any number of such changes.
  private mutating func store(
    _ record: SensorRecord, _ name: SensorID, _ live: inout Live, at now: Moment,
    into changes: inout Changes
  ) {
    let before = records[name]
    records[name] = record
    // guard: an hour that is over is stored with its entry
    let isSteady = before.map { old in
      old.isSilent == record.isSilent && old.isDiscarded == record.isDiscarded
        && old.hour?.at == record.hour?.at
        && (old.state == record.state
          || [old.state, record.state].allSatisfy { $0 == .ok || $0 == .outside })
    }
    if isSteady != true { write(record, name, &live, at: now, into: &changes) }
  }

  private mutating func write(
    _ record: SensorRecord, _ name: SensorID, _ live: inout Live, at now: Moment,
    into changes: inout Changes
  ) {
    var record = record
    (record.at, record.value) = (now.timestamp, live.value ?? record.value)
    record.outside = live.outsideSince.map { now.uptime - $0 }
    records[name] = record
    changes.records[name] = record
    live.isUnwritten = false
  }

  /// Returns the time until a state may change, or `nil` if only a reading can change one.
  func wait(at now: Moment) -> Duration? {
    settings.flatMap { sensor -> [Duration] in
      guard let live = live[sensor.name] else { return [.zero] }
      let record = records[sensor.name]
      let outside = live.outsideSince.map { since in
        [
          record?.state == .outside ? since + sensor.alarmAfter : nil,
          record?.state == .blocked ? nil : sensor.blockAfter.map { since + $0 },
        ]
      }
      let silent = record?.isSilent == true ? nil : live.readAt + sensor.silentAfter
      return ((outside ?? []) + [silent]).compactMap { $0.map { max(.zero, $0 - now.uptime) } }
    }.min()
  }

  // MARK: Decisions

  /// Applies the decision of a person about a sensor that blocks something.
  mutating func decide(_ decision: SensorDecision, at now: Moment, into changes: inout Changes) {
    let name = decision.sensor
    guard var record = records[name], record.state == .blocked else { return }
    var live = self.live[name] ?? look(at: name, at: now)
    let isOutside = live.outsideSince != nil
    if decision.choice == .discard, isOutside {
      record.isDiscarded = true
    } else {
      // guard: after a release the time outside the limits begins anew
      if isOutside { live.outsideSince = now.uptime }
      record = record.with(isOutside ? .outside : .ok, at: now)
    }
    store(record, name, &live, at: now, into: &changes)
    self.live[name] = live
  }

  func record(blocking sensor: SensorID) -> SensorRecord? {
    records[sensor].flatMap { $0.state == .blocked ? $0 : nil }
  }

  /// Changes to record: entries of the ledger and records of sensors.
  struct Changes {
    var steps: [SensorStep] = []
    var records: [SensorID: SensorRecord] = [:]
    /// Sensors that have sent their first message without a usable value since the last reading.
    var ignored: [SensorID] = []

    mutating func add(
      _ kind: SensorStep.Kind, _ name: SensorID, _ value: Int?, _ sensor: KioskSettings.Sensor
    ) {
      steps.append(
        SensorStep(
          kind, of: name, value: value, unit: sensor.unit,
          fruits: kind == .blocked ? sensor.fruits : [],
          machines: kind == .blocked ? sensor.machines : []))
    }
  }
}

extension SensorRecord {
  fileprivate func with(_ state: SensorReport.State, at now: Moment) -> Self {
    var record = self
    (record.state, record.since, record.isDiscarded) = (state, now.timestamp, false)
    if state != .blocked { (record.fruits, record.machines) = ([], []) }
    return record
  }
}
