import JuiceDomain
package import KioskProtocol

// One entry of the journal is one line of JSON.

extension ChargeJournal.Entry {
  /// Returns the line without its end.
  ///
  /// - Parameter time: The time of the entry, for people.
  package func line(at time: Timestamp) -> [UInt8] {
    JSONWriter.object { json in
      json.member("at", time.description)
      switch self {
      case .charge(let record): json.members(record)
      case .seen(let id):
        json.member("seen") { json in
          if let receipt = id.receipt { json.member("receipt", receipt) }
          if let trace = id.trace { json.member("trace", trace) }
        }
      case .closing(let number): json.member("closing", number)
      case .total(let total): json.member("day") { $0.members(total) }
      case .summary(let last, let day, let total):
        json.member("last", last)
        json.member("captured", day.captured)
        json.member("refunded", day.refunded)
        json.member("count", day.count)
        if let total { json.member("day") { $0.members(total) } }
      }
    }
  }

  /// Parses a line, or returns `nil` if it is no entry.
  package init?(line: [UInt8]) {
    guard let json = try? JSON.parse(line) else { return nil }
    if let last = json.integer("last") {
      guard last >= 0, let day = ChargeJournal.Day(json) else { return nil }
      let total = json["day"]
      let read = total.flatMap { DayTotal($0) }
      guard total == nil || read != nil else { return nil }
      self = .summary(last: last, day, read)
    } else if let seen = json["seen"] {
      self = .seen(
        ChargeJournal.ResultID(receipt: seen.integer("receipt"), trace: seen.integer("trace")))
    } else if let number = json.integer("closing") {
      self = .closing(number)
    } else if let day = json["day"] {
      guard let total = DayTotal(day) else { return nil }
      self = .total(total)
    } else {
      guard let record = ChargeRecord(json) else { return nil }
      self = .charge(record)
    }
  }
}

extension ChargeJournal.Day {
  fileprivate init?(_ json: JSON) {
    guard let captured = json.integer("captured"), let refunded = json.integer("refunded"),
      let count = json.integer("count")
    else { return nil }
    self.init()
    (self.captured, self.refunded, self.count) = (captured, refunded, count)
  }
}

extension DayTotal {
  fileprivate init?(_ json: JSON) {
    guard let number = json.integer("total"), let at = json.text("at").flatMap({ Timestamp($0) }),
      let currency = json.text("currency").flatMap({ Currency($0) }),
      let day = ChargeJournal.Day(json)
    else { return nil }
    self.init(
      number: number, at: at, currency: currency, day: day,
      terminalNet: json.integer("terminal_net"))
  }
}

extension JSONWriter {
  fileprivate mutating func members(_ record: ChargeRecord) {
    member("charge", record.charge)
    member("state", record.state.rawValue)
    member("ticket", record.ticket)
    member("amount", record.price.units)
    member("currency", record.price.currency.code)
    member("method", record.method.rawValue)
    if let held = record.held { member("held", held) }
    if let asked = record.asked { member("asked", asked) }
    if let booked = record.booked { member("booked", booked) }
    if record.isBookedEarly { member("booked_early", true) }
    if let receipt = record.receipt { member("receipt", receipt) }
    if let trace = record.trace { member("trace", trace) }
    if let terminal = record.terminal { member("terminal", terminal) }
    if let card = record.card { member("card", card) }
    if let last4 = record.last4 { member("last4", last4) }
    if let reason = record.reason { member("reason", reason) }
  }
}

extension ChargeRecord {
  fileprivate init?(_ json: JSON) {
    guard let charge = json.integer("charge"), charge > 0,
      let state = json.text("state").flatMap(State.init(rawValue:)),
      let amount = json.integer("amount"), amount >= 0,
      let currency = json.text("currency").flatMap({ Currency($0) }),
      let method = json.text("method").flatMap(Method.init(rawValue:))
    else { return nil }
    self.init(
      ChargeRequest(
        charge: charge, ticket: json.integer("ticket") ?? 0,
        price: Money(units: amount, currency)), method)
    self.state = state
    (held, asked, booked) = (json.integer("held"), json.integer("asked"), json.integer("booked"))
    isBookedEarly = json["booked_early"] == .bool(true)
    (receipt, trace) = (json.integer("receipt"), json.integer("trace"))
    (terminal, card) = (json.text("terminal"), json.text("card"))
    (last4, reason) = (json.text("last4"), json.text("reason"))
  }
}
