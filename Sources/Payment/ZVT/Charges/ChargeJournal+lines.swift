import JuiceDomain
package import KioskProtocol

// One entry of the journal is one line of JSON.

extension ChargeJournal.Entry {
  /// Returns the entry as a line of JSON, without the newline.
  ///
  /// - Parameter time: The time at which the entry is written.
  package func line(at time: Timestamp) -> [UInt8] {
    JSONWriter.object { json in
      json.member("at", time.description)
      switch self {
      case .charge(let record): json.members(record)
      case .seen(let id):
        json.member("seen") { json in
          if let receipt = id.receipt { json.member("receipt", receipt) }
          if let trace = id.trace { json.member("trace", trace) }
          if let moment = id.moment { json.member("moment", moment) }
          json.member("closings", id.closings)
        }
      case .closed: json.member("closed", true)
      case .closing(let number): json.member("closing", number)
      case .total(let total): json.member("day") { $0.members(total) }
      case .summary(let last, let day, let total):
        json.member("last", last)
        json.member("captured", day.captured)
        json.member("refunded", day.refunded)
        json.member("count", day.count)
        json.member("closings", day.closings)
        json.member("split", day.isSplit)
        if let total { json.member("day") { $0.members(total) } }
      }
    }
  }

  /// Parses a line. Returns `nil` if the line is not an entry.
  package init?(line: [UInt8]) {
    guard let json = try? JSON.parse(line) else { return nil }
    if let last = json.integer("last") {
      guard last >= 0, let day = ChargeJournal.Day(json) else { return nil }
      let total = json["day"]
      let read = total.flatMap { try? PaymentTotal($0) }
      guard total == nil || read != nil else { return nil }
      self = .summary(last: last, day, read)
    } else if let seen = json["seen"] {
      self = .seen(
        ChargeJournal.ResultID(
          receipt: seen.integer("receipt"), trace: seen.integer("trace"),
          moment: seen.text("moment"), closings: seen.integer("closings") ?? 0))
    } else if json["closed"] != nil {
      self = .closed
    } else if let number = json.integer("closing") {
      self = .closing(number)
    } else if let day = json["day"] {
      guard let total = try? PaymentTotal(day) else { return nil }
      self = .total(total)
    } else {
      guard let record = try? ChargeRecord(json) else { return nil }
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
    closings = json.integer("closings") ?? 0
    isSplit = json["split"] == .bool(true)
  }
}

extension ChargeRecord: FormattedMessage {
  package init(_ members: inout Members<Self>) throws(JSONError) {
    charge = try members.required("charge", \.charge, where: { $0 > 0 })
    state = try members.required("state", \.state)
    ticket = try members.required("ticket", \.ticket, or: 0)
    let units = try members.required("amount", \.price.units, where: { $0 >= 0 })
    price = Money(units: units, try members.required("currency", \.price.currency))
    method = try members.required("method", \.method)
    held = members.optional("held", \.held)
    asked = members.optional("asked", \.asked)
    booked = members.optional("booked", \.booked)
    isBookedEarly = members.flag("booked_early", \.isBookedEarly)
    receipt = members.optional("receipt", \.receipt)
    trace = members.optional("trace", \.trace)
    moment = members.optional("moment", \.moment)
    closings = try members.required("closings", \.closings, or: 0)
    let reversal = ChargeJournal.ResultID(
      receipt: members.optional("reversal_receipt", \.reversal?.receipt),
      trace: members.optional("reversal_trace", \.reversal?.trace),
      moment: members.optional("reversal_moment", \.reversal?.moment), closings: closings)
    self.reversal = reversal.receipt == nil && reversal.trace == nil ? nil : reversal
    terminal = members.optional("terminal", \.terminal)
    card = members.optional("card", \.card)
    last4 = members.optional("last4", \.last4)
    reason = members.optional("reason", \.reason)
  }
}

extension ChargeRecord.State: MemberValue {}
extension ChargeRecord.Method: MemberValue {}
