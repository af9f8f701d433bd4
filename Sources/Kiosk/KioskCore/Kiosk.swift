import Devices
package import JuiceDomain
package import KioskProtocol
import TimeZones

/// The decision logic: takes a batch of deliveries, returns a `Decision`.
///
/// A value without I/O: it reads no clock, opens no file and awaits nothing.
///
/// ```swift
/// var next = kiosk.copy()
/// let parsed = filter.admit(deliveries, tracker: &tracker, at: now)
/// let repeats = try ledger.repeats(of: parsed.flatMap(\.repeatKeys))
/// let decision = next.decide(parsed, repeats: repeats, at: now)
/// try ledger.commit(decision.transaction)
/// kiosk = next
/// // Publish decision.answers, acknowledge the deliveries, publish the events.
/// ```
///
/// Each decision changes the value. If the commit fails, discard `next` and call `recover` with the
/// state of the ledger.
///
/// The type is noncopyable, because a copy retains many objects: an actor that reads a
/// computed property of a copyable value copies the whole value.
package struct Kiosk: ~Copyable, Sendable {
  /// Holds the settings by reference: a copy of the kiosk retains one object for all of them, and the
  /// compiler's check of a noncopyable type costs time for each part.
  private final class SettingsBox: Sendable {
    let settings: KioskSettings
    init(_ settings: KioskSettings) { self.settings = settings }
  }

  package var settings: KioskSettings { box.settings }
  private let box: SettingsBox
  package internal(set) var juiceMaker: JuiceMaker
  package var stock: FruitAmounts { juiceMaker.stock }
  /// Whether the kiosk takes orders: `switched` is open, and the last `updateHours` was within the hours.
  package var service: ServiceState { isWithinHours ? switched : .closed }
  /// The state that the last accepted service command has set; `open` before the first.
  var switched: ServiceState
  private(set) var isWithinHours: Bool
  /// The levels of the fruits whose level is not `ok`.
  var levels: Journaled<Fruit.ID, StockAlert>
  /// The number of the last entry.
  package internal(set) var seq: Int
  /// The epoch of new entries; see `LedgerEntry`.
  package let epoch: Int
  package internal(set) var jobs: Jobs
  /// The schedule of machines' programs, or `nil` if no machine has a program.
  var programs: Programs?
  package internal(set) var charges: Charges
  package internal(set) var sensors: Sensors
  package internal(set) var batches: Batches
  package internal(set) var elapsed: ElapsedClock
  /// The last ticket number of each day, by days since 1970-01-01.
  var tickets: [Int: Int]
  var debounce: Debounce
  var marks: DeviceMarks
  let feedback: [String: Feedback]
  package var counters: KioskHealth.Counters

  /// Creates a kiosk from the content of the ledger.
  ///
  /// - Parameters:
  ///   - state: The content of the ledger.
  ///   - counters: The counters to continue from, if this value replaces an earlier one in the same
  ///     process.
  package init(
    settings: KioskSettings, state: LedgerState, counters: KioskHealth.Counters = .init()
  ) {
    box = SettingsBox(settings)
    let held = settings.menu.fruits.compactMap { fruit in
      state.stock[fruit.id].map { (fruit: fruit.id, amount: $0) }
    }
    juiceMaker = JuiceMaker(
      menu: settings.menu,
      store: FruitStore(
        quantities: FruitAmounts(held), capacities: settings.stock.capacities))
    switched = state.service
    isWithinHours = true
    let stock = juiceMaker.stock
    // guard: a restart keeps the level of a fruit
    levels = Journaled(state.alerts.filter { stock[$0.key] != nil })
    seq = state.seq
    epoch = state.epoch
    tickets = state.tickets
    // guard: a restart keeps the debounce
    debounce = Debounce(state.presses)
    // guard: a restart keeps a device's counter
    marks = DeviceMarks(state.marks, of: settings.panels)
    jobs = Jobs(settings, state: state)
    programs = Programs(settings, records: state.programs)
    charges = Charges(settings, state: state)
    sensors = Sensors(settings, state: state)
    batches = Batches(settings, state: state)
    elapsed = ElapsedClock(state)
    feedback = Dictionary(
      settings.panels.lazy.map { ($0.name, $0.feedback) }, uniquingKeysWith: { first, _ in first })
    self.counters = counters
    // Swift 6.2 permits no mutating call in the initializer of a noncopyable value.
    for (fruit, quantity) in stock {
      let level = settings.alert(of: fruit, quantity: quantity, previous: alert(of: fruit))
      levels[fruit] = level == .ok ? nil : level
    }
  }

  // The compiler does not require optional properties and those with a default here: copy each.
  private init(copying other: borrowing Kiosk) {
    (box, feedback) = (other.box, other.feedback)
    (juiceMaker, levels, tickets) = (other.juiceMaker, other.levels, other.tickets)
    (switched, isWithinHours) = (other.switched, other.isWithinHours)
    (seq, epoch) = (other.seq, other.epoch)
    (jobs, programs, charges) = (other.jobs, other.programs, other.charges)
    (sensors, batches, elapsed) = (other.sensors, other.batches, other.elapsed)
    (debounce, marks, counters) = (other.debounce, other.marks, other.counters)
  }

  /// Returns a copy.
  package func copy() -> Kiosk { Kiosk(copying: self) }

  /// Replaces the state by the content of the ledger, after an error of the ledger: a failed commit may be complete.
  /// Keeps a part of the state that the ledger does not store, such as the ages of orders, but not the timers of jobs.
  package mutating func recover(_ state: LedgerState) {
    var next = Kiosk(settings: settings, state: state, counters: counters)
    // guard: an error of the ledger keeps the repeats of a button that is held
    next.debounce.adopt(debounce)
    next.jobs.adoptAges(of: jobs)
    next.programs?.adopt(programs, elapsed)
    next.isWithinHours = isWithinHours
    next.charges.adoptAges(of: charges)
    next.sensors.adopt(sensors)
    next.batches.adopt(batches)
    next.elapsed = elapsed
    next.marks.adopt(marks)
    self = next
  }

  /// Replaces the settings. Keeps the state, also the part that the ledger does not store (debounce,
  /// timers of jobs).
  ///
  /// - Parameter state: The content of the ledger.
  package mutating func adopt(_ settings: KioskSettings, state: LedgerState) {
    var next = Kiosk(settings: settings, state: state, counters: counters)
    next.debounce = debounce
    // guard: a reload outside the hours is no closing
    next.isWithinHours = isWithinHours
    next.jobs.adopt(jobs)
    next.programs?.adopt(programs, elapsed)
    next.charges.adopt(charges)
    next.sensors.adopt(sensors)
    next.batches.adopt(batches)
    next.elapsed = elapsed
    next.marks.adopt(marks)
    self = next
  }

  /// Records a reconnect after the kiosk was offline for an unknown time, or longer than the
  /// maximum age of an order.
  package mutating func reconnected(at now: Moment) {
    marks.reconnected(at: now)
  }

  /// Returns the time until a timer of a machine, a payment device, a sensor or a batch of fruit
  /// expires, or `nil` if only a message can change something. Opening hours do not count.
  package func wait(at now: Moment) -> Duration? {
    [
      machineWait(at: now), charges.wait(at: now), sensors.wait(at: now), batches.wait(at: now),
      elapsed.hasChanged ? .zero : nil,
    ].compactMap(\.self).min()
  }

  /// Returns whether a timer has expired, or the opening hours have begun or ended since the last `updateHours`.
  package func isDue(at now: Moment) -> Bool {
    wait(at: now) == .zero || isWithinHours(at: now.timestamp) != isWithinHours
  }

  /// Determines how long the kiosk was off, whether it is within its hours, and the times of the
  /// sensors and orders of an earlier process. Call it at the start of the process: then the monotonic clock
  /// measures their times, also while the kiosk is offline.
  package mutating func begin(at now: Moment) {
    updateClock(at: now)
    if elapsed.blocks, let last = elapsed.doubtful {
      // guard: an order whose age is in doubt is not made
      jobs.forgetAges(through: last, at: now)
      charges.forgetAges(through: last, at: now)
    }
    updateHours(at: now)
    sensors.begin(elapsed, at: now)
  }

  /// Applies a step of the wall clock to fruit, sensors and programs. Must be called often: the
  /// evidence of the clock must belong to the step.
  package mutating func updateClock(at now: Moment) {
    let step = elapsed.update(at: now)
    batches.update(step, at: now)
    programs?.apply(step, elapsed, at: now)
    sensors.apply(step, elapsed)
  }

  package mutating func updateHours(at now: Moment) {
    let before = isWithinHours
    isWithinHours = isWithinHours(at: now.timestamp)
    if programs != nil { updatePrograms(at: now, wasWithinHours: before) }
  }

  /// Updates the hours if they have begun or ended. While the kiosk is offline it decides nothing, and
  /// the programs at opening and closing need the time of each.
  package mutating func noteHours(at now: Moment) {
    if isWithinHours(at: now.timestamp) != isWithinHours { updateHours(at: now) }
  }

  package func alert(of fruit: Fruit.ID) -> StockAlert { levels[fruit] ?? .ok }

  /// Returns the number of fruits with a level.
  package func fruits(at level: StockAlert) -> Int { stock.count { alert(of: $0.fruit) == level } }

  func isWithinHours(at now: Timestamp) -> Bool {
    guard let hours = settings.hours else { return true }
    let (day, minute) = settings.wallClock.reachedMinute(at: now)
    return hours.isOpen(day: day, minute: minute)
  }

  /// Updates the alerts of all fruits, or only of those whose stock differs from `before`.
  mutating func updateAlerts(since before: FruitAmounts? = nil) {
    guard stock != before else { return }
    for (fruit, quantity) in stock where before?[fruit] != quantity {
      let level = settings.alert(of: fruit, quantity: quantity, previous: alert(of: fruit))
      levels[fruit] = level == .ok ? nil : level
    }
  }
}

extension KioskSettings {
  fileprivate func alert(
    of fruit: Fruit.ID, quantity: Int, previous: StockAlert
  ) -> StockAlert {
    StockAlert(
      quantity: quantity, least: menu.recipeAmounts[fruit]?.lowerBound ?? 1,
      low: stock.lowMarks[fruit] ?? 0, previous: previous)
  }
}
