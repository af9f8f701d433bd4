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

/// The alert level of a fruit's stock.
package enum StockAlert: String, Hashable, Sendable {
  case ok, low, out

  /// - Parameters:
  ///   - least: The smallest amount in a recipe: with less, the fruit is out, because no juice that
  ///     needs it can be made. At least 1.
  ///   - previous: The current level. A fruit that is low becomes `ok` again only when it exceeds
  ///     the threshold by a quarter (at least by 1), so that the alert does not flap around the
  ///     threshold.
  ///   - low: The threshold: at or below it a fruit is low. 0 disables `low`.
  package init(quantity: Int, least: Int = 1, low: Int, previous: StockAlert) {
    let clear = previous == .ok || low == 0 ? low : low + max(1, low / 4)
    self = quantity < least ? .out : quantity <= clear ? .low : .ok
  }
}

/// Whether a kiosk is connected.
package enum KioskStatus: String, Hashable, Sendable {
  case online, offline
}
