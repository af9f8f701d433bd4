package import JuiceDomain

extension Request {
  /// The payload. A status, a total and the end of an inventory omit `id` and `sentAt`.
  package var payload: [UInt8] {
    switch command {
    case .machine(let status), .payment(let status): return Array(status.text.utf8)
    case .total(let total): return total.payload
    case .inventory(let epoch): return PaymentAnswer.inventory(epoch: epoch)
    default: break
    }
    return JSONWriter.object { json in
      if let id { json.member("id", id.text) }
      switch command {
      case .order(let order):
        json.member("juice", order.juice.text)
        json.member("quantity", order.quantity)
      case .restock(let restock):
        if !restock.add.isEmpty { json.member("add", restock.add) }
        if !restock.set.isEmpty { json.member("set", restock.set) }
        if !restock.expect.isEmpty { json.member("expect", restock.expect) }
        let days = restock.bestBeforeDay.mapValues { "\(CivilDate(daysSinceEpoch: $0))" }
        let dates = restock.bestBefore.mapValues { "\(Timestamp(milliseconds: $0))" }
          .merging(days) { time, _ in time }
        if !dates.isEmpty { json.member("best_before", dates) }
      case .remove(let removal):
        if !removal.stock.isEmpty { json.member("remove", removal.stock) }
        if !removal.expired.isEmpty { json.member("remove_expired", removal.expired) }
        json.member("reason", removal.reason.rawValue)
      case .service(let state):
        json.member("service", state.rawValue)
      case .settings(let command): json.members(command)
      case .job(let decision):
        json.member("job", decision.job)
        json.member("decision", decision.choice.rawValue)
        if let used = decision.used { json.member("used", used) }
      case .program(let id):
        json.member("machine", id.machine.text)
        json.member("program", id.program.rawValue)
      case .made(let answer):
        json.members(answer)
      case .paid(let answer):
        json.members(answer)
      case .charge(let decision):
        json.member("charge", decision.charge)
        json.member("decision", decision.choice.rawValue)
        if let word = decision.word { json.member("word", word) }
      case .sensor(let decision): json.members(decision)
      case .machine, .payment, .total, .inventory: break
      }
      if let sentAt { json.member("sent_at", sentAt.description) }
    }
  }
}

extension JSONWriter {
  package mutating func member(_ key: StaticString, _ amounts: FruitAmounts) {
    member(key) { $0.members(amounts) }
  }

  package mutating func member(
    _ key: StaticString, _ times: [Fruit.ID: some CustomStringConvertible]
  ) {
    member(key) { json in
      for (fruit, time) in times.sorted(by: { $0.key < $1.key }) {
        json.member(named: fruit.text, time.description)
      }
    }
  }

  package mutating func members(_ amounts: FruitAmounts) {
    for (fruit, amount) in amounts { member(named: fruit.text, amount) }
  }
}
