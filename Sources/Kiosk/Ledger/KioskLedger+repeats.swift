import GRDB
import JuiceDomain
package import KioskCore
import KioskProtocol

extension KioskLedger {
  /// Returns the rows of earlier requests with these keys. For an order that was accepted or awaited payment, returns
  /// the last row of its end or of the hold with which a machine got the order, if any; for a charge, its refund or
  /// else its last row.
  package func repeats(of keys: [RepeatKey]) throws(LedgerError) -> [RepeatKey: LedgerRow] {
    var rows: [RepeatKey: LedgerRow] = [:]
    for key in keys {
      let row =
        switch key {
        case .request(let source, let id): try row(of: id, from: source)
        case .delivery(let fingerprint): try row(of: fingerprint)
        case .charge(let number): try row(ofCharge: number)
        }
      if let row {
        if case .charge = key { rows[key] = row } else { rows[key] = try end(of: row) ?? row }
      }
    }
    return rows
  }

  private func row(of id: Request.ID, from source: Source) throws(LedgerError) -> LedgerRow? {
    for seq in try knownRequests().entries(Self.hash(source, id)) {
      if let row = try row(of: id, from: source, in: seq) { return row }
    }
    return nil
  }

  /// Returns the row of an entry, or `nil` if the entry belongs to another request or is older than
  /// the last `RequestIndex.kept` entries.
  private func row(
    of id: Request.ID, from source: Source, in seq: Int
  ) throws(LedgerError) -> LedgerRow? {
    try reading { database in
      // guard: answers are deleted after their time
      let isKnown = "seq > (SELECT MAX(seq) FROM entry) - \(RequestIndex.kept)"
      let rows = try database.rows("SELECT * FROM entry WHERE seq = ? AND \(isKnown)", [seq])
      guard let row = rows.first else { return nil }
      let known = try LedgerRow(row)
      return known.entry.source == source && known.entry.id == id ? known : nil
    }
  }

  private func row(of fingerprint: Fingerprint) throws(LedgerError) -> LedgerRow? {
    try reading { database in
      let rows = try database.rows(
        """
        SELECT entry.* FROM delivery JOIN entry USING (seq)
        WHERE packet_id = ? AND digest = ? ORDER BY seq DESC LIMIT 1
        """, [Int(fingerprint.packetID), Int64(bitPattern: fingerprint.digest)])
      return try rows.first.map { try LedgerRow($0) }
    }
  }

  /// Returns the refund of a charge, which a decision of a person may follow, or else the last row about the charge,
  /// or `nil` if there is none.
  private func row(ofCharge number: Int) throws(LedgerError) -> LedgerRow? {
    try reading { database in
      try database.rows(
        """
        SELECT * FROM entry WHERE charge = ? ORDER BY status = 'refunded' DESC, seq DESC LIMIT 1
        """, [number]
      ).first.map { try LedgerRow($0) }
    }
  }

  /// Returns the last row of the end of an order or of the hold with which a machine got the order; or `nil` if there
  /// is no such row, or the order in `row` was neither accepted nor awaited payment.
  private func end(of row: LedgerRow) throws(LedgerError) -> LedgerRow? {
    switch row.entry.outcome {
    case .accepted, .awaitingPayment: break
    default: return nil
    }
    return try reading { database in
      try database.rows(
        """
        SELECT * FROM entry WHERE job = ?
          AND (status IN ('made', 'failed', 'returned') OR status = 'held' AND event ->> 'machine' IS NOT NULL)
        ORDER BY seq DESC LIMIT 1
        """, [row.entry.seq]
      ).first.map { try LedgerRow($0) }
    }
  }

  // MARK: Known requests

  private func knownRequests() throws(LedgerError) -> RequestIndex {
    if requests == nil { requests = try readRequests() }
    return requests ?? RequestIndex()
  }

  /// Reads the requests of the last `RequestIndex.kept` entries.
  private func readRequests() throws(LedgerError) -> RequestIndex {
    try reading { database in
      // A sender may reuse the id of a request that was rejected as retained.
      let statement = try database.makeStatement(
        sql: """
          SELECT seq, source, id FROM entry
          WHERE seq > (SELECT MAX(seq) FROM entry) - \(RequestIndex.kept)
            AND source IS NOT NULL AND id IS NOT NULL
            AND (status <> 'rejected' OR event ->> 'reason' <> '\(RejectionReason.retained.rawValue)')
            AND status NOT IN ('made', 'failed', 'returned', 'held')
          ORDER BY seq
          """)
      var index = RequestIndex()
      while try statement.next(on: database) {
        index.insert(
          statement.integer(0), RequestIndex.hash(statement.text(1), statement.text(2)))
      }
      return index
    }
  }

  private static func hash(_ source: Source, _ id: Request.ID) -> UInt32 {
    var (source, id) = (source.description, id.text)
    return source.withUTF8 { source in
      id.withUTF8 { RequestIndex.hash(UnsafeRawBufferPointer(source), UnsafeRawBufferPointer($0)) }
    }
  }

  /// Adds the requests of records to the index, before the ledger writes the records.
  ///
  /// - Throws: `LedgerError.notAllowed` if one of the requests has been answered already.
  func index(_ records: [LedgerTransaction.Record]) throws(LedgerError) {
    _ = try knownRequests()
    for record in records {
      guard case .request(let source, let id) = record.key else { continue }
      let hash = Self.hash(source, id)
      for seq in requests?.entries(hash) ?? [] {
        let isKnown =
          if let other = records.first(where: { $0.row.entry.seq == seq }) {
            other.key == record.key
          } else {
            try row(of: id, from: source, in: seq) != nil
          }
        if isKnown {
          throw .notAllowed("\(source) \(id) has been answered already")
        }
      }
      requests?.insert(record.row.entry.seq, hash)
    }
  }

  /// Returns the fingerprints of the recorded deliveries that are acknowledged with entries after
  /// `seq`, in the order in which the broker would redeliver them.
  package func deliveries(after seq: Int) throws(LedgerError) -> [Fingerprint] {
    try reading { database in
      let rows = try database.rows(
        """
        SELECT packet_id, digest FROM delivery WHERE acknowledged_with > ?
        ORDER BY number
        """, [seq])
      return rows.map { Fingerprint($0) }
    }
  }

  /// Returns rows in the order of their numbers, each with its event and with the reply that its sender has requested,
  /// if the ledger still stores the reply.
  ///
  /// - Parameters:
  ///   - seq: The entry before the first row.
  ///   - limit: The maximum number of rows.
  package func rows(
    after seq: Int, limit: Int = 1000
  ) throws(LedgerError) -> [(row: LedgerRow, event: [UInt8], reply: Reply?)] {
    try reading { database in
      let sql = """
        SELECT entry.*, reply.seq AS asked, topic, correlation FROM entry LEFT JOIN reply USING (seq)
        WHERE entry.seq > ? ORDER BY entry.seq LIMIT ?
        """
      // A row of a cursor finds a column in a hash table. A row of `fetchAll` compares the names of
      // the columns.
      let rows = try Row.fetchCursor(
        database.cachedStatement(sql: sql), arguments: [seq, limit])
      return try Array(rows.map { (try LedgerRow($0), $0.bytes("event"), Reply($0)) })
    }
  }
}
