import GRDB
import JuiceDomain
import KioskCore
import KioskProtocol

/// Writes transactions: a new row for each entry, and each other changed row once.
///
/// The writer caches values of the file. After a failed transaction the cached values may be wrong:
/// create a new writer.
final class LedgerWriter {
  /// The last ticket of each day that the table `ticket` does not have yet.
  private var tickets: [Int: Int] = [:]
  /// The number of deliveries received, and the number of the last recorded delivery, or 0 if none is
  /// recorded.
  private var (deliveries, lastKept) = (0, 0)
  /// Whether the ledger may contain fingerprints.
  var keepsDeliveries: Bool { lastKept > 0 }
  /// The last entry with a recorded reply, or 0 if there is none.
  private var lastReply = 0
  private let begin, commit, rollback: Statement
  private let addEntry, changeStock, addReply, removeReplies: Statement
  private let addDelivery, moveDelivery, pruneDeliveries: Statement
  private let setConfirmed, setUplinked, setDeliveries, setState, removeState: Statement

  /// The number of latest entries whose unconfirmed replies remain when the writer moves the checkpoint.
  static let unconfirmed = 10_000

  init(_ database: Database) throws {
    begin = try database.makeStatement(sql: "BEGIN IMMEDIATE")
    commit = try database.makeStatement(sql: "COMMIT")
    rollback = try database.makeStatement(sql: "ROLLBACK")
    addEntry = try database.makeStatement(
      sql: "INSERT INTO entry VALUES (\(repeatElement("?", count: 12).joined(separator: ", ")))")
    changeStock = try database.makeStatement(
      sql: "UPDATE stock SET quantity = quantity + ? WHERE fruit = ?")
    addReply = try database.makeStatement(sql: "INSERT INTO reply VALUES (?, ?, ?)")
    removeReplies = try database.makeStatement(sql: "DELETE FROM reply WHERE seq <= ?")
    addDelivery = try database.makeStatement(
      sql: """
        INSERT INTO delivery (number, acknowledged_with, packet_id, digest, seq)
        VALUES (?, ?, ?, ?, ?)
        """)
    moveDelivery = try database.makeStatement(
      sql: """
        UPDATE delivery SET number = ?, acknowledged_with = ? WHERE number =
          (SELECT MAX(number) FROM delivery WHERE packet_id = ? AND digest = ?)
        """)
    pruneDeliveries = try database.makeStatement(sql: "DELETE FROM delivery WHERE number <= ?")
    setConfirmed = try database.makeStatement(sql: "UPDATE kiosk SET confirmed = ?")
    setUplinked = try database.makeStatement(sql: "UPDATE kiosk SET uplinked = ?")
    setDeliveries = try database.makeStatement(sql: "UPDATE kiosk SET deliveries = ?")
    setState = try database.makeStatement(sql: "INSERT OR REPLACE INTO state VALUES (?, ?, ?)")
    removeState = try database.makeStatement(sql: "DELETE FROM state WHERE kind = ? AND key = ?")
    for row in try Row.fetchAll(database, sql: KioskLedger.ticketsSinceCheckpoint) {
      tickets[row["day"]] = row["number"]
    }
    deliveries = try Int.fetchOne(database, sql: "SELECT deliveries FROM kiosk") ?? 0
    lastKept = try Int.fetchOne(database, sql: "SELECT MAX(number) FROM delivery") ?? 0
    lastReply = try Int.fetchOne(database, sql: "SELECT MAX(seq) FROM reply") ?? 0
  }

  /// Writes a `LedgerTransaction` as one transaction of SQLite.
  ///
  /// - Parameter count: The number of deliveries since the last transaction.
  /// - Returns: The events of the entries.
  func write(
    _ transaction: LedgerTransaction, deliveries count: Int, on database: Database
  ) throws -> [[UInt8]] {
    try begin.run(on: database)
    do {
      let events = try add(transaction.records, on: database)
      try add(transaction.kept, deliveries: count, on: database)
      if let clock = transaction.clock { try set(clock, on: database) }
      if let step = transaction.clockStep { try add(step, on: database) }
      if let service = transaction.service {
        try database.execute(sql: "UPDATE kiosk SET service = ?", arguments: [service.rawValue])
      }
      if let confirmed = transaction.confirmed {
        try setConfirmed.bind(1, confirmed)
        try setConfirmed.run(on: database)
        try deleteReplies(through: confirmed, on: database)
      }
      if let uplinked = transaction.uplinked {
        try setUplinked.bind(1, uplinked)
        try setUplinked.run(on: database)
      }
      for (key, value) in transaction.state {
        let statement = value == nil ? removeState : setState
        try statement.bind(1, key.kind.rawValue)
        try statement.bind(2, key.key)
        if let value { try statement.bind(3, text: value) }
        try statement.run(on: database)
      }
      try commit.run(on: database)
      return events
    } catch {
      // After some errors SQLite has already rolled back, and this statement fails.
      _ = try? rollback.run(on: database)
      throw error
    }
  }

  /// Maximum number of stored steps of the clock. The writer deletes the oldest ones.
  static let maximumClockSteps = 100

  private func add(_ step: ClockStep, on database: Database) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO clock VALUES (?, ?, ?)",
      arguments: [step.entries.lowerBound, step.entries.upperBound, step.milliseconds])
    try database.execute(
      sql: """
        DELETE FROM clock WHERE last <
          (SELECT last FROM clock ORDER BY last DESC LIMIT 1 OFFSET \(Self.maximumClockSteps - 1))
        """)
  }

  // MARK: Entries

  /// Writes records.
  ///
  /// - Returns: The events of the entries.
  private func add(
    _ records: [LedgerTransaction.Record], on database: Database
  ) throws -> [[UInt8]] {
    guard let first = records.first?.row.entry.seq, let last = records.last?.row.entry.seq else {
      return []
    }
    var events: [[UInt8]] = []
    events.reserveCapacity(records.count)
    var changes: FruitAmounts = [:]
    for record in records {
      events.append(try add(record, on: database))
      changes += record.row.entry.changes
    }
    for (fruit, amount) in changes {
      try changeStock.bind(1, amount)
      try changeStock.bind(2, fruit.text)
      guard try changeStock.run(on: database) == 1 else {
        throw LedgerError.unknownFruit(fruit.text)
      }
    }
    if (first - 1) / KioskLedger.checkpointInterval != last / KioskLedger.checkpointInterval {
      try moveCheckpoint(on: database)
      try deleteReplies(through: last - Self.unconfirmed, on: database)
    }
    return events
  }

  private func add(
    _ record: LedgerTransaction.Record, on database: Database
  ) throws -> [UInt8] {
    let (entry, row) = (record.row.entry, record.row)
    if let flaw = entry.flaw { throw LedgerError.notAllowed(flaw) }
    let event = entry.payload
    switch entry.outcome {
    case .ready(_, _, let ticket), .accepted(_, _, let ticket, _, _),
      .awaitingPayment(_, _, let ticket, _, _):
      tickets[ticket.day] = ticket.number
    case .opened(let amounts):
      for (fruit, _) in amounts {
        try database.execute(sql: "INSERT INTO stock VALUES (?, 0)", arguments: [fruit.text])
      }
    default: break
    }
    try addEntry.bind(1, entry.seq)
    try addEntry.bind(2, Int(entry.at.milliseconds))
    try addEntry.bind(3, entry.source?.description)
    try addEntry.bind(4, entry.id?.text)
    try addEntry.bind(5, entry.status.rawValue)
    try addEntry.bind(6, entry.outcome.job)
    try addEntry.bind(7, entry.outcome.charge)
    try addEntry.bind(8, entry.ticket?.day)
    try addEntry.bind(9, text: event)
    try addEntry.bind(10, text: row.stock?.json)
    try addEntry.bind(11, row.detail)
    try addEntry.bind(12, row.message)
    try addEntry.run(on: database)
    if let reply = record.reply {
      try addReply.bind(1, entry.seq)
      try addReply.bind(2, reply.topic)
      try addReply.bind(3, reply.correlationData)
      try addReply.run(on: database)
      lastReply = entry.seq
    }
    return event
  }

  private func deleteReplies(through seq: Int, on database: Database) throws {
    guard lastReply > 0 else { return }
    try removeReplies.bind(1, seq)
    try removeReplies.run(on: database)
    if lastReply <= seq { lastReply = 0 }
  }

  /// Moves the checkpoint to the last entry, so that the next start checks few entries.
  private func moveCheckpoint(on database: Database) throws {
    for (day, number) in tickets {
      try database.execute(
        sql: "INSERT OR REPLACE INTO ticket VALUES (?, ?)", arguments: [day, number])
    }
    tickets = [:]
    try database.execute(sql: KioskLedger.checkpoint)
  }

  // MARK: Deliveries

  /// Records deliveries. Deletes each recorded delivery after which `Fingerprint.kept` others have
  /// arrived: it is acknowledged.
  private func add(
    _ kept: [LedgerTransaction.KeptDelivery], deliveries count: Int, on database: Database
  ) throws {
    deliveries += max(count, kept.count)
    guard !kept.isEmpty || lastKept > 0 else { return }
    // The position of the recorded deliveries among the other deliveries of the batch is unknown.
    // The others count as earlier.
    for (number, delivery) in zip((deliveries - kept.count + 1)..., kept) {
      try add(delivery, as: number, on: database)
      lastKept = number
    }
    // guard: the fingerprints are bounded
    let deleted = deliveries - Fingerprint.kept
    try pruneDeliveries.bind(1, deleted)
    try pruneDeliveries.run(on: database)
    if lastKept <= deleted { lastKept = 0 }
    try setDeliveries.bind(1, deliveries)
    try setDeliveries.run(on: database)
  }

  private func add(
    _ delivery: LedgerTransaction.KeptDelivery, as number: Int, on database: Database
  ) throws {
    let fingerprint = delivery.fingerprint
    let statement = delivery.entry == nil ? moveDelivery : addDelivery
    try statement.bind(1, number)
    try statement.bind(2, delivery.acknowledgedWith)
    try statement.bind(3, Int(fingerprint.packetID))
    try statement.bind(4, Int(truncatingIfNeeded: fingerprint.digest))
    if let entry = delivery.entry { try statement.bind(5, entry) }
    try statement.run(on: database)
  }
}

extension LedgerEntry {
  /// The reason why the entry cannot be right, or `nil`. Only a defect of the kiosk causes such an entry.
  fileprivate var flaw: String? {
    if let ticket, ticket.number < 1 { return "ticket \(ticket.number)" }
    if let order = outcome.order, order.quantity < 1, status != .rejected {
      return "an order of \(order.quantity)"
    }
    if amount != nil, !isPriced { return "an amount with the status \(status.rawValue)" }
    return nil
  }

  /// Whether glasses were sold, money was moved, or fruit with a cost was removed.
  private var isPriced: Bool {
    switch outcome {
    case .ready, .accepted, .made, .failed, .awaitingPayment, .payment, .removed, .sensor: true
    case .opened, .outOfStock, .restocked, .service, .total, .program, .expired, .returned,
      .decided, .rejected:
      false
    }
  }
}

extension FruitAmounts {
  var json: [UInt8] { JSONWriter.object { $0.members(self) } }
}
