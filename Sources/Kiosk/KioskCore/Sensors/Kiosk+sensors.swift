import JuiceDomain
import KioskProtocol

// Sensors, and the fruit and machines that they block.
extension Kiosk {
  /// Applies a person's decision about what a sensor has blocked.
  mutating func apply(
    _ decided: SensorDecision
  ) throws(Rejection) -> LedgerEntry.Outcome {
    guard let record = sensors.record(blocking: decided.sensor) else {
      throw Rejection(.noDecisionNeeded, "sensor \(decided.sensor) blocks nothing")
    }
    guard !record.isDiscarded || decided.choice == .release else {
      throw Rejection(
        .noDecisionNeeded, "the fruit of sensor \(decided.sensor) is discarded already")
    }
    var changes: FruitAmounts = [:]
    if decided.choice == .discard {
      let held = record.fruits.compactMap { fruit in
        stock[fruit].map { (fruit: fruit, amount: $0) }
      }.filter { $0.amount > 0 }
      _ = juiceMaker.take(FruitAmounts(held))
      changes = FruitAmounts(held).times(-1)
    }
    return .sensor(
      SensorStep(
        decided.choice == .discard ? .discard : .release, of: decided.sensor, value: record.value,
        unit: record.unit, fruits: record.fruits, machines: record.machines,
        word: decided.word, changes: changes))
  }

  /// Ends the block that an entry decides about.
  mutating func execute(
    _ decided: SensorDecision, in entry: LedgerEntry, at now: Moment,
    _ changes: inout Sensors.Changes
  ) {
    guard case .sensor = entry.outcome else { return }
    sensors.decide(decided, at: now, into: &changes)
    jobs.blocked = sensors.blocked
  }

  /// Adds the entries and the readings of sensors to a decision.
  mutating func finish(
    _ changes: Sensors.Changes, at now: Moment, in decision: inout Decision
  ) {
    var changes = changes
    sensors.fire(
      at: now, hasEntries: !decision.transaction.records.isEmpty, into: &changes)
    for step in changes.steps {
      seq += 1
      let entry = LedgerEntry(
        seq: seq, epoch: epoch, at: now.timestamp, source: nil, id: nil, outcome: .sensor(step))
      decision.transaction.records.append(.init(LedgerRow(entry)))
    }
    decision.transaction.sensors = changes.records
    decision.sensorsIgnored = changes.ignored
    decision.sensorsChanged = !changes.records.isEmpty
    jobs.blocked = sensors.blocked
  }
}
