import JuiceDomain

/// The sales of a kiosk on each of the days before today, in the kiosk's time zone.
///
/// The payload has a column of numbers for each juice, which needs a fifth of the bytes of a `SalesReport`.
package struct DailySales: Hashable, Sendable {
  /// Maximum number of days: 13 months, so that a month can be compared with that of the year before.
  package static let dayCount = 396
  /// Maximum size of the payload in bytes, for any menu.
  package static let maximumSize = 1 << 17

  package var at: Timestamp
  /// The name of the kiosk's time zone in the IANA database: `Asia/Seoul`.
  package let timeZone: String
  /// The first day with sales. Earlier days are unknown.
  package let from: CivilDate
  /// The last day: yesterday.
  package let to: CivilDate
  private let juices: [Juice.ID: Columns]

  fileprivate struct Columns: Hashable, Sendable {
    var made = Column()
    var outOfStock = Column()
    /// The takings in the currency's smallest unit.
    var sold: [Currency: Column] = [:]
  }

  /// A number for each day since `from`. The zeros at the end are omitted.
  fileprivate struct Column: Hashable, Sendable {
    var numbers: [Int] = []

    /// The number at an index; 0 at an index without a number.
    ///
    /// - Precondition: To set a number, the index is at least 0.
    subscript(index: Int) -> Int {
      get { numbers.indices.contains(index) ? numbers[index] : 0 }
      set {
        numbers += repeatElement(0, count: max(0, index + 1 - numbers.count))
        numbers[index] = newValue
      }
    }
  }

  /// Creates the sales of these days, or `nil` if there are none.
  ///
  /// - Parameter tallies: Glasses, orders that were out of stock, and takings of each day that has any,
  ///   by the number of days since 1970-01-01.
  package init?(
    at: Timestamp, timeZone: String, to: CivilDate, _ tallies: [Int64: SalesReport.Tally]
  ) {
    guard let first = tallies.keys.min() else { return nil }
    (self.at, self.timeZone, self.to) = (at, timeZone, to)
    from = CivilDate(daysSinceEpoch: first)
    var juices: [Juice.ID: Columns] = [:]
    for (day, tally) in tallies {
      let index = Int(day - first)
      for (juice, glasses) in tally.made where glasses > 0 {
        juices[juice, default: Columns()].made[index] = glasses
      }
      for (juice, orders) in tally.outOfStock where orders > 0 {
        juices[juice, default: Columns()].outOfStock[index] = orders
      }
      for (currency, units) in tally.takings.units {
        for (juice, units) in units where units > 0 {
          juices[juice, default: Columns()].sold[currency, default: Column()][index] = units
        }
      }
    }
    self.juices = juices
  }

  /// Returns the sales of a day, counted from 1970-01-01; none before `from` and after `to`.
  package func tally(of day: Int64) -> SalesReport.Tally {
    let index = Int(day - from.daysSinceEpoch)
    var tally = SalesReport.Tally()
    for (juice, columns) in juices {
      if columns.made[index] > 0 { tally.made[juice] = columns.made[index] }
      if columns.outOfStock[index] > 0 {
        tally.outOfStock[juice] = columns.outOfStock[index]
      }
      for (currency, units) in columns.sold where units[index] > 0 {
        tally.takings.add(Money(units: units[index], currency), for: juice)
      }
    }
    return tally
  }
}

// MARK: Payload

extension DailySales: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    timeZone = try members.required("time_zone", \.timeZone).visible(upTo: 64)
    let first = try members.required("from", \.from)
    from = first
    to = try members.required("to", \.to) {
      (0..<Int64(Self.dayCount)).contains($0.daysSinceEpoch - first.daysSinceEpoch)
    }
    juices = try members.keyed("juices", \.juices)
  }
}

extension DailySales.Columns: FormattedMessage {
  init(_ members: inout Members<Self>) throws(JSONError) {
    func isValid(_ column: DailySales.Column) -> Bool {
      column.numbers.allSatisfy(Int.counts.contains)
    }
    made = try members.required("made", \.made, or: DailySales.Column(), where: isValid)
    outOfStock = try members.required(
      "out_of_stock", \.outOfStock, or: DailySales.Column(), where: isValid)
    guard let sold = members.other({ $0.sold }, read: Self.sold, write: Self.write) else {
      throw members.missing("sold")
    }
    self.sold = sold
  }

  private static func sold(_ json: JSON) -> [Currency: DailySales.Column]? {
    guard let sold = json["sold"] else { return [:] }
    guard case .object(let members) = sold else { return nil }
    var columns: [Currency: DailySales.Column] = [:]
    for member in members {
      guard let currency = Currency(member.key),
        let column = DailySales.Column(member: member.value)
      else {
        return nil
      }
      columns[currency] = column
    }
    return columns
  }

  private static func write(_ json: inout JSONWriter, _ sold: [Currency: DailySales.Column]) {
    guard !sold.isEmpty else { return }
    json.member("sold") { json in
      for (currency, column) in sold.sorted(by: { $0.key < $1.key }) {
        json.member(named: currency.code, column.numbers)
      }
    }
  }
}

/// One number, at least 0, for each of at most `DailySales.dayCount` days.
extension DailySales.Column: MemberValue {
  init?(member: JSON) {
    guard case .array(let elements) = member, elements.count <= DailySales.dayCount else {
      return nil
    }
    for element in elements {
      guard case .integer(let number) = element, number >= 0 else { return nil }
      numbers.append(number)
    }
  }

  func write(_ key: StaticString, to json: inout JSONWriter) {
    if !numbers.isEmpty { json.member(key, numbers) }
  }
}
