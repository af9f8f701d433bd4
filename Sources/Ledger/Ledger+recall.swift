import Foundation
import GRDB
import JuiceMaker
package import KioskMessages

extension Ledger {
  /// The answers that were given before to requests with these keys.
  package func recall(
    _ keys: some Collection<RepeatKey>
  ) throws(LedgerError) -> [RepeatKey: Answer] {
    guard !keys.isEmpty else { return [:] }
    return try reading { database in
      let byRequest = try database.cachedStatement(
        sql: "SELECT topic, correlation, payload FROM answer WHERE source = ? AND request = ?")
      let byDelivery = try database.cachedStatement(
        sql: """
          SELECT answer.topic, answer.correlation, answer.payload
          FROM delivery JOIN answer USING (seq) WHERE packet_id = ? AND digest = ?
          ORDER BY seq DESC
          """)
      var answers: [RepeatKey: Answer] = [:]
      for key in keys {
        let row =
          switch key {
          case .request(let source, let id):
            try Row.fetchOne(byRequest, arguments: [source.description, id.text])
          case .delivery(let fingerprint):
            try Row.fetchOne(
              byDelivery,
              arguments: [
                Int(fingerprint.packetID), Int64(bitPattern: fingerprint.digest),
              ])
          }
        if let row { answers[key] = Answer(row) }
      }
      return answers
    }
  }

  /// The deliveries without an id that came after those of an entry, in the order in which they
  /// came, as far as they are remembered.
  package func deliveries(after seq: Int) throws(LedgerError) -> [Fingerprint] {
    try reading { database in
      // Not simply by `seq`: a delivery that counts as one with an earlier entry came after it.
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT packet_id, digest FROM delivery
          WHERE slot > (SELECT IFNULL(MAX(first), 0) FROM
            (SELECT MIN(slot) AS first FROM delivery WHERE seq <= ? GROUP BY seq))
          ORDER BY slot
          """, arguments: [seq])
      return rows.map { row in
        Fingerprint(
          packetID: UInt16(truncatingIfNeeded: row["packet_id"] as Int),
          digest: UInt64(bitPattern: row["digest"]))
      }
    }
  }

  /// Entries in the order of their numbers, each with its answer while that is remembered.
  ///
  /// - Parameters:
  ///   - seq: the entries after this one.
  ///   - limit: at most so many.
  package func entries(
    after seq: Int, limit: Int = 1000
  ) throws(LedgerError) -> [(entry: LedgerEntry, answer: Answer?)] {
    try reading { database in
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT entry.*, answer.topic, answer.correlation, answer.payload
          FROM entry LEFT JOIN answer USING (seq) WHERE seq > ? ORDER BY seq LIMIT ?
          """, arguments: [seq, limit])
      return try rows.map { (try Self.entry($0, in: database), Answer($0)) }
    }
  }
}

extension Answer {
  fileprivate init?(_ row: Row) {
    guard let payload = row["payload"] as Data? else { return nil }
    let correlation = row["correlation"] as Data?
    self.init(
      topic: row["topic"], correlationData: correlation.map { Array($0) }, payload: Array(payload))
  }
}
