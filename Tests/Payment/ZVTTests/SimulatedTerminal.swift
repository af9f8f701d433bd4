import ZVT

/// A terminal in memory, which answers packet by packet. Its holds and bookings survive the loss of
/// the connection.
struct SimulatedTerminal {
  struct Result {
    var code: UInt8 = 0
    var receipt: Int
    var amount: Int
    var trace = 0
  }

  /// The end of a payment whose goods are made.
  enum PaymentEnd { case booked, aborted, failed, failedInCompletion }

  /// The end of a reservation whose status reports success.
  enum HoldEnd { case held, failedWithHold, failedWithoutHold }

  /// Deviations of terminals.
  struct Habits {
    var lists = true
    var repeats = true
    /// Whether an approved payment is booked when the register is lost while it waits.
    var booksOnSilence = false
    /// Whether the customer presents a card.
    var hasCustomer = true
    var reserves = true
    /// Whether an end of day without payments is executed.
    var endsEmptyDays = true
    /// Whether the last result is repeated with a new trace number.
    var renumbers = false
    /// Field 49 of each result, or `nil` for none.
    var currency: Int?
    /// The number of questions whether the goods are made; the terminal asks again as soon as it has an
    /// answer. With `nil` it asks when the test calls `ask`.
    var questions: Int?
    /// Whether every command except the registration is answered busy.
    var isBusy = false
    /// Whether a prompt goes on after an abort.
    var ignoresAborts = false
    /// The last four digits of the card to which the terminal returns the money.
    var returnsTo: Int?
    var paymentEnd = PaymentEnd.booked
    /// Whether an end of day is completed with a failed result.
    var failsEndOfDay = false
    /// The failed result of a capture, release, reversal or end of day that is not executed, which
    /// only the completion has.
    var failsInCompletion: UInt8?
    var holdEnd = HoldEnd.held
    /// The failed result with which a prompt is completed.
    var declines: UInt8?
  }

  var habits = Habits()
  private(set) var holds: [Int: Int] = [:]
  private(set) var booked: [Int: Int] = [:]
  /// The number of bookings, cancellations and holds that were ever made.
  private(set) var moves = 0
  /// The number of ends of a day that were asked for, and the sum of the days before the last one.
  private(set) var days = 0
  private var earlier = 0

  private var cancelled: Set<Int> = []
  /// The last result; that of a payment before the test, unless the terminal is new.
  private var last: Result? = Result(receipt: 1, amount: 350)
  private var counter = 1
  private var reader = APDUReader()
  /// The steps that follow, one at each answer of the register.
  private var steps: [Step] = []
  private var waiting: Result?
  private var asked = 0
  private var traces = 1000
  /// The charge whose prompt comes next, which the terminal does not know: the tests compare by it.
  var customer = 0
  private var holders: [Int: Int] = [:]
  private var payers: [Int: Int] = [:]
  private var waitingCustomer = 0
  /// The amounts that customers have paid before ends of day, by charge.
  private var closedBy: [Int: Int] = [:]

  /// Returns what is booked of a charge.
  func taken(of charge: Int) -> Int {
    payers.reduce(closedBy[charge] ?? 0) { $0 + ($1.value == charge ? booked[$1.key] ?? 0 : 0) }
  }

  /// Returns what is held for a charge.
  func held(of charge: Int) -> Int {
    let waits = waiting.map { waitingCustomer == charge ? $0.amount : 0 } ?? 0
    return holders.reduce(waits) { $0 + ($1.value == charge ? holds[$1.key] ?? 0 : 0) }
  }

  /// Lets the receipt numbers continue at another number.
  mutating func jump(to receipt: Int) { counter = receipt }

  /// Payments before ends of day that the terminal has made by itself.
  private(set) var closed: [Int] = []

  private enum Step {
    case send(APDU)
    case hold(Int)
    case ask(Int)
    case pay(Int)
  }

  /// Whether a payment waits for the goods.
  var isAsking: Bool { waiting != nil }

  /// Makes an end of day: the receipt numbers begin at 1 again.
  mutating func closeDay() {
    closed += booked.values
    for (receipt, payer) in payers { closedBy[payer, default: 0] += booked[receipt] ?? 0 }
    payers = [:]
    (booked, cancelled, counter, earlier) = ([:], [], 0, 0)
  }

  /// Ends the connection.
  mutating func disconnect() {
    if let payment = waiting { endPayment(payment, isBooked: habits.booksOnSilence) }
    (steps, waiting, reader) = ([], nil, APDUReader())
  }

  /// Processes bytes, and returns the answer.
  mutating func receive(_ bytes: [UInt8]) -> [UInt8] {
    reader.read(bytes).flatMap { answer($0) }
  }

  private mutating func answer(_ packet: APDU) -> [UInt8] {
    let data = packet.data
    if let waiting, packet.control >> 8 == 0x80 || packet.control >> 8 == 0x84 {
      return answerGoods(packet, waiting)
    }
    if habits.isBusy, packet.control != 0x0600, packet.control >> 8 != 0x80 {
      return packet.control == 0x0501
        ? APDU(0x8000).bytes + APDU(0x060F, [0x9C]).bytes : APDU(0x849C).bytes
    }
    switch packet.control {
    case 0x0601 where habits.declines != nil, 0x0622 where habits.declines != nil:
      let failure = Result(code: habits.declines ?? 0, receipt: counter, amount: 0, trace: traces)
      last = failure
      steps = [.send(status(failure)), .send(APDU(0x060F))]
    case 0x8000: return next()
    case 0x06B0 where habits.ignoresAborts: return APDU(0x04FF, [0x0A]).bytes
    case 0x06B0:
      let isPrompt = steps.contains { step in
        switch step {
        case .hold, .pay: true
        case .send, .ask: false
        }
      }
      guard isPrompt || !habits.hasCustomer else { return APDU(0x8000).bytes }
      steps = []
      return APDU(0x8000).bytes + APDU(0x061E, [0x6C]).bytes
    case 0x0600, 0x06E0: steps = [.send(APDU(0x060F))]
    case 0x0501: steps = [.send(APDU(0x060F, [0]))]
    case 0x0601: steps = habits.hasCustomer ? [.pay(amount(data))] : [.ask(0)]
    case 0x0622 where !habits.reserves: return APDU(0x8483).bytes
    case 0x0622: steps = habits.hasCustomer ? [.hold(amount(data))] : [.ask(0)]
    case 0x0623 where data.count == 3: steps = [.send(open)]
    case 0x0623...0x0650 where habits.failsInCompletion != nil:
      if packet.control == 0x0650 { days += 1 }
      steps = [.send(failedCompletion)]
    case 0x0623:
      let receipt = number(data[1...2])
      steps = book(receipt, (holds[receipt] ?? 0) - number(data[4...9]))
    case 0x0624: steps = book(number(data[1...2]), number(data[4...9]))
    case 0x0625: steps = release(number(data[1...2]))
    case 0x0630: steps = cancel(number(data[4...5]))
    case 0x0650 where habits.failsEndOfDay:
      days += 1
      let failure = Result(code: 0xA1, receipt: counter, amount: 0, trace: traces)
      steps = [.send(status(failure)), .send(APDU(0x060F))]
    case 0x0650:
      days += 1
      let sum = booked.values.reduce(0, +)
      let isEmpty = sum == earlier
      steps =
        isEmpty && !habits.endsEmptyDays
        ? [.send(APDU(0x061E, [0x77]))] : done(max(0, sum - earlier))
      earlier = sum
    case 0x0620:
      steps = [.send(APDU(0x060F))]
      if let last, habits.repeats {
        if habits.renumbers { traces += 1 }
        let trace = habits.renumbers ? traces : nil
        steps.insert(.send(status(last, trace: trace)), at: 0)
      }
    default: return APDU(0x8483).bytes
    }
    let isPrompt = [0x0601, 0x0622].contains(packet.control)
    return APDU(0x8000).bytes + (isPrompt ? APDU(0x04FF, [0x0A]).bytes : next())
  }

  private mutating func next() -> [UInt8] {
    guard !steps.isEmpty else { return [] }
    switch steps.removeFirst() {
    case .send(let packet): return packet.bytes
    case .ask: return []
    case .hold(let amount):
      let result = made(amount)
      if habits.holdEnd != .failedWithoutHold {
        holds[result.receipt] = amount
        holders[result.receipt] = customer
        moves += 1
      }
      steps = [.send(habits.holdEnd == .held ? APDU(0x060F) : failedCompletion)]
      return status(result).bytes
    case .pay(let amount):
      count()
      let result = Result(receipt: counter, amount: amount, trace: traces)
      (waiting, asked, waitingCustomer) = (result, 1, customer)
      return status(result).bytes
    }
  }

  /// The register's answer to the question whether the goods are made.
  private mutating func answerGoods(_ packet: APDU, _ payment: Result) -> [UInt8] {
    switch packet.control {
    case 0x8000:
      endPayment(payment, isBooked: habits.paymentEnd == .booked)
      switch habits.paymentEnd {
      case .booked: return APDU(0x060F).bytes
      case .aborted: return APDU(0x061E, [0x6C]).bytes
      case .failedInCompletion: return failedCompletion.bytes
      case .failed: return (last.map { status($0).bytes } ?? []) + APDU(0x060F).bytes
      }
    case 0x8466:
      endPayment(payment, isBooked: false)
      return APDU(0x061E, [0x6C]).bytes
    // The next question is asked by `ask`.
    default:
      guard let questions = habits.questions else { return [] }
      guard asked < questions else {
        endPayment(payment, isBooked: false)
        return APDU(0x061E, [0x6C]).bytes
      }
      asked += 1
      return status(payment).bytes
    }
  }

  /// Asks again whether the goods are made.
  mutating func ask() -> [UInt8] { waiting.map { status($0).bytes } ?? [] }

  private mutating func endPayment(_ payment: Result, isBooked: Bool) {
    var payment = payment
    if isBooked {
      booked[payment.receipt] = payment.amount
      payers[payment.receipt] = waitingCustomer
      moves += 1
    } else {
      payment.code = 0x6C
    }
    (last, waiting) = (payment, nil)
  }

  /// Counts to the next receipt number: 1 follows 9999.
  private mutating func count() {
    // The number of an open reservation is not used again.
    repeat { counter = counter % 9999 + 1 } while holds[counter] != nil
    traces += 1
  }

  private mutating func made(_ amount: Int) -> Result {
    count()
    let result = Result(receipt: counter, amount: amount, trace: traces)
    last = result
    return result
  }

  private mutating func done(_ amount: Int) -> [Step] {
    [.send(status(made(amount))), .send(APDU(0x060F))]
  }

  private mutating func book(_ receipt: Int, _ amount: Int) -> [Step] {
    guard let held = holds[receipt], (0...held).contains(amount) else {
      return [.send(APDU(0x061E, [0xB8]))]
    }
    holds[receipt] = nil
    moves += 1
    let steps = done(amount)
    booked[counter] = amount
    payers[counter] = holders.removeValue(forKey: receipt)
    return steps
  }

  private mutating func release(_ receipt: Int) -> [Step] {
    guard holds.removeValue(forKey: receipt) != nil else { return [.send(APDU(0x061E, [0xB4]))] }
    moves += 1
    holders[receipt] = nil
    return done(0)
  }

  private mutating func cancel(_ receipt: Int) -> [Step] {
    guard let amount = booked.removeValue(forKey: receipt) else {
      return [.send(APDU(0x061E, [cancelled.contains(receipt) ? 0xB4 : 0xB5]))]
    }
    cancelled.insert(receipt)
    payers[receipt] = nil
    moves += 1
    return done(amount)
  }

  private var failedCompletion: APDU { APDU(0x060F, [0x27, habits.failsInCompletion ?? 0x6C]) }

  private var open: APDU {
    guard habits.lists else {
      return APDU(0x061E, [0xB8, 0x87] + (holds.keys.min().map { bcd($0, 2) } ?? [0xFF, 0xFF]))
    }
    guard !holds.isEmpty else { return APDU(0x061E, [0xB8, 0x87, 0xFF, 0xFF]) }
    let list = holds.keys.sorted().flatMap { receipt -> [UInt8] in [0x08, 0x02] + bcd(receipt, 2) }
    let lengths: [UInt8] = [0xB8, 0x06, UInt8(list.count + 2), 0x23, UInt8(list.count)]
    return APDU(0x061E, lengths + list)
  }

  private func status(_ result: Result, trace: Int? = nil) -> APDU {
    var data: [UInt8] = [0x27, result.code, 0x04]
    data += bcd(result.amount, 6)
    data.append(0x87)
    data += bcd(result.receipt, 2)
    data.append(0x0B)
    data += bcd(trace ?? result.trace, 3)
    if let currency = habits.currency { data += [0x49] + bcd(currency, 2) }
    return APDU(0x040F, data)
  }

  private func amount(_ data: [UInt8]) -> Int { number(data[1...6]) }

  private func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 * 100 + Int($1 >> 4) * 10 + Int($1 & 0xF) }
  }

  private func bcd(_ number: Int, _ count: Int) -> [UInt8] {
    var (rest, bytes) = (number, [UInt8]())
    for _ in 0..<count {
      bytes.insert(UInt8((rest / 10 % 10) * 16 + rest % 10), at: 0)
      rest /= 100
    }
    return bytes
  }
}
