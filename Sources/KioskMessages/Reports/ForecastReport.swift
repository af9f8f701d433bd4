package import JuiceDomain

/// How fast each fruit goes, and when it will be gone.
package struct ForecastReport: Hashable, Sendable {
  package var at: Timestamp
  package var fruits: [Fruit.ID: Outlook]

  package init(at: Timestamp, fruits: [Fruit.ID: Outlook]) {
    self.at = at
    self.fruits = fruits
  }

  package struct Outlook: Hashable, Sendable {
    /// Now.
    package let stock: Int
    /// Expected to be used in the coming hour; `nil`: there is too little history to know.
    package let perHour: Double?
    /// `nil`: unknown if `perHour` is, or else not within a week.
    package let emptyAt: Timestamp?

    package init(stock: Int, perHour: Double? = nil, emptyAt: Timestamp? = nil) {
      self.stock = stock
      self.perHour = perHour
      self.emptyAt = emptyAt
    }
  }
}

extension ForecastReport {
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("at", at.description)
      json.member("fruits") { json in
        for (fruit, outlook) in fruits.sorted(by: { $0.key < $1.key }) {
          json.member(named: fruit.text) { json in
            json.member("stock", outlook.stock)
            if let perHour = outlook.perHour { json.member("per_hour", perHour) }
            if let emptyAt = outlook.emptyAt { json.member("empty_at", emptyAt.description) }
          }
        }
      }
    }
  }

  /// - Throws: `JSONError` if it is not a forecast; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let at = json.text("at").flatMap(Timestamp.init),
      case .object(let members) = json["fruits"]
    else { throw JSONError(offset: 0, problem: "at or fruits is missing") }
    var fruits: [Fruit.ID: Outlook] = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key), let stock = member.value.integer("stock") else {
        throw JSONError(offset: 0, problem: "a fruit cannot be read")
      }
      fruits[fruit] = Outlook(
        stock: stock, perHour: member.value.amount("per_hour"),
        emptyAt: member.value.text("empty_at").flatMap(Timestamp.init))
    }
    self.init(at: at, fruits: fruits)
  }
}
