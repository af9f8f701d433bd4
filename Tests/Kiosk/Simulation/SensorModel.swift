import Devices
import JuiceDomain
import KioskCore
import KioskProtocol

/// The auditor's knowledge of the sensor in the refrigerator.
struct SensorModel {
  static let name = "fridge"
  static let topic = "t/fridge"
  /// The fruit and the machine that it blocks.
  static let fruit = "kiwi"
  static let machine = "arm"
  /// The greatest value within the limits, in thousandths of a degree.
  static let maximum = 7_000
  static let alarmAfter = Duration.seconds(20)
  static let blockAfter = Duration.seconds(60)
  static let silentAfter = Duration.seconds(90)
  static let blockAfterSilence = silentAfter + blockAfter

  /// The state by the entries of the ledger.
  var (isAlarm, isSilent, isDiscarded) = (false, false, false)
  var isBlocked = Knowledge.no
  /// The time since which all readings that the kiosk has received are outside the limits, or `nil` if
  /// the last one is within them.
  var outsideSince: Duration?
  /// Whether that time began in an earlier process.
  var isCarried = false
  /// The time of the last reading that the kiosk has received, or of its start.
  var readAt = Duration.zero
  /// The time of the last reading that the kiosk has received, also before its start.
  var knownAt = Duration.zero
  /// The start of a gap that the current batch has recorded and that ended outside the limits.
  var gapSince: Duration?
  /// Whether the block ends with a reading within the limits, and whether the current batch has
  /// recorded a gap.
  var (isWaiting, hasGap) = (false, false)
  /// The time at which the kiosk was first online since its start. It may watch the sensor only then.
  var onlineAt: Duration?
  /// The values that the kiosk has received, in thousandths of a degree.
  var values: Set<Int> = []
  /// The hours that have an entry.
  var hours: Set<String> = []
  /// Whether an entry has changed the state, and the ledger's record has not been compared since.
  var hasChanged = true
  /// The readings before the current batch.
  var before: Readings?

  static var settings: KioskSettings.Sensor {
    KioskSettings.Sensor(
      name: SensorID(name) ?? "sensor", binding: SensorBinding(topic: topic), unit: .celsius,
      maximum: maximum, alarmAfter: alarmAfter, blockAfter: blockAfter, silentAfter: silentAfter,
      fruits: [Fruit.ID(fruit) ?? "fruit"], machines: [MachineID(machine) ?? "machine"])
  }

  /// An answer that may be open until a batch is over.
  enum Knowledge { case no, maybe, yes }

  /// The readings of a process.
  struct Readings {
    let outsideSince: Duration?
    let isCarried: Bool
    let readAt: Duration
    let knownAt: Duration
  }

  var readings: Readings {
    Readings(outsideSince: outsideSince, isCarried: isCarried, readAt: readAt, knownAt: knownAt)
  }

  /// Notes the time of a reading, and whether it is outside the limits.
  mutating func read(_ value: Int, at now: Duration) {
    (readAt, knownAt) = (now, now)
    outsideSince = value > Self.maximum ? outsideSince ?? now : nil
    if outsideSince == nil { isCarried = false }
    values.insert(value)
  }

  /// Notes that the current batch did not count.
  mutating func batchIsAbandoned() {
    guard let before else { return }
    (outsideSince, isCarried, readAt) = (before.outsideSince, before.isCarried, before.readAt)
    knownAt = before.knownAt
    self.before = nil
  }

  /// Notes a start. The time outside the limits continues from the ledger's record, with the time that
  /// has passed since.
  mutating func kioskStarts(with record: SensorRecord?, _ clock: ClockRecord?, at now: Duration) {
    (readAt, onlineAt, before) = (now, nil, nil)
    outsideSince = record?.outside.map { outside in
      let recorded = (clock?.elapsed ?? .zero) - (record?.elapsed ?? .zero)
      return (clock?.uptime ?? now) - recorded - outside
    }
    isCarried = outsideSince != nil
  }
}
