import JuiceDomain
import KioskProtocol

// Sensors, and the fruit and machines that they block.
extension Kiosk {
  /// Checks a person's decision about the fruits and machines that a sensor has blocked, and takes discarded fruit out.
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
      // The fruit of an open order could return to the stock after the decision.
      let unpaid = charges.open.filter(\.state.isUnpaid).compactMap(\.sale)
      let taken = jobs.open.map { ($0.number, $0.used) } + unpaid.map { ($0.seq, $0.used) }
      for (job, used) in taken where used.contains(where: { record.fruits.contains($0.fruit) }) {
        throw Rejection(
          .conflict,
          "job \(job) still has this fruit: decide about it first, or wait until it ends")
      }
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

  /// Changes the state of sensors, and records the change.
  ///
  /// The entries are recorded at once, so that in the ledger a block precedes the rejections
  /// that it causes.
  mutating func changeSensors(
    in decision: inout Decision,
    _ change: (inout Sensors, inout Sensors.Changes) -> Void
  ) {
    var changes = Sensors.Changes()
    change(&sensors, &changes)
    for step in changes.steps { record(.sensor(step), in: &decision) }
    decision.sensorsIgnored += changes.ignored
  }
}
