import JuiceDomain
import KioskCore
import KioskProtocol
import Ledger

// Checks of fruit with a date: each batch is exact, the oldest is used first, and nothing expired is
// sold.
extension Auditor {
  /// The time by which the auditor may read an entry late, and more.
  private static let slack = Duration.seconds(2)

  /// Checks the batches of an entry. Call it before the model applies the entry.
  ///
  /// - Parameter message: The message that has become the entry, or `nil` without one.
  mutating func checkBatches(_ entry: LedgerEntry, of message: Sent?, at now: Duration) {
    let parts = entry.batches.map {
      BatchModel.Part(
        id: .init(fruit: $0.id.fruit.text, number: $0.id.number), amount: $0.amount)
    }
    guard rules.hasDates else {
      if !parts.isEmpty { fail(.decision, "entry \(entry.seq) has batches: \(parts)") }
      return
    }
    let order = returnedOrder(entry)
    batches.returning = order.flatMap { batches.taken.removeValue(forKey: $0) } ?? []
    var all: [BatchModel.Part] = []
    for (fruit, amount) in [String: Int](entry.changes) {
      let own = parts.filter { $0.id.fruit == fruit }
      if case .expired = entry.outcome {
        checkExpired(own, amount, entry, at: now)
      } else if amount < 0 {
        all += checkTake(own, -amount, of: fruit, entry, at: now)
      } else if order != nil {
        checkReturn(own, amount, entry)
      } else {
        checkBring(own, amount, of: fruit, entry, message, at: now)
      }
    }
    if parts.contains(where: { entry.changes[Fruit.ID($0.id.fruit) ?? "kiwi"] == nil }) {
      fail(.ledger, "entry \(entry.seq) has batches of other fruits: \(parts)")
    }
    follow(entry, all)
  }

  private func returnedOrder(_ entry: LedgerEntry) -> Int? {
    if case .program(let step) = entry.outcome { return step.job }
    return entry.outcome.end?.job
  }

  private mutating func follow(_ entry: LedgerEntry, _ parts: [BatchModel.Part]) {
    switch entry.outcome {
    case .accepted, .awaitingPayment: batches.taken[entry.seq] = parts
    case .program(let step) where step.kind == .requested: batches.taken[entry.seq] = parts
    case .decided(.again, let job, let used):
      var rest = [String: Int](used)
      batches.taken[job] = (batches.taken[job] ?? []).map { part in
        let gone = min(part.amount, rest[part.id.fruit, default: 0])
        rest[part.id.fruit, default: 0] -= gone
        return BatchModel.Part(id: part.id, amount: part.amount - gone)
      }
      batches.taken[job, default: []] += parts
    case .removed(let removal):
      for (fruit, amount) in [String: Int](removal.expired) {
        if batches.expiredAmount(of: fruit) != amount {
          fail(.twice, "entry \(entry.seq) takes out \(amount) of \(batches.expired)")
        }
        batches.expired = batches.expired.filter { $0.key.fruit != fruit }
      }
    default: break
    }
  }

  private mutating func checkTake(
    _ parts: [BatchModel.Part], _ amount: Int, of fruit: String, _ entry: LedgerEntry,
    at now: Duration
  ) -> [BatchModel.Part] {
    let own = batches.held.filter { $0.key.fruit == fruit }
    let undated = model.stock[fruit, default: 0] - own.values.reduce(0) { $0 + $1.quantity }
    let dated = parts.reduce(0) { $0 - $1.amount }
    if dated != max(0, amount - undated) {
      fail(.decision, "entry \(entry.seq) takes \(parts), and \(undated) have no date")
    }
    for part in parts {
      guard let batch = batches.held[part.id], -part.amount <= batch.quantity else {
        fail(.decision, "entry \(entry.seq) takes \(part) of \(batches.held)")
        continue
      }
      if batch.latest < now - Self.slack {
        fail(.forbidden, "entry \(entry.seq) takes \(part), which has expired: \(batch)")
      }
      batches.held[part.id]?.quantity += part.amount
    }
    for part in parts {
      guard let taken = batches.held[part.id] else { continue }
      let isFresher = batches.held.contains {
        $0.key.fruit == fruit && $0.value.quantity > 0 && $0.value.latest < taken.earliest
      }
      if isFresher { fail(.decision, "entry \(entry.seq) does not take the oldest: \(parts)") }
    }
    let rest = BatchModel.Part(id: .init(fruit: fruit, number: 0), amount: amount - dated)
    return [rest] + parts.map { BatchModel.Part(id: $0.id, amount: -$0.amount) }
  }

  private mutating func checkReturn(
    _ parts: [BatchModel.Part], _ amount: Int, _ entry: LedgerEntry
  ) {
    var rest = amount
    var expected: [BatchModel.ID: Int] = [:]
    guard let fruit = parts.first?.id.fruit ?? batches.returning.first?.id.fruit else { return }
    for part in batches.returning.reversed() where part.id.fruit == fruit {
      let returned = min(rest, part.amount)
      rest -= returned
      if part.id.number > 0, returned > 0 { expected[part.id, default: 0] += returned }
    }
    let told = parts.reduce(into: [:]) { $0[$1.id, default: 0] += $1.amount }
    // A fruit of which nothing has a date is not named, and so not checked here.
    if told != expected, !parts.isEmpty {
      fail(.decision, "entry \(entry.seq) returns \(told), and not \(expected)")
    }
    for (id, amount) in told {
      if batches.held[id] == nil {
        batches.held[id] = .init(
          quantity: 0, brought: .zero, earliest: .zero, latest: .zero)
      }
      batches.held[id]?.quantity += amount
    }
  }

  private mutating func checkBring(
    _ parts: [BatchModel.Part], _ amount: Int, of fruit: String, _ entry: LedgerEntry,
    _ message: Sent?, at now: Duration
  ) {
    var expires: Int64?
    if fruit == model.variant.keeps { expires = entry.at.milliseconds + 3_600_000 }
    if let message, case .bring = message.sending.content {
      expires = [message.expected.map(Int64.init), expires].compactMap(\.self).min()
    }
    let told = entry.batches.first { $0.id.fruit.text == fruit }?.expires?.milliseconds
    let id = BatchModel.ID(fruit: fruit, number: entry.seq)
    guard parts == (expires == nil ? [] : [.init(id: id, amount: amount)]), told == expires else {
      return fail(.decision, "entry \(entry.seq) brings \(entry.batches), \(expires as Any)")
    }
    guard let expires else { return }
    let end = now + .milliseconds(expires - entry.at.milliseconds)
    batches.held[id] = .init(
      quantity: amount, brought: now, earliest: end - Self.slack, latest: end)
  }

  private mutating func checkExpired(
    _ parts: [BatchModel.Part], _ amount: Int, _ entry: LedgerEntry, at now: Duration
  ) {
    if parts.reduce(0, { $0 + $1.amount }) != amount || entry.source != nil {
      fail(.decision, "entry \(entry.seq) is \(parts), and changes \(amount)")
    }
    for part in parts {
      guard let batch = batches.held.removeValue(forKey: part.id) else {
        fail(.twice, "entry \(entry.seq) says that \(part) has expired")
        continue
      }
      if batch.quantity != -part.amount || batch.earliest > now {
        fail(.decision, "entry \(entry.seq) says that \(part) has expired: \(batch)")
      }
      batches.expired[part.id, default: 0] -= part.amount
    }
  }

  /// Whether fruit of the order that the last entry ends has expired.
  func hasExpired(at now: Duration) -> Bool {
    batches.returning.contains { part in
      part.id.number > 0 && batches.held[part.id].map { $0.earliest <= now } ?? true
    }
  }

  /// Returns whether fruit of an open order may have expired.
  func hasExpired(_ job: MachineModel.Job, at now: Duration) -> Bool {
    (batches.taken[job.seq] ?? []).contains { part in
      part.id.number > 0 && batches.held[part.id].map { $0.earliest <= now } ?? true
    }
  }

  // MARK: State

  /// Compares the ledger's batches with the model.
  mutating func checkBatches(_ ledger: KioskLedger) throws {
    guard rules.hasDates else { return }
    let state = try ledger.state()
    var held: [BatchModel.ID: Int] = [:]
    for (id, batch) in state.batches where batch.quantity > 0 {
      held[.init(fruit: id.fruit.text, number: id.number)] = batch.quantity
    }
    if held != batches.held.mapValues(\.quantity).filter({ $0.value > 0 }) {
      fail(.ledger, "the batches are \(held), and not \(batches.held)")
    }
    let expired = state.expired.map { id, expired in
      (BatchModel.ID(fruit: id.fruit.text, number: id.number), expired.quantity)
    }
    if Dictionary(uniqueKeysWithValues: expired) != batches.expired {
      fail(.ledger, "\(expired) has expired, and not \(batches.expired)")
    }
  }

  /// Checks what displays show while no message is in flight, and that expired fruit is known.
  mutating func checkFreshness(_ report: StockReport?, at now: Duration) {
    for (id, batch) in batches.held where batch.quantity > 0 && batch.latest < now - Self.slack {
      fail(.decision, "\(id) has not expired: \(batch)")
    }
    let fresh = Set(batches.held.filter { $0.value.quantity > 0 }.map(\.key.fruit))
    for fruit in model.variant.fruits {
      let shown = display["freshness/\(fruit)"] ?? ""
      if (shown.isEmpty || shown == "none") == fresh.contains(fruit) {
        fail(.display, "freshness/\(fruit) shows \(shown), and the batches are \(batches.held)")
      }
    }
    let expired = [String: Int](report?.expired ?? [:])
    let fruits = Set(batches.expired.keys.map(\.fruit))
    if expired != fruits.reduce(into: [:], { $0[$1] = batches.expiredAmount(of: $1) }) {
      fail(.display, "stock shows \(expired) as expired, and not \(batches.expired)")
    }
  }
}
