package import JuiceDomain
package import KioskProtocol

// Undoing a restock or a decision by a counter-entry in the ledger.
extension KioskState {
  /// Time for which an entry can be undone.
  package static let undoTime = Duration.seconds(600)

  /// Returns the latest entry with this `seq` among `services`, or `nil` if there is none.
  package func service(_ seq: Int) -> LedgerEntry? { services.first { $0.seq == seq } }

  /// Returns the restock that undoes an entry of the history, or `nil` if the entry is older than
  /// `undoTime`, is undone already, is missing in a restored ledger, or cannot be undone. For
  /// example, a machine may have started a juice that a person has decided to make again, fruit
  /// with a date was taken, or the fruit has expired since.
  ///
  /// The restock has the dates of the fruit that it subtracts, so that the kiosk rejects it if the
  /// batch is no longer there.
  ///
  /// The id of the restock identifies the entry: `undo-<epoch>-<seq>`. The ledger records the id,
  /// and the kiosk executes the restock only once.
  ///
  /// - Parameter now: The dashboard's time.
  package func undo(of entry: LedgerEntry, at now: Timestamp) -> (restock: Restock, id: Request.ID)?
  {
    let now = clock(at: now)
    guard let id = Request.ID("undo-\(entry.epoch)-\(entry.seq)"),
      now.since(entry.at) < Self.undoTime, !services.contains(where: { $0.id == id }),
      // A later entry has the same or a lower number if the restored backup lacked `entry`.
      ![services, orders].joined().contains(where: { $0.seq <= entry.seq && entry.isBefore($0) })
    else { return nil }
    let changes: FruitAmounts
    var dates: [Fruit.ID: Int64] = [:]
    switch entry.outcome {
    case .restocked(let amounts):
      // Fruit that is put back would get a new date.
      guard !entry.batches.contains(where: { $0.amount < 0 }), !hasExpired(entry.batches, at: now)
      else { return nil }
      changes = amounts
      for batch in entry.batches { dates[batch.id.fruit] = batch.expires?.milliseconds }
    case .decided(.giveBack, let job, _):
      let returned = orders.first { $0.outcome.end?.job == job }
      guard !hasExpired(returned?.batches ?? [], at: now) else { return nil }
      changes = returned?.changes ?? [:]
    case .decided(.poured, let job, _):
      let order = orders.first { $0.outcome.end?.job == job }?.outcome.order
      let recipe = order.flatMap { reports.menu?.menu.juice($0.juice)?.recipe.amounts } ?? [:]
      guard let quantity = order?.quantity, (1...1_000).contains(quantity),
        !recipe.contains(where: { isDated($0.fruit) })
      else { return nil }
      changes = recipe.times(-quantity)
    default: return nil
    }
    return changes.isEmpty ? nil : (Restock(add: changes.times(-1), bestBefore: dates), id)
  }

  private func hasExpired(_ batches: [BatchChange], at now: Timestamp) -> Bool {
    let expired = services.filter { $0.status == .expired }.flatMap { $0.batches.map(\.id) }
    return batches.contains { batch in
      expired.contains(batch.id) || batch.expires.map { $0 <= now } ?? false
    }
  }

  /// Returns whether the fruit gets a date with each restock, or some of its stock has a date.
  private func isDated(_ fruit: Fruit.ID) -> Bool {
    reports.stock?.expires[fruit] != nil
      || reports.menu?.menu.fruits.first { $0.id == fruit }?.keepsHours != nil
  }
}
