import GRDB
import JuiceMaker
import KioskCore
import KioskMessages

/// Writes transactions: a row for each entry, and what the batch has changed once for all of them.
///
/// It remembers what it has written. If a transaction fails that may be wrong: begin with another
/// one.
final class LedgerWriter {
  private var texts: Interned
  private var shapes: Interned
  /// The last ticket of each day, of those that the table does not have yet.
  private var tickets: [Int: Int] = [:]
  private let begin, commit, rollback: Statement
  private let addEntry, addFruit, changeStock, addDelivery, moveDelivery, pruneDeliveries: Statement
  private let setService, setConfirmed, setMark, setTicket, setCheckpoint: Statement

  init(_ database: Database) throws {
    texts = try Interned(.text, in: database)
    shapes = try Interned(.shape, in: database)
    func statement(_ sql: String) throws -> Statement { try Statement(sql, on: database) }
    begin = try statement("BEGIN IMMEDIATE")
    commit = try statement("COMMIT")
    rollback = try statement("ROLLBACK")
    addEntry = try statement(
      "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    addFruit = try statement("INSERT INTO stock (fruit, quantity) VALUES (?, 0)")
    changeStock = try statement("UPDATE stock SET quantity = quantity + ? WHERE fruit = ?")
    addDelivery = try statement("INSERT INTO delivery VALUES (NULL, ?, ?, ?, ?)")
    moveDelivery = try statement(
      """
      UPDATE delivery SET slot = (SELECT MAX(slot) FROM delivery) + 1 WHERE slot =
        (SELECT MAX(slot) FROM delivery WHERE packet_id = ? AND digest = ?)
      """)
    pruneDeliveries = try statement("DELETE FROM delivery WHERE slot <= ?")
    setService = try statement("UPDATE kiosk SET service = ?")
    setConfirmed = try statement("UPDATE kiosk SET confirmed = ?")
    setMark = try statement("INSERT OR REPLACE INTO mark VALUES (?, ?)")
    setTicket = try statement("INSERT OR REPLACE INTO ticket VALUES (?, ?)")
    setCheckpoint = try statement(Ledger.checkpoint)
    for row in try Row.fetchAll(database, sql: Ledger.ticketsSinceCheckpoint) {
      tickets[row["day"]] = row["number"]
    }
  }

  func write(_ transaction: LedgerTransaction) throws {
    try begin.run()
    do {
      try add(transaction.records, transaction.echoes)
      if let service = transaction.service {
        setService.bind(1, service.rawValue)
        try setService.run()
      }
      if let confirmed = transaction.confirmed {
        setConfirmed.bind(1, confirmed)
        try setConfirmed.run()
      }
      for (key, value) in transaction.marks {
        setMark.bind(1, key)
        setMark.bind(2, value)
        try setMark.run()
      }
      try commit.run()
    } catch {
      // Some errors have rolled back already.
      _ = try? rollback.run()
      throw error
    }
  }

  private func add(
    _ records: [LedgerTransaction.Record], _ echoes: [LedgerTransaction.Echo]
  ) throws {
    var echoes = echoes[...]
    var changes: FruitAmounts = [:]
    var lastSlot: Int?
    // In the order in which they came: that of the deliveries matters.
    for (count, record) in records.enumerated() {
      while let echo = echoes.first, echo.recordsBefore <= count {
        lastSlot = try add(echo) ?? lastSlot
        echoes.removeFirst()
      }
      try add(record)
      if case .delivery(let fingerprint) = record.key {
        lastSlot = try add(fingerprint, of: record.entry.seq)
      }
      for (fruit, amount) in record.entry.changes {
        changes[fruit] = (changes[fruit] ?? 0) + amount
      }
    }
    for echo in echoes { lastSlot = try add(echo) ?? lastSlot }
    if let lastSlot {
      // guard: the fingerprints are bounded
      pruneDeliveries.bind(1, lastSlot - Fingerprint.kept)
      try pruneDeliveries.run()
    }
    for (fruit, amount) in changes {
      changeStock.bind(1, amount)
      changeStock.bind(2, fruit.text)
      guard try changeStock.run() == 1 else { throw LedgerError.unknownFruit(fruit.text) }
    }
    if let first = records.first?.entry.seq, let last = records.last?.entry.seq {
      try moveCheckpoint(from: first, to: last)
    }
  }

  private func add(_ record: LedgerTransaction.Record) throws {
    let entry = record.entry
    let ticket = entry.ticket
    var reason: RejectionReason?
    var missing: FruitAmounts?
    switch entry.outcome {
    case .outOfStock(_, let short): missing = short
    case .rejected(let why, _): reason = why
    case .opened(let amounts):
      for (fruit, _) in amounts {
        addFruit.bind(1, fruit.text)
        try addFruit.run()
      }
    case .ready, .restocked, .service: break
    }
    if let ticket { tickets[ticket.day] = ticket.number }
    let changes = entry.changes
    let shape = record.answer.map { AnswerShape(of: $0.payload, without: .init(entry)) }
    addEntry.bind(1, entry.seq)
    addEntry.bind(2, Int(entry.at.milliseconds))
    addEntry.bind(3, try number(of: entry.source?.description))
    addEntry.bind(4, entry.id?.text)
    addEntry.bind(5, entry.status.rawValue)
    addEntry.bind(6, try number(of: entry.order?.juice.text))
    addEntry.bind(7, entry.order?.quantity)
    addEntry.bind(8, ticket?.day)
    addEntry.bind(9, ticket?.number)
    addEntry.bind(10, reason?.rawValue)
    addEntry.bind(11, try changes.isEmpty ? nil : number(of: changes))
    addEntry.bind(12, try missing.map { try number(of: $0) })
    addEntry.bind(13, try number(of: record.answer?.topic))
    addEntry.bind(14, record.answer?.correlationData)
    addEntry.bind(15, try shape.map { try shapes.number(of: $0.bytes) })
    addEntry.bind(16, shape?.numbers)
    try addEntry.run()
  }

  private func number(of text: String?) throws -> Int? {
    try text.map { try texts.number(of: Array($0.utf8)) }
  }

  private func number(of amounts: FruitAmounts) throws -> Int {
    try texts.number(of: JSONWriter.object { $0.members(amounts) })
  }

  /// - Returns: its slot, if it is a new one.
  private func add(_ echo: LedgerTransaction.Echo) throws -> Int? {
    if let seq = echo.seq { return try add(echo.fingerprint, of: seq, isEcho: true) }
    moveDelivery.bind(1, Int(echo.fingerprint.packetID))
    moveDelivery.bind(2, Int(truncatingIfNeeded: echo.fingerprint.digest))
    try moveDelivery.run()
    return nil
  }

  /// - Returns: its slot.
  private func add(_ fingerprint: Fingerprint, of seq: Int, isEcho: Bool = false) throws -> Int {
    addDelivery.bind(1, Int(fingerprint.packetID))
    addDelivery.bind(2, Int(truncatingIfNeeded: fingerprint.digest))
    addDelivery.bind(3, seq)
    addDelivery.bind(4, isEcho ? 1 : 0)
    try addDelivery.run()
    return addDelivery.insertedRowID
  }

  /// Now and then, so that the next start has little to add up.
  private func moveCheckpoint(from first: Int, to last: Int) throws {
    let interval = Ledger.checkpointInterval
    guard (first - 1) / interval != last / interval else { return }
    for (day, number) in tickets {
      setTicket.bind(1, day)
      setTicket.bind(2, number)
      try setTicket.run()
    }
    tickets = [:]
    try setCheckpoint.run()
  }
}
