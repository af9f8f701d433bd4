import Fleet
import Foundation
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The pages of payment devices, with a kiosk that the test simulates.
@Suite struct PaymentPagesTests {
  private static let amount = Money(units: 350, .euro)
  private static let charge = 1_795_251_600

  private static func publish(_ scene: Scene, _ report: PaymentReport) async throws {
    try await scene.kiosk("payment/till", report.payload)
  }

  private static func undecided(
    _ request: ChargeRequest.Action, job: Int? = 3, reason: String = "no answer",
    _ decisions: [ChargeDecision.Choice], at time: Timestamp
  ) -> PaymentReport.Charge {
    PaymentReport.Charge(
      charge: charge, job: job, ticket: job.map { _ in 42 }, amount: amount, reason: reason,
      request: request, decisions: decisions, at: time)
  }

  private static func receive(
    _ scene: Scene, _ kind: PaymentStep.Kind, charge: Int = charge, seq: Int, ticket: Int = 42,
    at time: Timestamp? = nil
  ) async throws {
    let step = PaymentStep(
      kind, charge: charge, device: "till", job: 3, order: Order(juice: "kiwi"),
      ticket: Ticket(day: 0, number: ticket),
      receipt: Receipt(receipt: "0012", card: "girocard", last4: "1234"))
    let entry = LedgerEntry(
      seq: seq, epoch: 1, at: time ?? scene.now, source: nil, id: nil, outcome: .payment(step),
      amount: amount)
    try await scene.kiosk("events", entry.payload, retain: false)
  }

  private static func history(seq: Int, at time: Timestamp) -> [UInt8] {
    let total = PaymentTotal(total: 1, at: time, captured: amount, refunded: amount, count: 1)
    let entry = LedgerEntry(
      seq: seq, epoch: 1, at: time, source: nil, id: nil,
      outcome: .total(total, device: "till", difference: 0))
    return HistoryReport(entries: [entry]).payload
  }

  @Test func aKioskWithoutPaymentLooksAsBefore() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      for path in ["/kiosks/k1", "/", "/kiosks/k1/display"] {
        let page = try await scene.get(path).text
        for word in ["Payments", "Refund", "terminal"] { #expect(!page.contains(word), "\(word)") }
      }
    }
  }

  @Test func onlyAnOperatorIsAskedAboutACharge() async throws {
    try await Scene.run { scene in
      let charge = Self.undecided(.capture, [.capture, .captured, .released], at: scene.now)
      try await Self.publish(scene, PaymentReport(state: .idle, charges: [charge]))
      try await scene.authenticate("vera")
      let seen = try await scene.get("/kiosks/k1").text
      #expect(seen.contains("the juice was made: is it paid?"))
      #expect(seen.contains("the device does not answer") && seen.contains("€3.50"))
      #expect(!seen.contains("name=\"decision\"") && !seen.contains("name=\"refund\""))
      let refused = try await scene.post(
        "/kiosks/k1/charge", "csrf_token=\(scene.csrfToken)&id=d1&decision=released.\(Self.charge)")
      #expect(refused.status == .forbidden)
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      for choice in ChargeDecision.Choice.allCases {
        #expect(
          page.contains("value=\"\(choice.rawValue).\(Self.charge)\"")
            == charge.decisions.contains(choice), "\(choice)")
      }
      let fleet = try await scene.get("/").text
      #expect(fleet.contains("needs a decision") && fleet.contains("Needs attention"))
    }
  }

  @Test(arguments: [
    (ChargeDecision.Choice.refund, RejectionReason?.none, "refund requested"),
    (.released, nil, "recorded as not captured"), (.captured, nil, "recorded as captured"),
    (.refund, .noDecisionNeeded, "not possible for the charge now"),
  ])
  func aDecisionGoesOutInTheUsersName(
    choice: ChargeDecision.Choice, reason: RejectionReason?, words: String
  ) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/charge",
        "csrf_token=\(scene.csrfToken)&id=d1&decision=\(choice.rawValue).\(Self.charge)")
      let request = try await scene.nextRequest(.job)
      #expect(request.id?.text == "d1-\(choice.rawValue)-\(Self.charge)")
      #expect(request.sentAt == scene.now)
      #expect(request.command == .charge(ChargeDecision(charge: Self.charge, choice: choice)))
      var result = CommandResult(status: reason == nil ? .applied : .rejected)
      result.reason = reason
      try await scene.answer(result, to: request)
      #expect(try await answer.text.contains(words))
    }
  }

  @Test func aDecisionThatNobodyCanReadIsNoDecision() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      for decision in ["", "refund", "refund.", "refund.0", "kept.7", "refund.9007199254740992"] {
        let answer = try await scene.post(
          "/kiosks/k1/charge", "csrf_token=\(scene.csrfToken)&id=d1&decision=\(decision)")
        #expect(answer.status == .badRequest, "\(decision)")
      }
    }
  }

  /// A refund is offered on the same day and once, and asks before it sends anything.
  @Test func aCapturedChargeCanBeRefunded() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(
        scene, PaymentReport(state: .idle, captured: Self.amount, refunded: Money(units: 0, .euro)))
      let yesterday = Timestamp(milliseconds: scene.now.milliseconds - 86_400_000)
      try await Self.receive(scene, .captured, charge: 7, seq: 5, ticket: 9, at: yesterday)
      try await Self.receive(scene, .captured, seq: 6)
      let page = try await scene.get("/kiosks/k1").text
      let link = "href=\"/kiosks/k1?refund=\(Self.charge)\""
      #expect(page.contains(link) && !page.contains("?refund=7\""))
      #expect(page.contains("(refund only on the same day, before the terminal&#39;s end of day)"))
      #expect(page.contains("girocard · ····1234 · receipt 0012"))
      #expect(page.contains("<b>€3.50</b> captured since the end of day"))
      let question = try await scene.get("/kiosks/k1?refund=\(Self.charge)").text
      #expect(question.contains("Refund charge \(Self.charge) (ticket 42 · Kiwi juice · €3.50)?"))
      #expect(question.contains("value=\"refund.\(Self.charge)\""))
      #expect(question.contains("name=\"word\" form=\"send-charge\""))
      for number in ["0", "x", "9007199254740992", "-1", ""] {
        #expect(try await !scene.get("/kiosks/k1?refund=\(number)").text.contains("Refund now"))
      }
      try await Self.receive(scene, .captured, charge: 8, seq: 7)
      #expect(try await scene.get("/kiosks/k1").text.contains("?refund=8\""))
      try await Self.receive(scene, .refunded, charge: 8, seq: 8)
      #expect(try await !scene.get("/kiosks/k1").text.contains("?refund=8\""))
      let refunded = try await scene.get("/kiosks/k1?refund=8").text
      #expect(
        refunded.contains("Charge 8: already refunded <time") && !refunded.contains("Refund now"))
      // Cash is the end of a refund that failed.
      try await Self.receive(scene, .captured, charge: 10, seq: 10)
      try await Self.receive(scene, .refund, charge: 10, seq: 11)
      try await Self.receive(scene, .kept, charge: 10, seq: 12)
      #expect(try await scene.get("/kiosks/k1").text.contains("?refund=10\""))
      try await Self.receive(scene, .paidBack, charge: 10, seq: 13)
      let cash = try await scene.get("/kiosks/k1?refund=10").text
      #expect(cash.contains("Charge 10: given back in cash <time") && !cash.contains("Refund now"))
      #expect(try await !scene.get("/kiosks/k1").text.contains("?refund=10\""))
      // The end of the device's day ends the time for a refund.
      try await scene.kiosk("history", Self.history(seq: 4, at: yesterday))
      #expect(try await scene.get("/kiosks/k1").text.contains(link))
      try await scene.kiosk("history", Self.history(seq: 9, at: scene.now))
      #expect(try await !scene.get("/kiosks/k1").text.contains(link))
      try await scene.authenticate("vera")
      let seen = try await scene.get("/kiosks/k1?refund=\(Self.charge)").text
      #expect(seen.contains("Kiwi juice · €3.50") && !seen.contains("Refund now"))
    }
  }

  /// A charge that was captured for a juice that was not made, or perhaps not, is marked until a person
  /// has decided, and can be refunded also on the next day.
  @Test func aCaptureWithoutAJuiceIsMarked() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let yesterday = Timestamp(milliseconds: scene.now.milliseconds - 86_400_000)
      try await Self.receive(scene, .captured, seq: 6, at: yesterday)
      let charge = Self.undecided(
        .release, reason: "captured, not made", [.refund, .captured, .cash], at: yesterday)
      try await Self.publish(scene, PaymentReport(state: .idle, charges: [charge]))
      let mark = "<a class=\"chip bad\" href=\"#charge-decisions\">captured, and not made</a>"
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains(mark) && page.contains("?refund=\(Self.charge)\""))
      #expect(page.contains("value=\"refund.\(Self.charge)\""))
      #expect(!page.contains("refund only on the same day"))
      let question = try await scene.get("/kiosks/k1?refund=\(Self.charge)").text
      #expect(question.contains("Refund now"))
      try await Self.publish(scene, PaymentReport(state: .idle))
      let decided = try await scene.get("/kiosks/k1").text
      #expect(!decided.contains(mark) && decided.contains("refund only on the same day"))
      // The order waits for a decision of a person.
      let job = MachineReport.Job(
        job: 3, attempt: 3, ticket: 42, juice: "kiwi", quantity: 1, state: .needsDecision,
        at: yesterday)
      let bar = MachineReport(state: .idle, queue: 0, jobs: [job], ready: [])
      try await scene.kiosk("machine/bar", bar.payload)
      #expect(
        try await scene.get("/kiosks/k1").text.contains(
          "<a class=\"chip bad\" href=\"#decisions\">captured, and perhaps not made</a>"))
    }
  }

  /// A customer does not know the number of the charge.
  @Test(arguments: [
    ("42", true), ("%2342", true), ("1234", true), ("0012", true), ("12", true), ("3.50", true),
    ("€3,50", true), ("3.5", true), ("17:40", true), ("2026-11-21+17:28", true), ("42+3.50", true),
    ("\(charge)", true), ("9", false), ("18:20", false), ("2026-11-22", false), ("42+3.51", false),
    // The words of the pages: `영수증 0012`, `42번` and `girocard · ····1234`.
    ("receipt+0012", true), ("Ticket:+42", true), ("charge+\(charge)", true),
    ("%EC%98%81%EC%88%98%EC%A6%9D+0012", true), ("42%EB%B2%88", true),
    ("girocard+%C2%B7+%C2%B7%C2%B7%C2%B7%C2%B71234", true), ("receipt", false),
    ("receipt+9", false), ("visa+1234", false), ("%EB%B2%88", false),
    ("", false), ("x", false), ("99:99", false), ("%3Cb%3E", false),
  ])
  func aChargeIsFoundByWhatACustomerKnows(query: String, isFound: Bool) async throws {
    // The kiosk does not answer: the charges that it has published are searched.
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, PaymentReport(state: .idle))
      let sales = SalesReport(
        at: scene.now, timeZone: "Asia/Seoul", today: CivilDate(daysSinceEpoch: 20_778))
      try await scene.kiosk("sales", sales.payload)
      try await Self.receive(
        scene, .captured, seq: 6, at: Timestamp("2026-11-21T08:28:00Z"))
      let end = JobEnd(
        job: 3, machine: "bar", order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 42))
      let failed = LedgerEntry(
        seq: 7, epoch: 1, at: scene.now, source: nil, id: nil,
        outcome: .failed(end, reason: "no_fruit", changes: [:]))
      try await scene.kiosk("events", failed.payload, retain: false)
      let page = try await scene.get("/kiosks/k1?charge=\(query.replacing("€", with: "%E2%82%AC"))")
        .text
      #expect(page.contains("Charges that match") == isFound)
      #expect(page.contains("None of the latest 1 charge matches") != isFound || query.isEmpty)
      #expect(
        page.contains("a day such as Nov 21 or 2026-11-21, a time such as 18:28")
          == (!isFound && !query.isEmpty))
      #expect(
        page.contains("said to the customer: not made, the machine has run out of the fruit"))
      #expect(page.contains("older charges are not searched"))
      // The link to all charges is a search without words.
      #expect(page.contains("href=\"/kiosks/k1?charge=\""))
      #expect(page.contains("The latest charges:") == query.isEmpty)
      #expect(page.contains("The latest charges that the dashboard has received since"))
      #expect(!page.contains("<b>\u{201D}"))
    }
  }

  /// The charge is at 23:58 in Seoul.
  @Test(arguments: [
    ("00:05", true), ("23:50", true), ("00:30", false), ("2026-11-22 00:05", true),
    ("2026-11-21 23:50", true), ("2026-11-21 00:05", false), ("2026-11-22 23:58", false),
    ("2026-11-21", true), ("2026-11-22", false), ("0001-01-01 00:05", false),
    // As the pages write it.
    ("Nov 21", true), ("nov 21 23:50", true), ("Nov 22", false), ("11월 21일", true),
    ("11월21일", true), ("11월 22일", false), ("42 Nov 21", false),
  ])
  func aChargeNearMidnightIsFoundByItsTime(query: String, isFound: Bool) throws {
    let step = PaymentStep(
      .captured, charge: Self.charge, device: "till", job: 3, order: nil, ticket: nil)
    let entry = LedgerEntry(
      seq: 6, epoch: 1, at: try #require(Timestamp("2026-11-21T14:58:00Z")), source: nil, id: nil,
      outcome: .payment(step), amount: Self.amount)
    let charge = try #require(ListedCharge.charges(in: [entry]).first)
    let search = ChargeSearch(query, LocalTime("Asia/Seoul", now: Scene.time, .english))
    #expect(search.matches(charge) == isFound)
  }

  /// The receipt of a charge is with its hold, and the charges are on several pages.
  @Test func aChargeIsFoundInTheWholeLedger() async throws {
    func entry(_ kind: PaymentStep.Kind, _ charge: Int, last4: String? = nil) -> LedgerEntry {
      let step = PaymentStep(
        kind, charge: charge, device: "till", job: nil, order: Order(juice: "kiwi"),
        ticket: Ticket(day: 0, number: charge % 100), receipt: Receipt(last4: last4),
        reason: kind == .refunded ? "sour" : nil)
      return LedgerEntry(
        seq: charge % 1_000, epoch: 1, at: Timestamp("2026-09-01T08:28:00Z") ?? Scene.time,
        source: nil, id: nil, outcome: .payment(step), amount: Self.amount)
    }
    let old = Self.charge - 5_000_000
    let pages: [(before: Int?, entries: [LedgerEntry], next: Int?)] = [
      (nil, [entry(.captured, old + 2), entry(.held, old + 2, last4: "7777")], old + 2),
      (
        old + 2,
        [
          entry(.refunded, old + 1), entry(.captured, old + 1),
          entry(.held, old + 1, last4: "4321"),
        ],
        old
      ),
      (old, [entry(.held, old - 1, last4: "4321")], nil),
    ]
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, PaymentReport(state: .idle))
      async let answer = scene.get("/kiosks/k1?charge=4321")
      for page in pages {
        let message = try await scene.nextCommand()
        #expect(message.topic == "kiosk/k1/report/dashboard")
        let request = try ChargesRequest(payload: message.payload)
        #expect(request.before == page.before)
        let result = ChargePage(id: request.id, entries: page.entries, next: page.next)
        try await scene.kiosk("report/dashboard/result", result.payload, retain: false)
      }
      let page = try await answer.text
      #expect(page.contains("Charges that match") && page.contains("charge \(old + 1)"))
      #expect(page.contains("already refunded") && page.contains("(sour)"))
      #expect(!page.contains("charge \(old + 2)"))
      // A hold without a capture is found, too.
      #expect(page.contains("charge \(old - 1)") && page.contains("held <time"))
      #expect(!page.contains("Search older charges"))
      // A day ends the search.
      async let ofDay = scene.get("/kiosks/k1?charge=2026-09-08&before=\(old + 2)")
      let request = try ChargesRequest(payload: try await scene.nextCommand().payload)
      #expect(request.before == old + 2)
      let result = ChargePage(id: request.id, entries: pages[1].entries, next: old)
      try await scene.kiosk("report/dashboard/result", result.payload, retain: false)
      let none = try await ofDay.text
      #expect(none.contains("None of the latest 1 charge matches"))
      #expect(!none.contains("Search older charges"))
    }
  }

  /// A dashboard that started after a refund has received its request in the kiosk's history, and not
  /// the refund.
  @Test func aRefundOfWhichTheDashboardKnowsTheRequestIsReadFromTheLedger() async throws {
    let (time, charge) = (Scene.time, Self.charge)
    @Sendable func entry(
      _ seq: Int, _ kind: PaymentStep.Kind, by user: String? = nil
    ) -> LedgerEntry {
      LedgerEntry(
        seq: seq, epoch: 1, at: Timestamp(milliseconds: time.milliseconds + (seq == 7 ? 9 : 0)),
        source: user.map { Source(kind: .job, name: $0) }, id: nil,
        outcome: .payment(
          PaymentStep(kind, charge: charge, device: "till", job: 3, order: nil, ticket: nil)),
        amount: kind == .refund ? nil : Self.amount)
    }
    let request = entry(6, .refund, by: "minji")
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, PaymentReport(state: .idle))
      try await scene.kiosk("history", HistoryReport(entries: [request]).payload)
      for query in ["charge=", "charge=\(charge)", "refund=\(charge)"] {
        for isDone in [true, false] {
          async let answer = scene.get("/kiosks/k1?\(query)")
          let asked = try ChargesRequest(payload: try await scene.nextCommand().payload)
          let entries = (isDone ? [entry(7, .refunded)] : []) + [request, entry(5, .captured)]
          let result = ChargePage(id: asked.id, entries: entries, next: nil)
          try await scene.kiosk("report/dashboard/result", result.payload, retain: false)
          let page = try await answer.text
          #expect(page.contains("already refunded <time") == isDone, "\(query)")
          #expect(page.contains("refund requested <time") != isDone, "\(query)")
        }
      }
    }
  }

  /// Complaints are mostly about these: the customer has no juice, and no money was taken.
  @Test func aChargeWithoutACaptureIsFound() async throws {
    let ticket = Ticket(day: 20_778, number: 21)
    let order = Order(juice: "mango")
    let (time, charge) = (Scene.time, Self.charge)
    @Sendable func entry(_ seq: Int, _ outcome: LedgerEntry.Outcome) -> LedgerEntry {
      LedgerEntry(
        seq: seq, epoch: 1, at: time, source: nil, id: nil, outcome: outcome, amount: Self.amount)
    }
    let released = PaymentStep(
      .released, charge: charge, device: "till", job: 3, order: order, ticket: ticket)
    let ends = [3, 8].map { job in
      JobEnd(job: job, machine: job == 3 ? "bar" : nil, order: order, ticket: ticket)
    }
    let entries = [
      entry(
        8, .awaitingPayment(order, used: [:], ticket: ticket, charge: charge + 1, device: "till")),
      entry(9, .returned(ends[1], reason: "declined", changes: [:])),
      entry(5, .payment(released)),
      entry(3, .awaitingPayment(order, used: [:], ticket: ticket, charge: charge, device: "till")),
      entry(4, .failed(ends[0], reason: "no_fruit", changes: [:])),
    ]
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, PaymentReport(state: .idle))
      func ask(_ query: String, _ entries: [LedgerEntry]) async throws -> String {
        async let answer = scene.get("/kiosks/k1?\(query)")
        let request = try ChargesRequest(payload: try await scene.nextCommand().payload)
        let page = ChargePage(id: request.id, entries: entries, next: nil)
        try await scene.kiosk("report/dashboard/result", page.payload, retain: false)
        return try await answer.text
      }
      let page = try await ask("charge=21", entries)
      let name = "Mango juice · €3.50 · not made: "
      #expect(page.contains("\(name)the machine has run out of the fruit · released <time"))
      #expect(page.contains("</time>, nothing charged"))
      #expect(page.contains("\(name)the payment was declined · nothing charged"))
      #expect(!page.contains("?refund="))
      // There is no question about a refund of what was not taken, or does not exist.
      let refused = try await ask("refund=\(charge)", entries)
      #expect(refused.contains("Charge \(charge): \(name)") && !refused.contains("Refund now"))
      let unknown = try await ask("refund=\(charge + 9)", entries)
      #expect(unknown.contains("Charge \(charge + 9): the kiosk has no such charge."))
      #expect(!unknown.contains("Refund now"))
      // A charge that is no longer among the latest has its facts in the question.
      let captured = PaymentStep(
        .captured, charge: charge, device: "till", job: 3, order: order, ticket: ticket)
      let question = try await ask("refund=\(charge)", [entry(5, .payment(captured))])
      #expect(question.contains("Refund charge \(charge) (ticket 21 · Mango juice · €3.50)?"))
    }
  }

  /// Each of the buttons says what it does.
  @Test func theButtonsOfAnUnknownPaymentAreExplained() async throws {
    try await Scene.run { scene in
      let charge = Self.undecided(.capture, [.capture, .captured, .released], at: scene.now)
      try await Self.publish(scene, PaymentReport(state: .idle, charges: [charge]))
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("<dt>Capture it</dt><dd>Asks the terminal to take the money"))
      #expect(!page.contains("<dt>Write off</dt>"))
    }
  }

  @Test func aRefundHasItsReason() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let form =
        "csrf_token=\(scene.csrfToken)&id=d1&decision=refund.\(Self.charge)&word=sour+%3Cb%3E"
      async let answer = scene.post("/kiosks/k1/charge", form)
      let request = try await scene.nextRequest(.job)
      #expect(
        request.command
          == .charge(ChargeDecision(charge: Self.charge, choice: .refund, word: "sour <b>")))
      try await scene.answer(CommandResult(status: .applied), to: request)
      _ = try await answer
      let step = PaymentStep(
        .refund, charge: Self.charge, device: "till", job: 3, order: nil, ticket: nil,
        reason: "sour <b>")
      let entry = LedgerEntry(
        seq: 9, epoch: 1, at: scene.now, source: Source(kind: .job, name: "minji"), id: nil,
        outcome: .payment(step), amount: Self.amount)
      try await scene.kiosk("events", entry.payload, retain: false)
      #expect(
        try await scene.get("/kiosks/k1").text.contains("refund requested · sour &lt;b&gt;"))
    }
  }

  /// The sum of the terminal counts before that of the device.
  @Test(
    arguments: [
      (0, nil, "kiosk €120.00 <span class=\"chip good\">equal"),
      (-50, nil, "kiosk €120.50 <span class=\"chip bad\">difference −€0.50"),
      (-50, 12_000, "kiosk €120.50 <span class=\"chip bad\">difference −€0.50"),
      (nil, nil, "<span class=\"muted\">not compared"),
    ] as [(Int?, Int?, String)])
  func theTotalOfTheDayIsBesideThatOfTheTerminal(
    difference: Int?, terminalNet: Int?, words: String
  ) async throws {
    let isBad = difference ?? 0 != 0
    try await Scene.run { scene in
      try await scene.authenticate("vera")
      try await Self.publish(scene, PaymentReport(state: .idle))
      let total = PaymentTotal(
        total: 7, at: scene.now, captured: Money(units: terminalNet == nil ? 12_350 : 350, .euro),
        refunded: Money(units: 350, .euro), count: 36, terminalNet: terminalNet)
      let entry = LedgerEntry(
        seq: 9, epoch: 1, at: scene.now, source: nil, id: nil,
        outcome: .total(total, device: "till", difference: difference))
      try await scene.kiosk("history", HistoryReport(entries: [entry]).payload)
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("terminal €120.00, \(words)"))
      #expect(try await scene.get("/").text.contains("End of day of till differs −€0.50") == isBad)
    }
  }

  @Test func theCustomerSeesWhatToPayAndWhyNot() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(
        scene, PaymentReport(state: .waiting, ticket: 42, amount: Self.amount, paySeconds: 45))
      let asked = try await scene.get("/kiosks/k1/display").text
      #expect(
        asked.contains("<b class=\"ticket\">42</b><span class=\"amount\">€3.50</span>"))
      #expect(asked.contains("<span data-left=\"45\">0:45</span> left"))
      #expect(asked.contains("<progress max=\"45\" value=\"45\""))
      try await Self.publish(
        scene, PaymentReport(state: .idle, ticket: 42, declined: "card expired"))
      #expect(try await scene.get("/kiosks/k1/display").text.contains("declined: card expired"))
      scene.cookieJar[SessionMiddleware.languageCookie] = "ko"
      let korean = try await scene.get("/kiosks/k1/display").text
      #expect(korean.contains("유효 기간이 지난 카드"))
    }
  }

  @Test func aVirtualOrderIsToBePaid() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/panel", "csrf_token=\(scene.csrfToken)&id=p1&juice=kiwi")
      _ = try await scene.nextCommand()
      var result = CommandResult(status: .awaitingPayment)
      (result.id, result.seq, result.ticket, result.juice) = ("p1", 142, 42, "kiwi")
      result.amount = Self.amount
      try await scene.kiosk("order/virtual/result", result.payload, retain: false)
      let page = try await answer.text
      #expect(page.contains("id=\"order-142\"") && page.contains("€3.50 at the terminal, please."))
      let end = JobEnd(
        job: 142, machine: nil, order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 42))
      let entry = LedgerEntry(
        seq: 150, epoch: 0, at: scene.now, source: Source.virtualPanel, id: nil,
        outcome: .returned(end, reason: "declined", changes: [:]))
      try await Self.publish(
        scene, PaymentReport(state: .idle, ticket: 42, declined: "card expired"))
      try await scene.kiosk("events", entry.payload, retain: false)
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let part = try #require(kiosk.progress.first { $0.job == 142 })
        .part(LocalizedName(fallback: "Kiwi juice"), .english, isForCustomer: false).html.text
      #expect(part.contains("The payment was declined: card expired. Nothing was charged."))
    }
  }

  /// A juice without a price can be had without a device.
  @Test func aJuiceThatNobodyCanPayForIsNotOffered() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let menu = try Menu(
        fruits: Menu.standard.fruits,
        juices: Menu.standard.juices.map {
          Juice(
            id: $0.id, name: $0.name, recipe: $0.recipe, price: $0.id == "kiwi" ? Self.amount : nil)
        })
      try await scene.kiosk(
        "menu", MenuReport(menu: menu, capacities: [:], lowMarks: [:]).payload)
      try await Self.publish(scene, PaymentReport(state: .off, reason: "no paper"))
      for path in ["/kiosks/k1/panel", "/kiosks/k1/display"] {
        let page = try await scene.get(path).text
        #expect(page.components(separatedBy: "card terminal out of order").count == 2, "\(path)")
      }
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("till: out of order") && page.contains("no paper"))
      #expect(page.contains("Kiwi juice (card terminal out of order)"))
    }
  }

  @Test func whatAPaymentDeviceSaysIsNeverMarkup() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let evil = "<img src=x onerror=alert(1)>\"'"
      let charge = Self.undecided(.release, job: nil, reason: evil, [.released], at: scene.now)
      try await Self.publish(
        scene, PaymentReport(state: .off, reason: evil, declined: evil, charges: [charge]))
      for path in ["/", "/kiosks/k1", "/kiosks/k1/display"] {
        #expect(try await !scene.get(path).text.contains("<img src=x"), "\(path)")
      }
      #expect(try await scene.get("/kiosks/k1").text.contains("&lt;img src=x"))
    }
  }
}
