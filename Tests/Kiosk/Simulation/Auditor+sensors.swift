import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger
import MessageBroker

// Checks of the sensor: a block needs its time, comes in time, and ends only by a person.
extension Auditor {
  /// The time by which the auditor may read an entry late.
  private static let slack = Duration.seconds(2)

  /// Notes the readings among deliveries.
  mutating func receivedReadings(_ deliveries: [Delivery], at now: Duration) {
    guard rules.hasSensors else { return }
    sensor.before = sensor.readings
    (sensor.gapSince, sensor.hasGap) = (nil, false)
    for message in deliveries.lazy.map(\.message)
    where message.topic == SensorModel.topic && !message.retain {
      guard let value = Int(text(message.payload)), value < 150 else { continue }
      trace.append("the refrigerator has \(value) degrees")
      sensor.read(value * 1000, at: now)
    }
  }

  // MARK: Permitted outcomes

  /// Whether a juice has fruit that is blocked; `maybe` if the current batch may have ended the block.
  func isBlocked(_ recipe: [String: Int]) -> SensorModel.Knowledge {
    recipe[SensorModel.fruit] == nil ? .no : sensor.isBlocked
  }

  func isBlocked(machine: String) -> SensorModel.Knowledge {
    machine == SensorModel.machine ? sensor.isBlocked : .no
  }

  /// Adds what the sensor permits for a command.
  func addSensor(to work: inout Model.Work, for message: Sent) {
    switch message.sending.content {
    case .order(let juice, _):
      let makers = rules.makers.filter { $0.makes(juice) }
      let recipe = model.variant.recipes[juice] ?? [:]
      work.isBlocked = isBlocked(recipe)
      work.hasBlockedMaker = makers.contains { isBlocked(machine: $0.name) == .yes }
      work.mayHaveBlockedMaker = makers.contains { isBlocked(machine: $0.name) != .no }
    case .judge(let choice):
      let discards = choice == "discard"
      let isOver = discards && sensor.isDiscarded
      work.mayNeedDecision = sensor.isBlocked != .no && !isOver
      work.mayNotNeedDecision = sensor.isBlocked != .yes || isOver
      let held = model.shown[SensorModel.fruit, default: 0]
      work.steps = [
        discards && mayReturn(SensorModel.fruit)
          ? .rejected("conflict")
          : .sensor(
            "sensor_\(choice)", changes: discards && held > 0 ? [SensorModel.fruit: -held] : [:])
      ]
    default: break
    }
  }

  /// Whether an open order or program has taken some of the fruit.
  private func mayReturn(_ fruit: String) -> Bool {
    openJobs.contains { $0.used[fruit] != nil }
      || payments.charges.values.contains { charge in
        charge.order.map { $0.end == nil && $0.used[fruit] != nil } ?? false
      }
  }

  /// Whether an order that waits, or is paid now, may not be made because of the sensor.
  func mayBeBlocked(used: [String: Int], makers: [String]) -> Bool {
    isBlocked(used) != .no || makers.contains { isBlocked(machine: $0) != .no }
  }

  // MARK: Entries

  /// Checks an entry about the sensor and applies it.
  mutating func checkSensor(_ entry: LedgerEntry, at now: Duration) {
    guard case .sensor(let step) = entry.outcome else { return }
    guard rules.hasSensors, step.sensor.text == SensorModel.name else {
      return fail(.decision, "entry \(entry.seq) is of an unknown sensor: \(step)")
    }
    sensor.hasChanged = true
    switch step.kind {
    case .blocked:
      let hasBlocked =
        step.fruits.map(\.text) == [SensorModel.fruit]
        && step.machines.map(\.text) == [SensorModel.machine]
      let isOutside = isOutside(for: SensorModel.blockAfter, at: now)
      // The ledger stores the time of a reading once a minute.
      let knownAt = min(sensor.knownAt, sensor.before?.knownAt ?? sensor.knownAt)
      let isUnknown = now - knownAt > SensorModel.blockAfterSilence - .seconds(72)
      if sensor.isBlocked == .yes || !hasBlocked || !isOutside && !isUnknown {
        fail(.decision, "entry \(entry.seq) has no reason: \(step), \(sensor)")
      }
      for job in openJobs
      where job.used[SensorModel.fruit] != nil || job.machine == SensorModel.machine {
        machineModel.jobs[job.seq]?.mayBeBlocked = true
      }
      sensor.isWaiting = isUnknown
      (sensor.isBlocked, sensor.isAlarm, sensor.isDiscarded) = (.yes, false, false)
    case .alarm:
      if sensor.isAlarm || sensor.isBlocked == .yes
        || !isOutside(for: SensorModel.alarmAfter, at: now)
      {
        fail(.decision, "entry \(entry.seq) has no reason: \(step), \(sensor)")
      }
      sensor.isAlarm = true
    case .silent:
      if sensor.isSilent || now - sensor.readAt < SensorModel.silentAfter {
        fail(.decision, "entry \(entry.seq) has no reason: \(step), \(sensor)")
      }
      sensor.isSilent = true
    case .gap:
      (sensor.isSilent, sensor.hasGap) = (false, true)
      guard let gap = step.gap, let outside = step.outsideInGap, outside >= 0, outside <= gap else {
        return fail(.decision, "entry \(entry.seq) has no gap: \(step)")
      }
      if step.value ?? 0 > SensorModel.maximum { sensor.gapSince = now - .seconds(gap) }
    case .ok: checkOk(entry)
    case .hour: checkHour(step, entry)
    case .discard:
      sensor.isDiscarded = sensor.isBlocked != .no
      sensor.isBlocked = .maybe
    case .release:
      (sensor.isBlocked, sensor.isAlarm, sensor.isDiscarded) = (.no, false, false)
      (sensor.knownAt, sensor.isWaiting, sensor.gapSince) = (now, false, nil)
      sensor.outsideSince = sensor.outsideSince.map { _ in now }
      sensor.isCarried = false
      sensor.before = nil
    }
  }

  /// Whether the value may be outside the limits for a time, before the current batch or with it.
  private func isOutside(for time: Duration, at now: Duration) -> Bool {
    mayHaveCarriedMore
      || [sensor.outsideSince, sensor.before?.outsideSince, sensor.gapSince].contains { since in
        since.map { now - $0 >= time } ?? false
      }
  }

  /// Whether the clock was set after a start, before the kiosk may have first looked at it.
  private var mayHaveCarriedMore: Bool {
    (sensor.isCarried || sensor.before?.isCarried == true)
      && lastJump.map { $0 >= startedAt } ?? false
  }

  private mutating func checkOk(_ entry: LedgerEntry) {
    if sensor.isAlarm {
      sensor.isAlarm = false
    } else if sensor.isWaiting, sensor.isBlocked != .no {
      (sensor.isBlocked, sensor.isWaiting, sensor.isDiscarded) = (.no, false, false)
    } else if sensor.isDiscarded, sensor.isBlocked != .no {
      (sensor.isBlocked, sensor.isDiscarded) = (.no, false)
    } else if !sensor.hasGap {
      fail(.decision, "entry \(entry.seq) ends nothing: \(sensor)")
    }
  }

  private mutating func checkHour(_ step: SensorStep, _ entry: LedgerEntry) {
    guard let hour = step.hour else { return fail(.ledger, "entry \(entry.seq) has no hour") }
    let isNew = sensor.hours.insert("\(hour.at)").inserted
    if !isNew && lastJump == nil || hour.low > hour.high
      || !sensor.values.isSuperset(of: [hour.low, hour.high])
      || hour.secondsOutside > hour.secondsMeasured || hour.secondsMeasured > 3_600
    {
      fail(.decision, "entry \(entry.seq) is not what was measured: \(hour), \(sensor)")
    }
  }

  // MARK: State

  /// Compares the ledger's record with the entries, and learns what a batch has left open.
  mutating func compareSensor(_ ledger: KioskLedger) throws {
    guard rules.hasSensors, sensor.hasChanged else { return }
    sensor.hasChanged = false
    let record = try ledger.state().sensors.first?.value
    let isBlocked = record?.state == .blocked
    if sensor.isBlocked == .maybe { sensor.isBlocked = isBlocked ? .yes : .no }
    if !isBlocked { sensor.isDiscarded = false }
    if isBlocked != (sensor.isBlocked == .yes) || (record?.state == .alarm) != sensor.isAlarm
      || record?.isSilent ?? false != sensor.isSilent
      || record?.isDiscarded ?? false != sensor.isDiscarded
    {
      fail(.ledger, "the record of the sensor is \(record as Any), and not \(sensor)")
    }
  }

  /// Checks, while no message is in flight, that what is due has happened and is shown.
  mutating func checkSensor(at now: Duration) {
    guard rules.hasSensors else { return }
    let outside =
      mayHaveCarriedMore ? .zero : sensor.outsideSince.map { now - $0 - Self.slack } ?? .zero
    let isBlocked = sensor.isBlocked == .yes
    if outside > SensorModel.blockAfter, !isBlocked {
      fail(.decision, "the sensor does not block: \(sensor)")
    }
    if outside > SensorModel.alarmAfter, !isBlocked, !sensor.isAlarm {
      fail(.decision, "the sensor has no alarm: \(sensor)")
    }
    let watched = now - max(sensor.readAt, sensor.onlineAt ?? now) - Self.slack
    if watched > SensorModel.silentAfter, !sensor.isSilent {
      fail(.decision, "the sensor is not silent: \(sensor)")
    }
    let unknown = now - max(sensor.knownAt, sensor.onlineAt ?? now) - Self.slack
    if unknown > SensorModel.blockAfterSilence, !isBlocked {
      fail(.decision, "the silence does not block: \(sensor)")
    }
    let topic = "sensor/\(SensorModel.name)"
    guard let report = display[topic].flatMap({ try? SensorReport(payload: Array($0.utf8)) }),
      (report.state == .blocked) == isBlocked, (report.state == .alarm) == sensor.isAlarm,
      report.isSilent == sensor.isSilent
    else { return fail(.display, "\(topic) shows \(display[topic] ?? "nothing"), not \(sensor)") }
  }
}
