import JuiceDomain
import Testing

@testable import KioskProtocol

/// The messages between the kiosk and a payment device.
@Suite struct PaymentMessageTests {
  private static let now = Timestamp(milliseconds: 1_795_251_600_000)

  private static func answer(_ payload: String) throws(Rejection) -> Command {
    try Request(kind: .paid, payload: Array(payload.utf8)).command
  }

  @Test(arguments: [
    "waiting", "declined", "released", "unknown",
  ])
  func anAnswerWithoutMoneyIsRead(status: String) throws {
    let command = try Self.answer(#"{"charge":17,"status":"\#(status)","reason":"no credit"}"#)
    guard case .paid(let answer) = command else {
      Issue.record("\(command)")
      return
    }
    #expect(answer.status.name == status && answer.charge == 17 && answer.reason == "no credit")
    #expect(try Request(kind: .paid, payload: answer.payload).command == command)
  }

  @Test(arguments: ["held", "captured", "refunded"])
  func anAnswerWithMoneyIsRead(status: String) throws {
    let text =
      #"{"charge":17,"status":"\#(status)","amount":350,"currency":"EUR","receipt":12,"#
      + #""trace":"0007","terminal":"T1","card":"girocard","last4":"1234"}"#
    let command = try Self.answer(text)
    guard case .paid(let answer) = command else {
      Issue.record("\(command)")
      return
    }
    #expect(answer.status.money == Money(units: 350, try #require(Currency("EUR"))))
    #expect(
      answer.receipt
        == Receipt(receipt: "12", trace: "0007", terminal: "T1", card: "girocard", last4: "1234"))
    #expect(try Request(kind: .paid, payload: answer.payload).command == command)
  }

  /// The dashboard shows a button for each decision.
  @Test func aChargeHasEachDecisionOnce() throws {
    let charge =
      #"{"charge":17,"amount":350,"currency":"EUR","at":"2026-11-21T09:00:00Z","#
      + #""decisions":["refund","cash","refund","none"]}"#
    let report = try PaymentReport(payload: Array(#"{"state":"idle","charges":[\#(charge)]}"#.utf8))
    #expect(report.charges.map(\.decisions) == [[.refund, .cash]])
  }

  @Test(arguments: [
    "{}", #"{"charge":17}"#, #"{"charge":0,"status":"declined"}"#,
    #"{"charge":-1,"status":"declined"}"#, #"{"charge":9007199254740992,"status":"declined"}"#,
    #"{"charge":"17","status":"declined"}"#, #"{"charge":17,"status":"paid"}"#,
    #"{"charge":17,"status":"held"}"#, #"{"charge":17,"status":"held","amount":350}"#,
    #"{"charge":17,"status":"held","amount":0,"currency":"EUR"}"#,
    #"{"charge":17,"status":"held","amount":3.5,"currency":"EUR"}"#,
    #"{"charge":17,"status":"held","amount":"350","currency":"EUR"}"#,
    #"{"charge":17,"status":"held","amount":350,"currency":"euro"}"#,
    #"{"charge":17,"status":"captured","amount":-350,"currency":"EUR"}"#,
    #"{"charge":17,"status":"refunded","amount":9000000000000,"currency":"EUR"}"#, "held",
  ])
  func anythingElseIsMalformed(payload: String) {
    let rejection = #expect(throws: Rejection.self) { try Self.answer(payload) }
    #expect(rejection?.reason == .malformed)
  }

  @Test(arguments: [
    "1234567890123456", "1234 5678 9012 3456", "1234-5678-9012", "x4111111111111111x",
  ])
  func aCardNumberIsDropped(number: String) throws {
    let text =
      #"{"charge":17,"status":"declined","reason":"\#(number)","receipt":"\#(number)","#
      + #""card":"\#(number)","last4":"\#(number)"}"#
    guard case .paid(let answer) = try Self.answer(text) else { return }
    #expect(answer.receipt.isEmpty && answer.reason == nil)
  }

  @Test func aCardNumberThatIsNoTextIsDropped() throws {
    let text =
      #"{"charge":17,"status":"declined","receipt":4111111111111111,"trace":411111111111,"#
      + #""terminal":123456789012,"card":4111111111111111,"last4":1111}"#
    guard case .paid(let answer) = try Self.answer(text) else { return }
    #expect(answer.receipt == Receipt(last4: "1111"))
  }

  @Test func whatTheKioskRequestsIsReadAsItWasWritten() throws {
    let request = ChargeRequest(
      charge: 17, ticket: 42, panel: "p1", juice: "kiwi", quantity: 2,
      amount: Money(units: 700, try #require(Currency("EUR"))), language: .korean, text: "키위쥬스",
      paySeconds: 45, readySeconds: 20)
    #expect(try ChargeRequest(payload: request.payload) == request)
    let capture = ChargeRequest.payload(about: 17, amount: request.amount)
    #expect(try ChargeRequest.parse(capture) == (17, 700))
    #expect(request.sendable == request)
  }

  /// A common library for small devices discards larger packets.
  @Test(arguments: ["", "쥬스", "\u{1F379}\u{1F379}", "\"\\\""])
  func aChargeFitsInto200Bytes(text: String) throws {
    let name = String(repeating: "x", count: 64)
    let request = ChargeRequest(
      charge: (1 << 53) - 1, ticket: 99_999, panel: name, juice: Juice.ID(name),
      quantity: 1_000,
      amount: Money(units: JSON.maximumUnits, try #require(Currency("EUR"))), language: .korean,
      text: String(repeating: text, count: 32), paySeconds: 300, readySeconds: 1_000_000)
    let payload = request.sendable.payload
    #expect(payload.count <= 200)
    let read = try ChargeRequest(payload: payload)
    #expect((read.charge, read.amount) == (request.charge, request.amount))
    #expect((read.paySeconds, read.readySeconds) == (300, 1_000_000))
    #expect(request.text.hasPrefix(read.text) && (text.isEmpty || !read.text.isEmpty))
    let about = ChargeRequest.payload(about: request.charge, amount: request.amount)
    #expect(about.count <= 80)
  }

  @Test(arguments: [
    (
      Language.english, "card expired",
      "The payment was declined: card expired. Nothing was charged."
    ),
    (.english, "declined", "The payment was declined. Nothing was charged."),
    (.korean, "card expired", "결제가 거절되었습니다: 유효 기간이 지난 카드. 청구된 금액은 없습니다."),
    (.korean, "declined", "결제가 거절되었습니다. 청구된 금액은 없습니다."),
    (.korean, "error 12", "결제가 거절되었습니다: error 12. 청구된 금액은 없습니다."),
  ])
  func aDeclineSaysWhy(language: Language, reason: String, text: String) {
    #expect(CustomerMessage.notPaid(.declined, reason, in: language) == text)
    #expect(PaymentReport(state: .idle, declined: reason).message(in: language) == text)
  }

  @Test func theCustomerSeesWhatTheDeviceIsDoing() throws {
    let amount = Money(units: 350, try #require(Currency("EUR")))
    #expect(
      PaymentReport(state: .waiting, amount: amount).message(in: .english)
        == "€3.50 at the terminal, please.")
    #expect(
      PaymentReport(state: .off, amount: amount).message(in: .english)
        == "The card terminal is out of order.")
    #expect(PaymentReport(state: .idle).message(in: .english) == nil)
  }

  @Test func aTotalIsReadAsItWasWritten() throws {
    let euro = try #require(Currency("EUR"))
    let total = PaymentTotal(
      total: 7, at: Timestamp(milliseconds: 1_795_251_600_000),
      captured: Money(units: 12_350, euro),
      refunded: Money(units: 350, euro), count: 36, terminalNet: -350)
    #expect(try PaymentTotal(payload: total.payload) == total)
    for flaw in ["{}", #"{"total":0}"#, "7"] {
      #expect(throws: JSONError.self) { try PaymentTotal(payload: Array(flaw.utf8)) }
    }
    // No sum of such numbers could be computed.
    for net in [Int.min, -1_000_000_000_000, 1_000_000_000_000, Int.max] {
      let payload = String(decoding: total.payload, as: UTF8.self)
        .replacing(#""terminal_net":-350"#, with: #""terminal_net":\#(net)"#)
      #expect(payload.contains("\(net)"))
      #expect(try PaymentTotal(payload: Array(payload.utf8)).terminalNet == nil)
    }
  }

  @Test func aStepOfAPaymentIsReadAsItWasWritten() throws {
    let (euro, order) = (try #require(Currency("EUR")), Order(juice: "kiwi"))
    let total = PaymentTotal(
      total: 7, at: Timestamp(milliseconds: 1_795_251_600_000), captured: Money(units: 1, euro),
      refunded: Money(units: 0, euro), count: 1)
    let outcomes: [LedgerEntry.Outcome] =
      [
        .awaitingPayment(
          order, used: ["kiwi": 3], ticket: Ticket(day: 0, number: 4), charge: 17,
          device: "terminal"),
        .total(total, device: "terminal", difference: -5),
        .total(total, device: "terminal", difference: nil),
        .made(JobEnd(job: 2, machine: nil, order: order, ticket: Ticket(day: 0, number: 4))),
      ]
      + PaymentStep.Kind.allCases.map {
        .payment(
          PaymentStep(
            $0, charge: 17, device: "terminal", job: 2, order: order,
            ticket: Ticket(day: 0, number: 4), machine: "bar", place: 1,
            receipt: Receipt(receipt: "12", last4: "1234"), reason: "late"))
      }
    for outcome in outcomes {
      let entry = LedgerEntry(
        seq: 7, epoch: 1, at: Timestamp(milliseconds: 1_795_251_600_000), source: nil, id: nil,
        outcome: outcome, amount: Money(units: 350, euro))
      #expect(try LedgerEntry(payload: entry.payload) == entry)
    }
  }

  @Test func theEndOfAnInventoryIsReadAsItWasWritten() throws {
    let request = Request(command: .inventory(epoch: 7))
    #expect(try Request(kind: .paid, payload: request.payload) == request)
    #expect(try ChargeRequest.epoch(ChargeRequest.payload(epoch: 7)) == 7)
    for epoch in ["", #","epoch":0"#, #","epoch":9007199254740992"#, #","epoch":"7""#] {
      let wrong = Array(#"{"status":"open"\#(epoch)}"#.utf8)
      #expect(throws: Rejection.self) { try Request(kind: .paid, payload: wrong) }
      #expect(throws: JSONError.self) { try ChargeRequest.epoch(wrong) }
    }
  }

  @Test func theDecisionOfAPersonIsReadAsItWasWritten() throws {
    for choice in ChargeDecision.Choice.allCases {
      for word in [nil, "sour", String(repeating: "가", count: 200)] {
        let decision = ChargeDecision(charge: 17, choice: choice, word: word)
        let request = Request(command: .charge(decision))
        #expect(try Request(kind: .job, payload: request.payload) == request)
      }
    }
    let long = Array(
      #"{"charge":17,"decision":"refund","word":"\#(String(repeating: "a", count: 300))"}"#.utf8)
    #expect(
      try Request(kind: .job, payload: long).command
        == .charge(
          ChargeDecision(charge: 17, choice: .refund, word: String(repeating: "a", count: 200))))
    let wrong = Array(#"{"charge":17,"decision":"poured"}"#.utf8)
    #expect(throws: Rejection.self) { try Request(kind: .job, payload: wrong) }
  }

  // MARK: The device in the terminal

  @Test func aDeviceMovesMoneyOncePerNumber() throws {
    var firmware = PaymentFirmware()
    let request = ChargeRequest(
      charge: 17, ticket: 1, panel: "p1", juice: "kiwi", quantity: 1,
      amount: Money(units: 350, try #require(Currency("EUR"))), language: .english, text: "Kiwi",
      paySeconds: 45, readySeconds: 0)
    var journal: [PaymentFirmware.Record] = []
    func play(_ actions: [PaymentFirmware.Action]) -> [String] {
      actions.compactMap { action in
        switch action {
        case .store(let record):
          journal.append(record)
          return nil
        case .publish(let answer): return answer.status.name
        case .inventory(let epoch): return "open \(epoch)"
        case .total(let total): return "\(total.captured.units) \(total.refunded.units)"
        }
      }
    }
    #expect(play(firmware.charge(request)) == ["waiting"])
    #expect(play(firmware.charge(request)) == ["waiting"])
    #expect(play(firmware.pay()) == ["held"])
    #expect(firmware.endDay(at: Self.now).isEmpty)
    #expect(play(firmware.inventory(epoch: 7)) == ["held", "open 7"])
    #expect(play(firmware.request(.capture, 17, units: 300)) == ["captured"])
    #expect(play(firmware.request(.capture, 17, units: 300)) == ["captured"])
    #expect(play(firmware.request(.release, 17, units: nil)) == ["captured"])
    #expect(play(firmware.request(.release, 16, units: nil)) == ["unknown"])
    #expect(play(firmware.request(.state, 99, units: nil)) == ["unknown"])
    #expect(play(firmware.request(.release, 18, units: nil)) == ["released"])
    var again = PaymentFirmware()
    let restored = try journal.map { try PaymentFirmware.Record(payload: $0.payload) }
    #expect(again.restore(restored).isEmpty && again.last == 18)
    #expect(play(again.request(.refund, 17, units: nil)) == ["refunded"])
    #expect(play(again.request(.refund, 17, units: nil)) == ["refunded"])
    #expect(play(again.endDay(at: Self.now)) == ["300 300"])
    #expect(play(again.endDay(at: Self.now)) == ["0 0"])
    #expect(play(again.request(.refund, 19, units: nil)) == ["unknown"] && again.last == 19)
  }

  @Test func aPromptDoesNotOutliveAPowerCut() throws {
    let euro = try #require(Currency("EUR"))
    var firmware = PaymentFirmware()
    let record = PaymentFirmware.Record(
      charge: 17, state: .prompted, money: Money(units: 350, euro))
    _ = firmware.restore([record])
    #expect(firmware.openAnswers.isEmpty && firmware.prompt == nil)
  }
}
