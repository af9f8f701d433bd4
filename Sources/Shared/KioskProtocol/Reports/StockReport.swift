package import JuiceDomain

/// The whole stock as displays and dashboards hear it.
package struct StockReport: Hashable, Sendable {
  /// The ledger entry up to which it is true.
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

  /// - Throws: `JSONError` if it is not a stock report.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let seq = json.integer("seq"), let at = json.text("at").flatMap(Timestamp.init),
      let fruits = json.amounts("fruits")
    else { throw JSONError(offset: 0, problem: "seq, at or fruits is missing") }
    self.init(seq: seq, at: at, fruits: fruits)
  }
}

/// Whether there is enough of a fruit.
package enum StockAlert: String, Hashable, Sendable {
  case ok, low, out

  /// - Parameters:
  ///   - previous: the alert so far. Once low, a fruit must rise a quarter of the low mark above
  ///     it (at least by one) to be ok again, so that an alert does not flicker around the mark.
  ///   - low: the number at and below which a fruit is low; 0: never low.
  package init(quantity: Int, low: Int, previous: StockAlert) {
    let clear = previous == .ok || low == 0 ? low : low + max(1, low / 4)
    self = quantity == 0 ? .out : quantity <= clear ? .low : .ok
  }
}

/// Whether a kiosk is there.
package enum KioskStatus: String, Hashable, Sendable {
  case online, offline
}
