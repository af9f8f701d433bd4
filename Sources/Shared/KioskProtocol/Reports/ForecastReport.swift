package import JuiceDomain

/// A forecast of the consumption of each fruit, and of the time when its stock will be used up.
package struct ForecastReport: Hashable, Sendable {
  package var at: Timestamp
  package var fruits: [Fruit.ID: Outlook]

  package init(at: Timestamp, fruits: [Fruit.ID: Outlook]) {
    self.at = at
    self.fruits = fruits
  }

  package struct Outlook: Hashable, Sendable {
    /// The current stock in pieces.
    package let stock: Int
    /// The expected consumption per hour now, or `nil` if there is too little history.
    package let perHour: Double?
    /// The time when the stock will be used up, or `nil` if that is unknown (`perHour` is `nil`) or
    /// not within a week, or if the stock is 0.
    package let emptyAt: Timestamp?
    /// The expected consumption in each six-hour interval of the next week, starting at the
    /// report's `at`; empty if `perHour` is unknown.
    package let use: [Double]
    /// The parts of the stock that expire, the earliest first; at most `maximumBatches`.
    package let expires: [Expiry]

    /// An amount of fruit that expires at one time.
    package struct Expiry: Hashable, Sendable {
      package let at: Timestamp
      /// The number of pieces, at least 1.
      package let amount: Int

      package init(at: Timestamp, amount: Int) { (self.at, self.amount) = (at, amount) }
    }

    package init(
      stock: Int, perHour: Double? = nil, emptyAt: Timestamp? = nil, use: [Double] = [],
      expires: [Expiry] = []
    ) {
      self.stock = stock
      self.perHour = perHour
      self.emptyAt = emptyAt
      self.use = use
      self.expires = expires
    }

    /// Maximum number of times at which a fruit expires. A report contains the earliest ones.
    package static let maximumBatches = 50

    /// The length of an interval of `use` in milliseconds.
    package static let pieceLength: Int64 = 6 * 3_600_000
    /// The number of intervals in a week.
    package static let pieceCount = 28

    /// Returns the expected consumption until a time, with a proportional part of the last
    /// interval.
    ///
    /// After a week the forecast repeats. The result is 0 if `end` is not after `at`.
    ///
    /// - Parameter at: The report's `at`, where the first interval starts.
    /// - Returns: The consumption, or `nil` if it is unknown.
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

extension ForecastReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    fruits = try members.keyed("fruits", \.fruits)
  }
}

extension ForecastReport.Outlook: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    stock = try members.required("stock", \.stock)
    perHour = members.optional("per_hour", \.perHour)
    emptyAt = members.optional("empty_at", \.emptyAt)
    let use = members.other(
      { $0.use.isEmpty ? nil : $0.use }, read: \.use, write: { $0.member("use", $1) })
    self.use = use ?? []
    expires = members.list("expires", \.expires, upTo: Self.maximumBatches, omitsEmpty: true)
  }
}

extension ForecastReport.Outlook.Expiry: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    amount = try members.required(
      "amount", \.amount, where: (1...Int(JSON.maximumAmount)).contains)
  }
}

extension JSON {
  /// The amounts of all intervals; empty if their number is wrong or one is invalid.
  fileprivate var use: [Double] {
    guard let pieces = elements("use"), pieces.count == ForecastReport.Outlook.pieceCount else {
      return []
    }
    let amounts = pieces.compactMap(\.decimal)
    return amounts.count == pieces.count ? amounts : []
  }
}
