package import JuiceDomain
package import KioskProtocol

/// The fruit with an expiry date, and the expired fruit that is still in the kiosk.
///
/// A restock, or the initial stock, adds a batch of each fruit that has a date: by `best_before`,
/// or by `keepsHours` of the menu. The rest of the stock has no date. Orders take that rest first,
/// because it counts as the oldest, and then the batch that expires first. Fruit that is returned
/// goes back to its batch.
///
/// The age of fruit is elapsed time: the monotonic clock measures it while the computer runs, and
/// `ElapsedClock` over a start. A date on a package is absolute. If a batch has both, the earlier
/// limits it, whenever the wall clock is set.
///
/// A step back of the wall clock makes no batch fresher, and adds to `behind`. A step forward first
/// reduces `behind`, at most to zero. While a start is in doubt, the rest of the step counts as
/// time in which the computer was off: the batches of earlier starts become older by it. Otherwise
/// the rest is only a change of the clock, which may pass the date on a package.
package struct Batches: Sendable {
  private let keeps: [Fruit.ID: Int]
  private var batches: Journaled<BatchID, Batch>
  private var expiredFruit: Journaled<BatchID, ExpiredFruit>
  /// The uptimes at which batches expire.
  private var deadlines: [BatchID: Duration] = [:]
  /// The dates on the packages of the last restock, until `apply` adds its batches.
  private var bestBefore: [BatchID: Timestamp] = [:]
  /// The fruit of open orders and programs, the oldest first, by the numbers of their entries.
  /// Fruit without a date has batch 0.
  private var taken: [Int: [BatchChange]] = [:]
  /// The uptime at which the ledger last recorded a time with a batch.
  private var savedAt = Duration.zero
  /// Whether the menu has `keepsHours` or a fruit has had a date since the start. Otherwise entries change no batch.
  package private(set) var isActive: Bool
  var held: [BatchID: Batch] { batches.records }
  package var expired: [BatchID: ExpiredFruit] { expiredFruit.records }

  /// The smallest error of the clock that is reported, in milliseconds.
  private static let leastDoubt: Int64 = 60_000
  /// Maximum time between two records of the time. If the clock is behind after a power cut, the
  /// ages of the batches continue from the last record.
  static let recordInterval = Duration.seconds(600)
  /// The longest time from a restock until its fruit expires, in milliseconds.
  static let longest: Int64 = 2 * 366 * 86_400_000

  init(_ settings: KioskSettings, state: LedgerState) {
    keeps = Self.keeps(of: settings.menu)
    batches = Journaled(state.batches)
    expiredFruit = Journaled(state.expired)
    isActive =
      !keeps.isEmpty || !state.batches.isEmpty || !state.expired.isEmpty || !state.taken.isEmpty
    for entry in state.taken { note(entry) }
  }

  static func keeps(of menu: Menu) -> [Fruit.ID: Int] {
    menu.fruits.reduce(into: [:]) { keeps, fruit in keeps[fruit.id] = fruit.keepsHours }
  }

  /// Copies the state that the ledger does not store.
  mutating func adopt(_ other: Batches) {
    savedAt = other.savedAt
    deadlines = other.deadlines.filter { held[$0.key] != nil }
    for id in other.batches.changed {
      // The ledger may lack a step of the clock.
      guard let known = held[id], let batch = other.held[id] else { continue }
      batches[id] = Batch(
        quantity: known.quantity, expires: batch.expires, bestBefore: known.bestBefore,
        at: batch.at, behind: batch.behind)
    }
  }

  // MARK: Bringing

  /// Returns the batches that an entry adds.
  ///
  /// - Parameters:
  ///   - bestBefore: The times at which fruits expire, in milliseconds since 1970.
  ///   - keeps: The number of hours until a fruit expires, also if its package has a later date.
  static func brought(
    by changes: FruitAmounts, bestBefore: [Fruit.ID: Int64], keeps: [Fruit.ID: Int], seq: Int,
    at now: Timestamp
  ) -> [BatchChange] {
    changes.compactMap { fruit, amount in
      let kept = keeps[fruit].map { now.milliseconds + Int64($0) * 3_600_000 }
      // guard: of an age and a date the earlier limits fruit
      guard amount > 0, let expires = [bestBefore[fruit], kept].compactMap(\.self).min() else {
        return nil
      }
      return BatchChange(
        BatchID(fruit: fruit, number: seq), amount, expires: Timestamp(milliseconds: expires))
    }
  }

  mutating func brought(
    by restock: Restock, _ changes: FruitAmounts, seq: Int, at now: Timestamp
  ) -> [BatchChange] {
    guard isActive || !restock.bestBefore.isEmpty else { return [] }
    isActive = true
    bestBefore = restock.bestBefore.reduce(into: [:]) { dates, date in
      dates[BatchID(fruit: date.key, number: seq)] = Timestamp(milliseconds: date.value)
    }
    return Self.brought(
      by: changes, bestBefore: restock.bestBefore, keeps: keeps, seq: seq, at: now)
  }

  // MARK: Entries

  /// Applies an entry to the batches, and adds the changes of the batches to the entry.
  ///
  /// - Parameter stock: The stock after the entry.
  mutating func apply(_ entry: inout LedgerEntry, stock: FruitAmounts, at now: Moment) {
    let changes = entry.changes
    if !changes.isEmpty, entry.status != .expired {
      for change in entry.batches { bring(change, at: now) }
      for (fruit, amount) in changes where amount < 0 {
        entry.batches += take(
          -amount, of: fruit, from: (stock[fruit] ?? 0) - amount,
          undoing: entry.undone ?? entry.corrected, at: now.timestamp)
      }
      if let order = entry.outcome.returnedOrder {
        entry.batches += giveBack(changes, of: order, at: now)
      }
    }
    note(entry)
  }

  private mutating func bring(_ change: BatchChange, at now: Moment) {
    guard let expires = change.expires else { return }
    batches[change.id] = Batch(
      quantity: change.amount, expires: expires, bestBefore: bestBefore[change.id],
      at: now.timestamp)
    deadlines[change.id] = Self.deadline(of: expires, at: now)
  }

  /// Returns the uptime at which fruit expires.
  private static func deadline(of expires: Timestamp, at now: Moment) -> Duration {
    // A timestamp omits up to a millisecond of the time.
    // guard: fruit that expires in this millisecond is not sold
    now.uptime + expires.since(now.timestamp) - .milliseconds(1)
  }

  /// Takes fruit: first the part without a date, then the batches, the first to expire first.
  ///
  /// - Parameter undone: The entry that is undone or corrected, or `nil` for none. Its batch is taken
  ///   before the part without a date, and the other batches after it, the last to expire first.
  private mutating func take(
    _ amount: Int, of fruit: Fruit.ID, from stock: Int, undoing undone: Int?, at now: Timestamp
  ) -> [BatchChange] {
    // guard: fruit is taken first expired, first out
    var batches = ids(of: fruit)
    let dated = batches.reduce(0) { $0 + (held[$1]?.quantity ?? 0) }
    var own = 0
    if let undone {
      own = min(amount, held[BatchID(fruit: fruit, number: undone)]?.quantity ?? 0)
      let others = batches.filter { $0.number != undone }
      // guard: an undone or corrected restock gives its date to no older fruit
      batches = batches.filter { $0.number == undone } + others.reversed()
    }
    var (rest, changes): (Int, [BatchChange]) = (
      own + max(0, amount - own - max(0, stock - dated)), []
    )
    for id in batches where rest > 0 {
      let part = min(rest, held[id]?.quantity ?? 0)
      guard part > 0 else { continue }
      add(-part, to: id, at: now)
      changes.append(BatchChange(id, -part))
      rest -= part
    }
    return changes
  }

  /// Returns the unused fruit of an order to the batches from which it was taken: the freshest
  /// first, because the order has used the oldest.
  private mutating func giveBack(
    _ changes: FruitAmounts, of order: Int, at now: Moment
  ) -> [BatchChange] {
    var returned: [BatchChange] = []
    for (fruit, amount) in changes {
      var rest = amount
      for part in (taken[order] ?? []).reversed() where part.id.fruit == fruit && rest > 0 {
        let amount = min(rest, part.amount)
        rest -= amount
        // Fruit without a date goes back to the rest of the stock.
        guard part.id.number > 0, amount > 0 else { continue }
        if held[part.id] == nil {
          // guard: returned fruit whose batch has expired is expired
          batches[part.id] = Batch(quantity: 0, expires: now.timestamp, at: now.timestamp)
          deadlines[part.id] = now.uptime
        }
        add(amount, to: part.id, at: now.timestamp)
        returned.append(BatchChange(part.id, amount))
      }
    }
    return returned
  }

  private mutating func add(_ amount: Int, to id: BatchID, at now: Timestamp) {
    guard var batch = held[id] else { return }
    batch.quantity += amount
    batch.at = now
    batches[id] = batch
  }

  /// Stores the fruit that an open order or program has taken, until its end. Removes an empty
  /// batch only if no open order or program may return fruit to it.
  private mutating func note(_ entry: LedgerEntry) {
    switch entry.outcome {
    case .accepted, .awaitingPayment: taken[entry.seq] = entry.parts
    case .program(let step) where step.kind == .requested: taken[entry.seq] = entry.parts
    case .decided(.again, let job, let used):
      taken[job] = (taken[job] ?? []).dropping(used) + entry.parts
    default: end(entry.outcome.returnedOrder ?? entry.outcome.end?.job, entry)
    }
  }

  private mutating func end(_ order: Int?, _ entry: LedgerEntry) {
    let parts = order.flatMap { taken.removeValue(forKey: $0) } ?? entry.batches
    for id in parts.map(\.id) where held[id]?.quantity == 0 {
      if !taken.values.contains(where: { $0.contains { $0.id == id } }) { remove(id) }
    }
  }

  private mutating func remove(_ id: BatchID) {
    (batches[id], deadlines[id]) = (nil, nil)
  }

  private func ids(of fruit: Fruit.ID) -> [BatchID] {
    held.keys.filter { $0.fruit == fruit }
      .sorted { (deadlines[$0] ?? .zero, $0) < (deadlines[$1] ?? .zero, $1) }
  }

  // MARK: Time

  /// Applies a change of the wall clock to the batches, and determines when those expire that were
  /// read from the ledger.
  mutating func update(_ step: ElapsedClock.Step, at now: Moment) {
    guard isActive else { return }
    if step.milliseconds != 0 {
      for id in held.keys { shift(id, by: step, at: now) }
    }
    for (id, batch) in held where deadlines[id] == nil {
      deadlines[id] = Self.deadline(of: batch.expires, at: now)
    }
  }

  /// Changes the time of a batch if the ledger must record the time again.
  private mutating func recordTime(at now: Moment) {
    guard now.uptime - savedAt >= Self.recordInterval, let id = held.keys.min() else { return }
    batches[id]?.at = now.timestamp
  }

  private mutating func shift(_ id: BatchID, by change: ElapsedClock.Step, at now: Moment) {
    guard var batch = held[id] else { return }
    let step = change.milliseconds
    // guard: a clock that shows an earlier time makes no fruit fresher
    let ended = step > 0 ? min(step, batch.behind) : step
    var expires = batch.expires.milliseconds + ended
    batch.behind -= ended
    let rest = step - ended
    if rest > 0 {
      if id.number <= change.ages {
        // guard: the time that a computer was off makes fruit older
        deadlines[id] = deadlines[id].map { $0 - .milliseconds(rest) }
      } else {
        expires += rest
      }
    }
    batch.expires = Timestamp(milliseconds: expires)
    // guard: a date on a package does not move with the clock
    if let date = batch.bestBefore, date < batch.expires {
      batch.expires = date
      deadlines[id] = deadlines[id].map { min($0, Self.deadline(of: date, at: now)) }
    }
    batch.at = now.timestamp
    batches[id] = batch
  }

  /// The fruits that may have expired although the clock does not show it: those of entries up to
  /// `seq`, and those with a date on the package, which only the wall clock can compare.
  func inDoubt(since seq: Int) -> Set<Fruit.ID> {
    Set(
      held.lazy.filter { id, batch in
        batch.quantity > 0 && (id.number <= seq || batch.bestBefore != nil)
      }.map(\.key.fruit))
  }

  /// Removes the batches that have expired, and returns the fruit to take out of the stock.
  mutating func expire(at now: Moment) -> [BatchChange] {
    // guard: fruit expires in its time
    let ids = deadlines.filter { $0.value <= now.uptime }.map(\.key).sorted()
    return ids.compactMap { id in
      let quantity = held[id]?.quantity ?? 0
      remove(id)
      guard quantity > 0 else { return nil }
      expiredFruit[id] = ExpiredFruit(quantity: quantity + (expired[id]?.quantity ?? 0))
      return BatchChange(id, -quantity)
    }
  }

  /// Returns the fruit that an open order has taken, without the part that has expired since.
  func fresh(_ used: FruitAmounts, of order: Int) -> FruitAmounts {
    var fresh = used
    for part in taken[order] ?? [] where part.id.number > 0 && held[part.id] == nil {
      fresh[part.id.fruit] = (fresh[part.id.fruit] ?? 0) - part.amount
    }
    return fresh
  }

  /// Returns the time until a batch expires, or until the ledger must record a change or the time;
  /// or `nil` if there is no batch.
  func wait(at now: Moment) -> Duration? {
    guard !held.isEmpty else { return nil }
    guard batches.isSaved, deadlines.count == held.count else { return .zero }
    let next = min(savedAt + Self.recordInterval, deadlines.values.min() ?? now.uptime)
    return max(next - now.uptime, .zero)
  }

  // MARK: Removal

  package var expiredAmounts: FruitAmounts {
    expired.reduce(into: [:]) { $0 += [$1.key.fruit: $1.value.quantity] }
  }

  /// Removes all expired fruit of the given kinds, regardless of the amounts.
  mutating func takeOut(_ fruits: FruitAmounts) {
    for id in expired.keys where fruits[id.fruit] != nil { expiredFruit[id] = nil }
  }

  // MARK: Reports

  /// The time at which the next batch of each fruit expires, by the wall clock as it is set now.
  package var nextExpiries: [Fruit.ID: Timestamp] {
    held.reduce(into: [:]) { next, batch in
      guard batch.value.quantity > 0 else { return }
      let fruit = batch.key.fruit
      next[fruit] = min(next[fruit] ?? batch.value.expires, batch.value.expires)
    }
  }

  /// The amounts of each fruit that expire, the earliest first, by the wall clock as it is set now;
  /// at most `ForecastReport.Outlook.maximumBatches` of a fruit.
  package var expiries: [Fruit.ID: [ForecastReport.Outlook.Expiry]] {
    Dictionary(grouping: held.filter { $0.value.quantity > 0 }, by: \.key.fruit)
      .mapValues { batches in
        Array(
          batches.map { .init(at: $0.value.expires, amount: $0.value.quantity) }
            .sorted { ($0.at, $0.amount) < ($1.at, $1.amount) }
            .prefix(ForecastReport.Outlook.maximumBatches))
      }
  }

  /// Milliseconds by which the wall clock was set back, or behind at a start; 0 if below
  /// `leastDoubt`.
  package var clockBehind: Int64 {
    let behind = held.values.lazy.map(\.behind).max() ?? 0
    return behind < Self.leastDoubt ? 0 : behind
  }

  /// Adds to a transaction the changes since the last call.
  mutating func save(in transaction: inout LedgerTransaction, at now: Moment) {
    guard isActive else { return }
    recordTime(at: now)
    if !batches.isSaved { savedAt = now.uptime }
    batches.save(in: &transaction)
    expiredFruit.save(in: &transaction)
  }
}

extension LedgerEntry {
  /// The fruit that the entry takes, the oldest first. Fruit without a date has batch 0.
  fileprivate var parts: [BatchChange] {
    changes.flatMap { fruit, amount in
      let dated = batches.filter { $0.id.fruit == fruit }.map { BatchChange($0.id, -$0.amount) }
      let undated = -amount - dated.reduce(0) { $0 + $1.amount }
      return (undated > 0 ? [BatchChange(BatchID(fruit: fruit, number: 0), undated)] : []) + dated
    }
  }
}

extension LedgerEntry.Outcome {
  /// The entry of the order or program whose unused fruit this outcome returns, or `nil` for none.
  fileprivate var returnedOrder: Int? {
    switch self {
    case .failed(let end, _, _), .returned(let end, _, _): end.job
    case .program(let step) where step.kind != .requested: step.job
    default: nil
    }
  }
}

extension [BatchChange] {
  /// Returns the parts that remain after the oldest fruit of the given amounts is removed.
  fileprivate func dropping(_ amounts: FruitAmounts) -> [BatchChange] {
    var rest = amounts
    return compactMap { part in
      let used = Swift.min(part.amount, rest[part.id.fruit] ?? 0)
      rest[part.id.fruit] = (rest[part.id.fruit] ?? 0) - used
      return used < part.amount ? BatchChange(part.id, part.amount - used) : nil
    }
  }
}
