package import JuiceDomain

/// The published stock of all fruits.
package struct StockReport: Hashable, Sendable {
  /// The number of the latest ledger entry that the stock includes.
  package let seq: Int
  package let at: Timestamp
  package let fruits: FruitAmounts

  package init(seq: Int, at: Timestamp, fruits: FruitAmounts) {
    self.seq = seq
    self.at = at
    self.fruits = fruits
  }

  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("seq", seq)
      json.member("at", at.description)
      json.member("fruits", fruits)
    }
  }

  /// - Throws: `JSONError` if the payload is not a stock report.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let seq = json.integer("seq"), let at = json.text("at").flatMap(Timestamp.init),
      let fruits = json.amounts("fruits")
    else { throw JSONError(offset: 0, problem: "seq, at or fruits is missing") }
    self.init(seq: seq, at: at, fruits: fruits)
  }
}
