import JuiceDomain
import KioskProtocol

extension Kiosk {
  /// Returns a transaction that adds the fruits and programs of the settings that the ledger does
  /// not have yet, updates the makers, and, for removed sensors that block nothing, ends the time
  /// outside the limits. A new ledger begins with the configured initial stock; a fruit that joins
  /// a ledger with other fruits begins at 0, because no person has put it in.
  ///
  /// - Returns: The transaction, or `nil` if the ledger needs none of this.
  package static func opening(
    settings: KioskSettings, state: LedgerState, at now: Moment
  ) -> LedgerTransaction? {
    let new = settings.menu.fruits.filter { state.stock[$0.id] == nil }
    var transaction = LedgerTransaction()
    let makers = settings.makers(recorded: state.makers)
    for (name, maker) in makers where state.makers[name] != maker {
      transaction.set(maker, of: name)
    }
    for name in state.makers.keys where makers[name] == nil {
      transaction.set(Maker?.none, of: name)
    }
    for machine in settings.machines {
      for program in machine.programs.keys {
        let id = ProgramID(machine: machine.name, program: program)
        guard state.programs[id] == nil else { continue }
        transaction.set(ProgramRecord(seq: state.seq, at: now.timestamp), of: id)
      }
    }
    for (name, var record) in state.sensors
    where (record.outside != nil || record.unread != nil) && record.state != .blocked
      && !settings.sensors.contains(where: { $0.name == name })
    {
      // The values of a sensor are unknown while it is not configured.
      (record.outside, record.unread) = (nil, nil)
      transaction.set(record, of: name)
    }
    guard !new.isEmpty else { return transaction.isEmpty ? nil : transaction }
    // guard: a fruit that joins a ledger in use begins at 0
    let initial: FruitAmounts = state.stock.isEmpty ? settings.stock.initial : [:]
    let amounts = FruitAmounts(new.map { (fruit: $0.id, amount: initial[$0.id] ?? 0) })
    var entry = LedgerEntry(
      seq: state.seq + 1, epoch: state.epoch, at: now.timestamp, source: nil, id: nil,
      outcome: .opened(amounts))
    entry.batches = Batches.brought(
      by: amounts, bestBefore: [:], keeps: Batches.keeps(of: settings.menu), seq: entry.seq,
      at: now.timestamp)
    for change in entry.batches {
      let batch = Batch(
        quantity: change.amount, expires: change.expires ?? now.timestamp, at: now.timestamp)
      transaction.set(batch, of: change.id)
    }
    transaction.records = [.init(LedgerRow(entry))]
    return transaction
  }
}
