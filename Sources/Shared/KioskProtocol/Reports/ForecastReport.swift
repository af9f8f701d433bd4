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
    /// Expected to be used in each six hours of the next week, from the report's `at` on; empty if
    /// `perHour` is unknown.
    package let use: [Double]

    package init(
      stock: Int, perHour: Double? = nil, emptyAt: Timestamp? = nil, use: [Double] = []
    ) {
      self.stock = stock
      self.perHour = perHour
      self.emptyAt = emptyAt
      self.use = use
    }

    /// Of `use`, in milliseconds.
    package static let pieceLength: Int64 = 6 * 3_600_000
    /// Pieces in a week.
    package static let pieceCount = 28

    /// What is expected to be used until some time; a piece that is cut counts in part.
    ///
    /// After a week the same is expected once more. 0 if `end` is not after `at`.
    ///
    /// - Parameter at: the report's, from which on the pieces count.
    /// - Returns: `nil` if it is unknown.
    package func use(until end: Timestamp, from at: Timestamp) -> Double? {
      guard use.count == Self.pieceCount else { return nil }
      let pieces =
        max(0, Double(end.milliseconds) - Double(at.milliseconds)) / Double(Self.pieceLength)
      let weeks = (pieces / Double(Self.pieceCount)).rounded(.down)
      let rest = pieces - weeks * Double(Self.pieceCount)
      return use.enumerated().reduce(weeks * use.reduce(0, +)) { sum, piece in
        sum + piece.element * min(max(rest - Double(piece.offset), 0), 1)
      }
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
            if !outlook.use.isEmpty { json.member("use", outlook.use) }
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
        stock: stock, perHour: member.value["per_hour"]?.decimal,
        emptyAt: member.value.text("empty_at").flatMap(Timestamp.init), use: member.value.use)
    }
    self.init(at: at, fruits: fruits)
  }
}

extension JSON {
  /// Empty unless each piece of the week is an amount.
  fileprivate var use: [Double] {
    guard let pieces = elements("use"), pieces.count == ForecastReport.Outlook.pieceCount else {
      return []
    }
    let amounts = pieces.compactMap(\.decimal)
    return amounts.count == pieces.count ? amounts : []
  }
}
