import JuiceDomain

extension SalesReport: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    at = try members.required("at", \.at)
    timeZone = try members.required("time_zone", \.timeZone).visible(upTo: 64)
    today = try members.required("today", \.today)
    usual = members.optional("usual", \.usual)
    hours = try members.all("hours", \.hours)
    days = try members.all("days", \.days)
  }
}

extension SalesReport.Hour: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    hour = try members.required("hour", \.hour, where: (0..<24).contains)
    tally = try members.members(\.tally)
  }
}

extension SalesReport.Day: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    day = try members.required("day", \.day)
    tally = try members.members(\.tally)
  }
}

extension SalesReport.Tally: FormattedMessage {
  /// Reads an absent member as empty or 0. An invalid member makes the whole report invalid.
  package init(_ members: inout Members<Self>) throws(JSONError) {
    made = try members.required("made", \.made, or: [:])
    outOfStock = try members.required("out_of_stock", \.outOfStock, or: [:])
    rejected = try members.required("rejected", \.rejected, or: [:])
    unnamed = try members.required("unnamed", \.unnamed, or: 0, where: Int.counts.contains)
    takings = try members.required("sold", \.takings, or: Takings())
    waste = try members.required("waste", \.waste, or: Waste())
  }
}

extension Int {
  /// The valid counts: real counts are lower, and sums of valid counts do not overflow.
  static let counts = 0...1_000_000_000
}

extension [Juice.ID: Int]: MemberValue {
  package init?(member: JSON) {
    guard case .object(let members) = member else { return nil }
    self.init()
    for member in members {
      guard let juice = Juice.ID(member.key), case .integer(let count) = member.value,
        Int.counts.contains(count)
      else { return nil }
      self[juice] = count
    }
  }

  package func write(_ key: StaticString, to json: inout JSONWriter) {
    json.member(key) { json in
      for (juice, count) in sorted(by: { $0.key < $1.key }) {
        json.member(named: juice.text, count)
      }
    }
  }
}
