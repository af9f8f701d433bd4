import JuiceDomain

extension SalesReport {
  package var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("at", at.description)
      json.member("time_zone", timeZone)
      json.member("today", today.description)
      if let usual { json.member("usual", usual) }
      json.member("hours", hours) { json, hour in
        json.member("hour", hour.hour)
        json.members(hour.tally)
      }
      json.member("days", days) { json, day in
        json.member("day", day.day.description)
        json.members(day.tally)
      }
    }
  }

  /// - Throws: `JSONError` if the payload is not a sales report; unknown members are ignored.
  package init(payload: [UInt8]) throws(JSONError) {
    let json = try JSON.parse(payload)
    guard let at = json.text("at").flatMap(Timestamp.init), let timeZone = json.text("time_zone"),
      let today = json.text("today").flatMap({ CivilDate($0) }),
      let hours = json.elements("hours")?.map(Hour.init),
      let days = json.elements("days")?.map(Day.init)
    else { throw JSONError(offset: 0, problem: "at, time_zone, today, hours or days is missing") }
    guard !hours.contains(nil), !days.contains(nil) else {
      throw JSONError(offset: 0, problem: "an hour or a day cannot be read")
    }
    self.init(
      at: at, timeZone: timeZone, today: today, hours: hours.compactMap(\.self),
      days: days.compactMap(\.self), usual: json["usual"]?.decimal)
  }
}

extension SalesReport.Hour {
  fileprivate init?(_ json: JSON) {
    guard let hour = json.integer("hour"), (0..<24).contains(hour),
      let tally = SalesReport.Tally(json)
    else { return nil }
    self.init(hour: hour, tally: tally)
  }
}

extension SalesReport.Day {
  fileprivate init?(_ json: JSON) {
    guard let day = json.text("day").flatMap({ CivilDate($0) }),
      let tally = SalesReport.Tally(json)
    else { return nil }
    self.init(day: day, tally: tally)
  }
}

extension SalesReport.Tally {
  /// Reads a tally. An absent count is 0; an invalid one makes the whole tally invalid.
  fileprivate init?(_ json: JSON) {
    guard let made = json.juices("made"), let outOfStock = json.juices("out_of_stock"),
      let rejected = json.juices("rejected"), let unnamed = json.count("unnamed"),
      let takings = json.takings("takings")
    else { return nil }
    self.init()
    (self.made, self.outOfStock, self.rejected) = (made, outOfStock, rejected)
    (self.unnamed, self.takings) = (unnamed, takings)
  }
}

extension JSONWriter {
  fileprivate mutating func members(_ tally: SalesReport.Tally) {
    member("made", tally.made)
    member("out_of_stock", tally.outOfStock)
    member("rejected", tally.rejected)
    member("unnamed", tally.unnamed)
    member("takings", tally.takings)
  }

  private mutating func member(_ key: StaticString, _ counts: [Juice.ID: Int]) {
    member(key) { json in
      for (juice, count) in counts.sorted(by: { $0.key < $1.key }) {
        json.member(named: juice.text, count)
      }
    }
  }
}

extension JSON {
  fileprivate func count(_ key: String) -> Int? {
    guard let value = self[key] else { return 0 }
    return value.count
  }

  fileprivate func juices(_ key: String) -> [Juice.ID: Int]? {
    guard let value = self[key] else { return [:] }
    guard case .object(let members) = value else { return nil }
    var counts: [Juice.ID: Int] = [:]
    for member in members {
      guard let juice = Juice.ID(member.key), let count = member.value.count else { return nil }
      counts[juice] = count
    }
    return counts
  }

  /// The value if it is from 0 to 10^9, otherwise `nil`. Real counts are lower, and sums of such
  /// counts do not overflow.
  private var count: Int? {
    guard case .integer(let count) = self, (0...1_000_000_000).contains(count) else { return nil }
    return count
  }
}
