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
}

extension StockReport: FormattedMessage {
  // Not the one that all messages have: the kiosk writes it after each batch, and this takes a fifth
  // fewer instructions.
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("seq", seq)
      json.member("at", at.description)
      json.member("fruits", fruits)
    }
  }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    at = try members.required("at", \.at)
    fruits = try members.required("fruits", \.fruits)
  }
}
