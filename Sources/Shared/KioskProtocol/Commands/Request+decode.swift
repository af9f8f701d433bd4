import JuiceDomain

extension Request {
  /// Maximum size of the payload of a command in bytes.
  package static let maximumPayload = 4096

  /// Parses a payload received on a command topic of this kind.
  ///
  /// An order may be just a juice's id, a service command just `open` or `closed`. All other
  /// payloads are JSON objects, in which unknown members are ignored and `null` counts as absent.
  ///
  /// - Throws: `Rejection` with `too_large` or `malformed`, or with the reason of a single invalid
  ///   value (`quantity_out_of_range`, `unknown_juice`, `unknown_fruit`).
  package init(kind: Command.Kind, payload: [UInt8]) throws(Rejection) {
    guard payload.count <= Self.maximumPayload else {
      throw Rejection(
        .tooLarge, "\(payload.count) bytes; a command has at most \(Self.maximumPayload)")
    }
    if payload.first(where: { !$0.isWhitespace }) != UInt8(ascii: "{"), kind.mayBeText {
      self.init(command: try Command(kind: kind, text: payload))
      return
    }
    let json: JSON
    do {
      json = try JSON.parse(payload)
    } catch {
      throw Rejection(.malformed, error.description)
    }
    guard case .object = json else {
      throw Rejection(.malformed, "a JSON object is expected, this is \(json.kind)")
    }
    // Reads the id first: if another member is invalid, the rejection still identifies the command.
    let id = try json.requestID()
    do {
      self.init(id: id, sentAt: try json.timestamp(), command: try Command(kind: kind, json: json))
    } catch {
      throw Rejection(error.reason, error.detail, id: id)
    }
  }
}

extension Command.Kind {
  /// Whether a command of this kind may be a single word.
  fileprivate var mayBeText: Bool { self == .order || self == .service }
}

extension Command {
  fileprivate init(kind: Kind, text payload: [UInt8]) throws(Rejection) {
    let trimmed = payload.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace)
    guard let text = String(validating: trimmed.reversed(), as: UTF8.self) else {
      throw Rejection(.malformed, "the text is not valid UTF-8")
    }
    guard !text.isEmpty else { throw Rejection(.malformed, "the payload is empty") }
    if kind == .service {
      guard let state = ServiceState(rawValue: text) else {
        throw Rejection(.malformed, "neither open nor closed")
      }
      self = .service(state)
    } else {
      guard let juice = Juice.ID(text) else {
        throw Rejection(.malformed, "neither a juice id nor a JSON object")
      }
      self = .order(Order(juice: juice))
    }
  }

  fileprivate init(kind: Kind, json: JSON) throws(Rejection) {
    switch kind {
    case .order:
      let text = try json.string("juice", required: "a juice's id")
      guard let juice = Juice.ID(text) else {
        throw Rejection(.unknownJuice, "not a juice id: use 1 to 64 of A-Z a-z 0-9 _ -")
      }
      self = .order(Order(juice: juice, quantity: try json.quantity()))
    case .restock where json.present("remove") != nil || json.present("remove_expired") != nil:
      self = .remove(try json.removal())
    case .restock:
      let (times, days) = try json.bestBefore()
      let restock = Restock(
        add: try json.amounts("add"), set: try json.amounts("set"),
        expect: try json.amounts("expect"), bestBefore: times, bestBeforeDay: days)
      guard !restock.add.isEmpty || !restock.set.isEmpty else {
        throw Rejection(.malformed, "nothing to do: name fruits under add or under set")
      }
      self = .restock(restock)
    case .service:
      let text = try json.string("service", required: "open or closed")
      guard let state = ServiceState(rawValue: text) else {
        throw Rejection(.malformed, "service is neither open nor closed")
      }
      self = .service(state)
    case .settings:
      guard json.present("id") != nil else {
        throw Rejection(.malformed, "id is missing: a new one for each change")
      }
      self = .settings(try SettingsCommand(json))
    case .job where json.present("charge") != nil:
      let words = ChargeDecision.Choice.allCases.map(\.rawValue).joined(separator: ", ")
      let text = try json.string("decision", required: words)
      guard let choice = ChargeDecision.Choice(rawValue: text) else {
        throw Rejection(.malformed, "decision is not one of \(words)")
      }
      self = .charge(
        ChargeDecision(
          charge: try json.charge(), choice: choice,
          word: json.visibleText("word", upTo: SensorDecision.maximumWord)))
    case .program:
      let words = MachineProgram.allCases.map(\.rawValue).joined(separator: ", ")
      guard let program = MachineProgram(rawValue: try json.string("program", required: words))
      else { throw Rejection(.malformed, "program is not one of \(words)") }
      guard let machine = MachineID(try json.string("machine", required: "a machine's name")) else {
        throw Rejection(.malformed, "machine is not a machine's name")
      }
      self = .program(ProgramID(machine: machine, program: program))
    case .job where json.present("sensor") != nil:
      let words = SensorDecision.Choice.allCases.map(\.rawValue).joined(separator: " or ")
      guard let sensor = SensorID(try json.string("sensor", required: "a sensor's name")) else {
        throw Rejection(.malformed, "sensor is not a sensor's name")
      }
      guard
        let choice = SensorDecision.Choice(rawValue: try json.string("decision", required: words))
      else { throw Rejection(.malformed, "decision is not \(words)") }
      let word = try json.string("word", required: "the reason for the decision")
        .visible(upTo: SensorDecision.maximumWord)
      guard word.contains(where: { !$0.isWhitespace }) else {
        throw Rejection(.malformed, "word is empty")
      }
      self = .sensor(SensorDecision(sensor: sensor, choice: choice, word: word))
    case .job:
      let job = try json.job()
      let text = try json.string("decision", required: "poured, again or give_back")
      guard let choice = JobDecision.Choice(rawValue: text) else {
        throw Rejection(.malformed, "decision is neither poured, again nor give_back")
      }
      self = .job(JobDecision(job: job, choice: choice, used: try json.used()))
    case .made:
      self = .made(MachineAnswer(job: try json.job(), status: try json.machineStatus()))
    case .paid where json["status"] == .string(ChargeRequest.Action.open.rawValue):
      guard let epoch = json.epoch else {
        throw Rejection(.malformed, "epoch is not that of the request")
      }
      self = .inventory(epoch: epoch)
    case .paid:
      self = .paid(
        PaymentAnswer(
          charge: try json.charge(), status: try json.paymentStatus(), receipt: Receipt(json),
          reason: json.reason.flatMap { $0.asPaymentReason.isEmpty ? nil : $0.asPaymentReason }))
    }
  }
}

extension JSON {
  fileprivate func present(_ key: String) -> JSON? {
    guard let value = self[key], value != .null else { return nil }
    return value
  }

  fileprivate func string(_ key: String, required what: String) throws(Rejection) -> String {
    guard let value = present(key) else {
      throw Rejection(.malformed, "\(key) is missing: \(what)")
    }
    guard case .string(let text) = value else {
      throw Rejection(.malformed, "\(key) is \(value.kind); a text is expected: \(what)")
    }
    return text
  }

  fileprivate func requestID() throws(Rejection) -> Request.ID? {
    guard let value = present("id") else { return nil }
    guard case .string(let text) = value, let id = Request.ID(text) else {
      throw Rejection(.malformed, "id is not a text of 1 to 64 of A-Z a-z 0-9 _ -")
    }
    return id
  }

  fileprivate func timestamp() throws(Rejection) -> Timestamp? {
    guard let value = present("sent_at") else { return nil }
    guard case .string(let text) = value, let timestamp = Timestamp(text) else {
      throw Rejection(.malformed, "sent_at is not a time like 2026-11-21T09:00:00Z")
    }
    return timestamp
  }

  fileprivate func quantity() throws(Rejection) -> Int {
    let value = present("quantity")
    if let quantity = value?.wholeNumber { return quantity }
    switch value {
    case nil: return 1
    case .number(let number) where number.magnitude >= 0x1p63:
      throw Rejection(.quantityOutOfRange, "quantity is out of range")
    case let value?:
      throw Rejection(.malformed, "quantity is \(value.kind); a whole number is expected")
    }
  }

  fileprivate func job() throws(Rejection) -> Int {
    let value = present("job")
    if let job = value?.wholeNumber { return job }
    switch value {
    case nil: throw Rejection(.malformed, "job is missing: a job number")
    case let value?:
      throw Rejection(.malformed, "job is \(value.kind); a whole number is expected")
    }
  }

  fileprivate func charge() throws(Rejection) -> Int {
    guard let charge = chargeNumber("charge") else {
      throw Rejection(.malformed, "charge is not the number of a charge, from 1 to 2^53 - 1")
    }
    return charge
  }

  fileprivate func paymentStatus() throws(Rejection) -> PaymentAnswer.Status {
    let words = "waiting, held, declined, captured, released, refunded or unknown"
    switch try string("status", required: words) {
    case "waiting": return .waiting(isPresented: self["presented"] == .bool(true))
    case "held": return .held(try money())
    case "declined": return .declined
    case "captured": return .captured(try money())
    case "released": return .released
    case "refunded": return .refunded(try money())
    case "unknown": return .unknown
    default: throw Rejection(.malformed, "status is not one of \(words)")
    }
  }

  private func money() throws(Rejection) -> Money {
    guard let money = units() else {
      throw Rejection(
        .malformed,
        "amount and currency are expected: a whole number from 1 in the currency's smallest unit, "
          + "and a code such as EUR")
    }
    return money
  }

  fileprivate func machineStatus() throws(Rejection) -> MachineAnswer.Status {
    let words = "started, waiting, done, failed, cancelled or unknown"
    switch try string("status", required: words) {
    case "started": return .started
    case "done": return .done
    case "cancelled": return .cancelled
    case "unknown": return .unknown
    case "waiting": return .waiting(reason: reason ?? "waiting")
    case "failed":
      return .failed(reason: reason ?? "failed", used: try used(), made: try glasses())
    default: throw Rejection(.malformed, "status is not one of \(words)")
    }
  }

  /// Returns the number of glasses that were made before a failure; 0 if `made` is absent.
  private func glasses() throws(Rejection) -> Int {
    guard let value = present("made") else { return 0 }
    guard let made = value.wholeNumber, (0...1_000).contains(made) else {
      throw Rejection(.malformed, "made is not a number of glasses")
    }
    return made
  }

  /// The reason that a device gives, or `nil` if it gives none.
  fileprivate var reason: String? {
    guard case .string(let text) = present("reason"), !text.asReason.isEmpty else { return nil }
    return text.asReason
  }

  fileprivate func used() throws(Rejection) -> FruitAmounts? {
    guard present("used") != nil else { return nil }
    let used: FruitAmounts = try amounts("used")
    return used
  }

  fileprivate func removal() throws(Rejection) -> Removal {
    guard present("add") == nil, present("set") == nil else {
      throw Rejection(.malformed, "a removal cannot add or set: send two commands")
    }
    let words = Removal.Reason.allCases.map(\.rawValue).joined(separator: ", ")
    guard let reason = Removal.Reason(rawValue: try string("reason", required: words)) else {
      throw Rejection(.malformed, "reason is not one of \(words)")
    }
    let removal = Removal(
      stock: try amounts("remove"), expired: try amounts("remove_expired"), reason: reason)
    // Checks each part: in a sum, one amount could hide that another one is out of range.
    let parts = [removal.stock, removal.expired].joined()
    guard !parts.isEmpty, parts.allSatisfy({ (1...Int(JSON.maximumAmount)).contains($0.amount) })
    else { throw Rejection(.malformed, "a removal takes at least 1 of a fruit") }
    return removal
  }

  fileprivate func bestBefore() throws(Rejection) -> (
    times: [Fruit.ID: Int64], days: [Fruit.ID: Int64]
  ) {
    var (times, days): ([Fruit.ID: Int64], [Fruit.ID: Int64]) = ([:], [:])
    guard let value = present("best_before") else { return (times, days) }
    guard case .object(let members) = value else {
      throw Rejection(.malformed, "best_before is \(value.kind); fruits and times are expected")
    }
    for member in members {
      guard let fruit = Fruit.ID(member.key) else {
        throw Rejection(.unknownFruit, "a key under best_before is not a fruit id")
      }
      guard case .string(let text) = member.value, let date = BestBefore(text) else {
        throw Rejection(.malformed, "best_before.\(fruit) is not \(BestBefore.form)")
      }
      switch date {
      case .time(let time): times[fruit] = time.milliseconds
      case .day(let day): days[fruit] = day.daysSinceEpoch
      }
    }
    return (times, days)
  }

  fileprivate func amounts(_ key: String) throws(Rejection) -> FruitAmounts {
    guard let value = present(key) else { return [:] }
    guard case .object(let members) = value else {
      throw Rejection(.malformed, "\(key) is \(value.kind); fruits and amounts are expected")
    }
    var amounts: FruitAmounts = [:]
    for member in members {
      guard let fruit = Fruit.ID(member.key) else {
        throw Rejection(.unknownFruit, "a key under \(key) is not a fruit id")
      }
      guard let amount = member.value.wholeNumber else {
        throw Rejection(
          .malformed, "\(key).\(fruit) is \(member.value.kind); a whole number is expected")
      }
      amounts[fruit] = amount
    }
    return amounts
  }
}

extension UInt8 {
  fileprivate var isWhitespace: Bool {
    self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09
  }
}
