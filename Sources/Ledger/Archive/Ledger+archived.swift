import GRDB
import JuiceMaker

extension Ledger {
  /// The files of the archive, the first entries first.
  package var archived: [ArchivedEntries] {
    get throws(LedgerError) { try reading { try Self.archived(in: $0) } }
  }

  static func archived(in database: Database) throws -> [ArchivedEntries] {
    try Row.fetchAll(database, sql: "SELECT first, last, checksum FROM archive ORDER BY last")
      .map { row in
        ArchivedEntries(
          first: row["first"], last: row["last"],
          checksum: UInt32(truncatingIfNeeded: row["checksum"] as Int))
      }
  }

  /// What the archived entries add up to.
  static func carried(in database: Database) throws -> FruitAmounts {
    var stock: FruitAmounts = [:]
    let rows = try Row.fetchAll(
      database, sql: "SELECT stock.fruit, balance FROM carried JOIN stock ON id = carried.fruit")
    for row in rows {
      if let fruit = Fruit.ID(row["fruit"] as String) { stock[fruit] = row["balance"] }
    }
    return stock
  }

  static func carry(_ stock: FruitAmounts, in database: Database) throws {
    for (fruit, amount) in stock {
      try database.execute(
        sql: "INSERT OR REPLACE INTO carried SELECT id, ? FROM stock WHERE fruit = ?",
        arguments: [amount, fruit.text])
    }
  }

  /// For a new ledger whose first entries lie in an archive.
  func begin(after seq: Int, stock: FruitAmounts) throws(LedgerError) {
    try writing { database in
      for (fruit, amount) in stock {
        try database.execute(
          sql: "INSERT INTO stock (fruit, quantity) VALUES (?, ?)", arguments: [fruit.text, amount])
      }
      try Self.carry(stock, in: database)
      try database.execute(
        sql: "INSERT INTO checkpoint SELECT fruit, ?, balance FROM carried", arguments: [seq])
    }
  }

  /// Checks that the files of the archive are as they were written, and that they and the entries of
  /// the ledger are one chain from the first entry on.
  ///
  /// - Throws: `LedgerError` with the first thing that is wrong.
  /// - Returns: the number of entries in the archive.
  package func verifyArchive(in folder: String) throws(LedgerError) -> Int {
    try reading { database in
      var (seq, stock): (Int, FruitAmounts) = (0, [:])
      for entries in try Self.archived(in: database) {
        let file = Self.file(from: entries.first, in: folder)
        func wrong(_ detail: String) -> LedgerError { .badArchive(path: file.path, detail: detail) }
        guard file.exists else {
          throw wrong("it is missing, with the entries \(entries.first) to \(entries.last)")
        }
        let (audit, checksum) = try Self.read(file) { record in
          guard case .ledger(let after, let before) = record else { return }
          guard after == seq, before == stock else {
            throw wrong("it does not go on where the file before it ends")
          }
        }
        guard audit.seq == entries.last, checksum == entries.checksum else {
          throw wrong("it is not the file that was written: its checksum is another one")
        }
        (seq, stock) = (audit.seq, audit.stock)
      }
      let carried = try Self.carried(in: database)
      guard carried == stock else {
        throw LedgerError.badArchive(
          path: folder,
          detail: "its entries add up to \(stock), but the ledger goes on from \(carried)")
      }
      return seq
    }
  }
}

extension ArchivedEntries {
  func insert(into database: Database) throws {
    try database.execute(
      sql: "INSERT INTO archive (first, last, checksum) VALUES (?, ?, ?)",
      arguments: [first, last, Int(checksum)])
  }
}
