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
/// The monotonic clock measures durations, and `ElapsedClock` over a start. After a `release` the
/// durations begin at zero. New limits apply to the last reading: if it is within them, the time
/// outside ends. An alarm ends at a distance from the limit (`SensorUnit.hysteresis`).
///
/// A sensor without a reading keeps its state, and its time outside the limits continues. What it
/// protects is unknown meanwhile. So a gap blocks, with `isWaiting`: after `blockAfterSilence` while
/// the kiosk runs, and after `blockAfter` if the computer was off, or at once if the clock does not
/// show for how long. The readings after the gap, and a clock that is no longer in doubt, decide:
///
/// | first reading, length of the gap | next state |
/// |---|---|
/// | outside the limits | the whole gap counts as outside: `blocked` after `blockAfter`, else `outside` |
/// | within them, at most `longestGap` or `blockAfter` | `ok` |
/// | within them, longer | `blocked` until a person decides: it may have cooled down again |
///
/// A jump of the value within a minute (see `SensorUnit.jump`) counts when the next reading
/// confirms it.
package struct Sensors: Sendable {
  private let settings: [KioskSettings.Sensor]
  package private(set) var records: [SensorID: SensorRecord]
  /// The records as the ledger has them: it does not get each reading.
  private var written: Journaled<SensorID, SensorRecord>
  private var live: [SensorID: Live] = [:]
  /// See `ElapsedClock.base`.
  private var base = Duration.zero
  /// The uptime at which `recordMinute` last stored readings, or was first called.
  private var recordedAt: Duration?

  /// Minimum time between two transactions that store readings in the same state, and the time
  /// after which the kiosk stores readings in a transaction without entries.
  private static let interval = Duration.seconds(60)
  private static let longestWait = Duration.seconds(70)

  /// The longest gap after which a reading within the limits is enough. A closed fridge keeps food
  /// cold for about four hours without power (FDA, "Food and Water Safety During Power Outages").
  static let longestGap = Duration.seconds(4 * 3_600)

  /// The state that the ledger does not store. Uptimes are of the monotonic clock.
  private struct Live: Sendable {
    /// The uptime of the last reading that counted, or of the creation of this value if none has.
    var readAt: Duration
    /// The uptime up to which the time is counted in an hour of the record.
    var countedAt: Duration
    var outsideSince: Duration?
    /// The uptime of the last reading, also of an earlier process, or from which the kiosk has waited
    /// for the first one. It stays at the last reading before a gap while the sensor `isWaiting`.
    var knownAt: Duration
    /// Whether there was a reading.
    var isKnown: Bool
    /// The uptime of the first reading after the last gap, while the sensor `isWaiting`.
    var gapEnd: Duration?
    /// Whether the computer was off since the last reading, and whether it is unknown for how long.
    var wasOff = false
    var isGapInDoubt = false
    /// The uptime since which the value has not changed.
    var changedAt: Duration?
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
    written = Journaled(records)
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: Sensors) {
    live = other.live.filter { id, _ in settings.contains { $0.name == id } }
    for (id, known) in live
    where other.records[id]?.isWaiting != true
      && !isOutside(known.value ?? records[id]?.value, of: id)
    {
      live[id]?.outsideSince = nil
    }
    (recordedAt, base) = (other.recordedAt, other.base)
    // The ledger does not record each change between `ok` and `outside`.
    for (id, known) in other.records where known.state == .ok || known.state == .outside {
      guard var record = records[id], record.state == .ok || record.state == .outside else {
        continue
      }
      (record.state, record.since) = (known.state, known.since)
      records[id] = record
    }
    // Nor each reading: its hour may lack those of the last minute.
    for (id, known) in other.records {
      guard let hour = known.hour, let recorded = records[id]?.hour, recorded.at == hour.at,
        recorded.secondsMeasured <= hour.secondsMeasured
      else { continue }
      records[id]?.hour = hour
    }
  }

  var isEmpty: Bool { settings.isEmpty && records.isEmpty }

  /// Returns whether a sensor blocks a fruit of a recipe, which no order may take then.
  func block(_ recipe: FruitAmounts) -> Bool {
    records.values.contains { record in
      record.state == .blocked && recipe.contains { record.fruits.contains($0.fruit) }
    }
  }

  /// Returns whether a sensor blocks a machine, which gets no orders then.
  func block(_ machine: MachineID) -> Bool {
    records.values.contains { $0.state == .blocked && $0.machines.contains(machine) }
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
            isSilent: id != .clock, fruits: record.fruits, machines: record.machines)
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
    if let value, value != live.value { live.changedAt = now.uptime }
    let isStuck = sensor.stuckAfter.map { now.uptime - (live.changedAt ?? now.uptime) >= $0 }
    // guard: a value that no sensor can measure is no reading
    guard let value, sensor.unit.plausible.contains(value), isStuck != true else {
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
    let readBefore = live.readAt
    (live.jump, live.value, live.readAt, live.ignored) = (nil, value, now.uptime, 0)
    live.isUnwritten = true
    var record = records[name] ?? SensorRecord(state: .ok, unit: sensor.unit, since: now.timestamp)
    endHour(of: &record, sensor, at: now, into: &changes)
    let endsGap = endGap(
      of: &record, sensor, &live, readBefore: readBefore, at: now, into: &changes)
    count(value, in: &record, sensor, &live, endsGap: endsGap, at: now)
    let wasSilent = record.isSilent
    record.isSilent = false
    if sensor.isWithinLimits(value) {
      if !record.isWaiting { live.outsideSince = nil }
      let ends = record.state == .blocked && record.isDiscarded
      let endsAlarm = record.state == .alarm && sensor.endsAlarm(value)
      if ends || endsAlarm || wasSilent && record.state != .alarm && record.state != .blocked {
        changes.add(.ok, name, value, sensor)
      }
      // guard: what is blocked stays blocked until a person decides
      if ends || endsAlarm || record.state == .outside || record.state == .unknown {
        record = record.with(.ok, at: now)
      }
    } else {
      live.outsideSince = live.outsideSince ?? now.uptime
      if record.state == .ok || record.state == .unknown { record = record.with(.outside, at: now) }
    }
    decideGap(of: &record, sensor, &live, at: now, into: &changes)
    if !record.isWaiting {
      (live.knownAt, live.wasOff, live.isGapInDoubt) = (now.uptime, false, false)
      live.isKnown = true
    }
    store(record, name, &live, at: now)
    // guard: the reading that ends a gap is stored at once
    if endsGap { write(records[name] ?? record, name, &live, at: now) }
  }

  // MARK: Gaps

  /// Records a gap that ends with a reading, and counts it as outside the limits if the reading is.
  ///
  /// - Returns: Whether the reading ends a gap.
  private func endGap(
    of record: inout SensorRecord, _ sensor: KioskSettings.Sensor, _ live: inout Live,
    readBefore: Duration, at now: Moment, into changes: inout Changes
  ) -> Bool {
    let gap = now.uptime - live.knownAt
    // guard: a second gap makes the one that waits longer
    let unread = live.gapEnd == nil ? gap : now.uptime - readBefore
    let blockAfter = live.wasOff ? sensor.blockAfter : nil
    let limit = min(sensor.silentAfter, blockAfter ?? sensor.silentAfter)
    guard let value = live.value,
      unread > limit
        || live.gapEnd == nil && (record.isSilent || record.isWaiting || live.isGapInDoubt)
    else { return false }
    live.gapEnd = now.uptime
    // guard: a gap that ends outside the limits counts as outside
    if !sensor.isWithinLimits(value) { live.outsideSince = live.outsideSince ?? live.knownAt }
    // The first reading of all ends no gap, except a silence that the ledger has recorded.
    guard live.isKnown || record.isSilent else { return true }
    var step = SensorStep(.gap, of: sensor.name, value: value, unit: sensor.unit)
    step.gap = Int(gap / .seconds(1))
    step.isGapInDoubt = live.isGapInDoubt
    let outside = live.outsideSince.map { min(gap, now.uptime - $0) } ?? .zero
    step.outsideInGap = Int(outside / .seconds(1))
    changes.steps.append(step)
    return true
  }

  /// Decides about a block that waits for a reading, if there is one and the length of the gap is
  /// known.
  private func decideGap(
    of record: inout SensorRecord, _ sensor: KioskSettings.Sensor, _ live: inout Live,
    at now: Moment, into changes: inout Changes
  ) {
    defer { if !record.isWaiting { live.gapEnd = nil } }
    guard record.isWaiting, let end = live.gapEnd, !live.isGapInDoubt, let value = live.value,
      let blockAfter = sensor.blockAfter
    else { return }
    // guard: after a long gap a person decides
    let isShort =
      end - live.knownAt <= max(Self.longestGap, blockAfter)
      && live.outsideSince.map { now.uptime - $0 < blockAfter } ?? true
    record.isWaiting = false
    // guard: what was measured while the gap waited is known
    (live.knownAt, live.wasOff) = (live.readAt, false)
    guard isShort else { return }
    let isWithin = sensor.isWithinLimits(value)
    if isWithin {
      live.outsideSince = nil
      changes.add(.ok, sensor.name, value, sensor)
    }
    record = record.with(isWithin ? .ok : .outside, at: now)
  }

  /// Returns whether a sensor that may block has been without a reading for too long.
  private func isUnknown(_ sensor: KioskSettings.Sensor, _ live: Live, at now: Moment) -> Bool {
    guard let blockAfter = sensor.blockAfter, let limit = sensor.blockAfterSilence else {
      return false
    }
    // guard: what no sensor has measured is blocked
    return live.isGapInDoubt || now.uptime - live.knownAt > (live.wasOff ? blockAfter : limit)
  }

  /// Makes what earlier starts have recorded older by a step of the clock that is time which has
  /// passed, and notes the end of a doubt.
  mutating func apply(_ step: ElapsedClock.Step, _ elapsed: ElapsedClock) {
    base = elapsed.base
    for (id, var known) in live where known.wasOff {
      known.knownAt = elapsed.older(known.knownAt, by: step)
      known.outsideSince = known.outsideSince.map { elapsed.older($0, by: step) }
      if !elapsed.blocks { known.isGapInDoubt = false }
      live[id] = known
    }
  }

  /// Blocks fruit whose age is in doubt, or ends that block if there is none.
  mutating func doubt(_ fruits: [Fruit.ID], at now: Moment, into changes: inout Changes) {
    let unit = SensorUnit.seconds
    let before = records[.clock]
    var record = before ?? SensorRecord(state: .ok, unit: unit, since: now.timestamp)
    if fruits.isEmpty {
      guard record.state == .blocked else { return }
      record = record.with(.ok, at: now)
      changes.steps.append(SensorStep(.ok, of: .clock, value: nil, unit: unit))
    } else {
      guard record.state != .blocked || record.fruits != fruits else { return }
      record = record.with(.blocked, at: now)
      record.fruits = fruits
      changes.steps.append(
        SensorStep(.blocked, of: .clock, value: nil, unit: unit, fruits: fruits))
    }
    record.at = now.timestamp
    (records[.clock], written[.clock]) = (record, record)
  }

  /// Continues to measure the times of the sensors of an earlier process.
  mutating func begin(_ elapsed: ElapsedClock, at now: Moment) {
    for sensor in settings where live[sensor.name] == nil {
      guard let record = records[sensor.name] else { continue }
      var live = look(at: sensor.name, at: now)
      // guard: a restart of the kiosk does not hide that the computer was off
      let wasOff = elapsed.wasOff || live.knownAt < .zero
      // While the sensor waits, the computer may have been off before an earlier process.
      live.wasOff = wasOff && live.isKnown || record.isWaiting
      live.isGapInDoubt = live.wasOff && elapsed.blocks
      self.live[sensor.name] = live
    }
  }

  /// Returns the initial state of a sensor after a start: its time outside the limits continues.
  private func look(at name: SensorID, at now: Moment) -> Live {
    let record = records[name]
    let since = record.map { now.uptime + base - $0.elapsed } ?? .zero
    let unread = record?.unread
    var live = Live(
      readAt: now.uptime, countedAt: now.uptime - since,
      knownAt: now.uptime - (unread.map { $0 + since } ?? .zero),
      isKnown: unread != nil && record?.value != nil)
    if let outside = record?.outside,
      record?.isWaiting == true || isOutside(record?.value, of: name)
    {
      // guard: a restart keeps the time outside the limits
      live.outsideSince = now.uptime - outside - since
    }
    return live
  }

  /// Adds a reading to its hour. The time since the previous reading counts as measured, unless it
  /// is a gap, which has its own entry, or longer than an hour or than the time after which the sensor
  /// counts as silent.
  private func count(
    _ value: Int, in record: inout SensorRecord, _ sensor: KioskSettings.Sensor,
    _ live: inout Live, endsGap: Bool, at now: Moment
  ) {
    let gap = now.uptime - live.countedAt
    // guard: a gap is not measured too
    let isMeasured = !endsGap && gap <= min(.seconds(3600), sensor.silentAfter)
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
      guard let blockAfter = sensor.blockAfter else { continue }
      var record =
        records[name] ?? SensorRecord(state: .unknown, unit: sensor.unit, since: now.timestamp)
      if record.state == .blocked {
        // The doubt about the clock may have ended.
        decideGap(of: &record, sensor, &live, at: now, into: &changes)
        blockAdded(to: sensor, in: &record, live, into: &changes)
        if record != records[name] { store(record, name, &live, at: now) }
        continue
      }
      let isWarm = live.outsideSince.map { now.uptime - $0 >= blockAfter } ?? false
      let isUnknown = isUnknown(sensor, live, at: now)
      guard isWarm || isUnknown else { continue }
      record = record.with(.blocked, at: now)
      (record.fruits, record.machines) = (sensor.fruits, sensor.machines)
      record.isWaiting = isUnknown
      changes.add(.blocked, name, live.value ?? record.value, sensor)
      store(record, name, &live, at: now)
    }
  }

  /// Returns the fruits and machines that the settings have added to a sensor since it blocks.
  private func added(
    to sensor: KioskSettings.Sensor, _ record: SensorRecord
  ) -> ([Fruit.ID], [MachineID]) {
    guard record.state == .blocked, sensor.blockAfter != nil else { return ([], []) }
    return (
      sensor.fruits.filter { !record.fruits.contains($0) },
      sensor.machines.filter { !record.machines.contains($0) }
    )
  }

  /// Blocks the fruits and machines that the settings have added to a sensor since it blocks.
  private func blockAdded(
    to sensor: KioskSettings.Sensor, in record: inout SensorRecord, _ live: Live,
    into changes: inout Changes
  ) {
    let (fruits, machines) = added(to: sensor, record)
    // guard: what is added to a sensor that blocks is blocked
    guard !fruits.isEmpty || !machines.isEmpty else { return }
    // guard: fruit that is added after a discard needs a decision
    if !fruits.isEmpty { record.isDiscarded = false }
    record.fruits += fruits
    record.machines += machines
    changes.steps.append(
      SensorStep(
        .blocked, of: sensor.name, value: live.value ?? record.value, unit: sensor.unit,
        fruits: record.fruits, machines: record.machines))
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
      // guard: the time limit of a sensor that was never read is that of the first start
      if before != nil || record.isSilent || sensor.blockAfter != nil {
        store(record, name, &live, at: now)
      }
      self.live[name] = live
    }
    recordMinute(at: now, hasEntries: hasEntries || !changes.steps.isEmpty)
  }

  private mutating func recordMinute(at now: Moment, hasEntries: Bool) {
    let last = recordedAt ?? now.uptime
    recordedAt = last
    guard now.uptime - last >= (hasEntries ? Self.interval : Self.longestWait) else { return }
    for (name, var live) in live where live.isUnwritten {
      guard let record = records[name] else { continue }
      recordedAt = now.uptime
      write(record, name, &live, at: now)
      self.live[name] = live
    }
  }

  /// Stores a record. Writes it to the ledger if it is new, an hour has begun or ended, or the
  /// state, the silence, a discard, `isWaiting` or what is blocked has changed; but not if the state
  /// changes between `ok` and `outside`, because a value near a limit can cause any number of such
  /// changes.
  private mutating func store(
    _ record: SensorRecord, _ name: SensorID, _ live: inout Live, at now: Moment
  ) {
    let before = records[name]
    records[name] = record
    // guard: an hour that is over is stored with its entry
    let isSteady = before.map { old in
      old.isSilent == record.isSilent && old.isDiscarded == record.isDiscarded
        && old.isWaiting == record.isWaiting && old.hour?.at == record.hour?.at
        && old.fruits == record.fruits && old.machines == record.machines
        && (old.state == record.state
          || [old.state, record.state].allSatisfy { $0 == .ok || $0 == .outside })
    }
    if isSteady != true { write(record, name, &live, at: now) }
  }

  private mutating func write(
    _ record: SensorRecord, _ name: SensorID, _ live: inout Live, at now: Moment
  ) {
    var record = record
    (record.at, record.value) = (now.timestamp, live.value ?? record.value)
    record.elapsed = now.uptime + base
    record.unread = now.uptime - live.knownAt
    record.outside = live.outsideSince.map { now.uptime - $0 }
    (records[name], written[name]) = (record, record)
    live.isUnwritten = false
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction) { written.save(in: &transaction) }

  /// Returns the time until a state may change, or until readings must be stored; or `nil` if only a
  /// reading can change something.
  func wait(at now: Moment) -> Duration? {
    settings.flatMap { sensor -> [Duration] in
      guard let live = live[sensor.name] else { return [.zero] }
      let record = records[sensor.name]
      if let record, added(to: sensor, record) != ([], []) { return [.zero] }
      let outside = live.outsideSince.map { since in
        [
          record?.state == .outside ? since + sensor.alarmAfter : nil,
          record?.state == .blocked ? nil : sensor.blockAfter.map { since + $0 },
        ]
      }
      let silent = record?.isSilent == true ? nil : live.readAt + sensor.silentAfter
      let limit = live.wasOff ? sensor.blockAfter : sensor.blockAfterSilence
      let unknown =
        record?.state == .blocked
        ? nil : limit.map { live.isGapInDoubt ? .zero : live.knownAt + $0 + .milliseconds(1) }
      // guard: the last reading is stored within a minute
      let unwritten = live.isUnwritten ? (recordedAt ?? now.uptime) + Self.longestWait : nil
      return ((outside ?? []) + [silent, unknown, unwritten]).compactMap {
        $0.map { max(.zero, $0 - now.uptime) }
      }
    }.min()
  }

  // MARK: Decisions

  /// Applies the decision of a person about a sensor that blocks something.
  mutating func decide(_ decision: SensorDecision, at now: Moment) {
    let name = decision.sensor
    guard var record = records[name], record.state == .blocked else { return }
    var live = self.live[name] ?? look(at: name, at: now)
    let isOutside = live.outsideSince != nil
    if decision.choice == .discard, isOutside || record.isWaiting {
      (record.isDiscarded, record.isWaiting) = (true, false)
    } else {
      // guard: after a release the time outside the limits begins anew
      if isOutside { live.outsideSince = now.uptime }
      record = record.with(isOutside ? .outside : .ok, at: now)
    }
    (live.knownAt, live.gapEnd, live.wasOff, live.isGapInDoubt) = (now.uptime, nil, false, false)
    store(record, name, &live, at: now)
    self.live[name] = live
  }

  func record(blocking sensor: SensorID) -> SensorRecord? {
    records[sensor].flatMap { $0.state == .blocked ? $0 : nil }
  }

  /// Changes to record as entries of the ledger.
  struct Changes {
    var steps: [SensorStep] = []
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
    (record.state, record.since) = (state, now.timestamp)
    (record.isDiscarded, record.isWaiting) = (false, false)
    if state != .blocked { (record.fruits, record.machines) = ([], []) }
    return record
  }
}
