package import JuiceDomain

/// The published stock of all fruits.
package struct StockReport: Hashable, Sendable {
  /// The number of the latest ledger entry that the stock includes.
  package let seq: Int
  package let at: Timestamp
  package let fruits: FruitAmounts
  /// The times at which the next batch of each fruit expires; no time for a fruit without dates.
  package let expires: [Fruit.ID: Timestamp]
  /// Expired fruit that is still in the kiosk, in addition to `fruits`.
  package let expired: FruitAmounts

  package init(
    seq: Int, at: Timestamp, fruits: FruitAmounts, expires: [Fruit.ID: Timestamp] = [:],
    expired: FruitAmounts = [:]
  ) {
    self.seq = seq
    self.at = at
    self.fruits = fruits
    self.expires = expires
    self.expired = expired
  }
}

extension StockReport: FormattedMessage {
  // Replaces the implementation that all messages share: the kiosk encodes this report for each
  // published change of the stock, and this code executes a fifth fewer instructions.
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("seq", seq)
      json.member("at", at.description)
      json.member("fruits", fruits)
      if !expires.isEmpty { json.member("expires", expires) }
      if !expired.isEmpty { json.member("expired", expired) }
    }
  }

  package init(_ members: inout Members<Self>) throws(JSONError) {
    seq = try members.required("seq", \.seq)
    at = try members.required("at", \.at)
    fruits = try members.required("fruits", \.fruits)
    let times = members.texts("expires") { _ in [:] }
    guard times.count <= JSON.maximumMenuEntries else { throw members.missing("expires") }
    expires = times.reduce(into: [:]) { expires, time in
      if let fruit = Fruit.ID(time.key) { expires[fruit] = Timestamp(time.value) }
    }
    expired = try members.required("expired", \.expired, or: [:])
  }
}
