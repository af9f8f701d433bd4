import JuiceDomain
import KioskProtocol
import Testing

@Suite struct LedgerEntryTests {
  private static let order = Order(juice: "strawberry_banana", quantity: 2)

  @Test(
    arguments: [
      (
        .opened(["kiwi": 10, "mango": 0]), #""status":"opened","changes":{"kiwi":10,"mango":0}"#,
        ["kiwi": 10, "mango": 0]
      ),
      (
        .ready(
          order, used: ["strawberry": 20, "banana": 2], ticket: 42),
        #""status":"ready","ticket":42,"juice":"strawberry_banana","quantity":2,"#
          + #""changes":{"banana":-2,"strawberry":-20}"#,
        ["strawberry": -20, "banana": -2]
      ),
      (
        .outOfStock(order, missing: ["strawberry": 6]),
        #""status":"out_of_stock","juice":"strawberry_banana","quantity":2,"missing":{"strawberry":6}"#,
        [:]
      ),
      (
        .restocked(changes: ["kiwi": -1]), #""status":"restocked","changes":{"kiwi":-1}"#,
        ["kiwi": -1]
      ),
      (.restocked(changes: [:]), #""status":"restocked""#, [:]),
      (.service(.open), #""status":"open""#, [:]),
      (.service(.closed), #""status":"closed""#, [:]),
      (
        .rejected(.stale, order: order),
        #""status":"rejected","reason":"stale","juice":"strawberry_banana","quantity":2"#, [:]
      ),
      (.rejected(.conflict, order: nil), #""status":"rejected","reason":"conflict""#, [:]),
    ] as [(LedgerEntry.Outcome, String, FruitAmounts)])
  func anEntryTellsWhatWasDecided(
    outcome: LedgerEntry.Outcome, members: String, changes: FruitAmounts
  ) {
    let entry = LedgerEntry(
      seq: 7, epoch: 12, at: Timestamp(milliseconds: 1_795_251_600_000),
      source: Source(kind: .order, name: "panel1"), id: "a1", outcome: outcome)
    #expect(
      String(decoding: entry.payload, as: UTF8.self)
        == #"{"seq":7,"epoch":12,"at":"2026-11-21T09:00:00Z","source":"order/panel1","id":"a1","#
        + members + "}")
    #expect(entry.changes == changes)
  }

  @Test func anEntryTellsWhatItWasSoldFor() throws {
    let ticket = 42
    let entry = LedgerEntry(
      seq: 7, epoch: 0, at: Timestamp(milliseconds: 1_795_251_600_000), source: nil, id: nil,
      outcome: .ready(Self.order, used: ["banana": 2], ticket: ticket),
      amount: Money(units: 3500, try #require(Currency("KRW"))))
    #expect(
      String(decoding: entry.payload, as: UTF8.self).hasSuffix(
        #""quantity":2,"amount":"3500","currency":"KRW","changes":{"banana":-2}}"#))
    #expect(try LedgerEntry(payload: entry.payload) == entry)
  }

  private static let end = JobEnd(job: 3, machine: "bar", order: order, ticket: 42)
  private static let sum = Money(units: 350, .euro)

  /// An outcome of each status.
  private static let outcomes: [LedgerEntry.Outcome] =
    [
      .opened(["kiwi": 10]), .restocked(changes: ["kiwi": -1]), .restocked(changes: [:]),
      .ready(order, used: ["strawberry": 20], ticket: 42),
      .outOfStock(order, missing: ["strawberry": 6]), .service(.open), .service(.closed),
      .rejected(.stale, order: Order(juice: "kiwi", quantity: .min)),
      .rejected(.conflict, order: nil),
      .accepted(order, used: ["kiwi": 3], ticket: 1, machine: "bar", place: 2),
      .awaitingPayment(order, used: [:], ticket: 1, charge: 17, device: "card"),
      .made(end), .made(JobEnd(job: 3, machine: nil, order: order, ticket: 42)),
      .failed(end, reason: " ", changes: ["kiwi": 4]),
      .returned(end, reason: "unpaid", changes: [:]),
      .decided(.poured, job: 3, used: [:]), .decided(.again, job: 3, used: ["kiwi": 2]),
      .decided(.giveBack, job: 3, used: [:]), .expired(changes: ["kiwi": -3]),
      .removed(Removal(stock: ["kiwi": 1], expired: ["mango": 2], reason: .givenAway)),
      .total(
        PaymentTotal(
          total: 3, at: Timestamp(milliseconds: 7), captured: sum, refunded: sum, count: 2,
          terminalNet: -1), device: "card", difference: -50),
      .total(
        PaymentTotal(
          total: 3, at: Timestamp(milliseconds: 7), captured: sum, refunded: sum, count: 2),
        device: "card", difference: nil),
      .program(
        ProgramStep(
          .requested, ProgramID(machine: "bar", program: .rinse), reason: "idle",
          changes: ["kiwi": -1])),
      .program(ProgramStep(.done, ProgramID(machine: "bar", program: .rinse), job: 5)),
      .program(ProgramStep(.due, ProgramID(machine: "bar", program: .clean), reason: "hours")),
      .program(
        ProgramStep(
          .failed, ProgramID(machine: "bar", program: .prime), job: 5, reason: "jam",
          changes: ["kiwi": 1])),
    ]
    + PaymentStep.Kind.allCases.map {
      .payment(
        PaymentStep(
          $0, charge: 17, device: "card", job: 2, order: order, ticket: 42, machine: "bar",
          place: 1, receipt: Receipt(receipt: "7", trace: "8", card: "Visa", last4: "1234"),
          reason: "declined"))
    }
    + [.payment(PaymentStep(.held, charge: 17, device: "card", job: nil, order: nil, ticket: nil))]
    + SensorStep.Kind.allCases.map { kind in
      let hour = SafetyDay.Hour(
        at: Timestamp(milliseconds: 7_200_000), low: -500, high: 7501, secondsOutside: 60,
        secondsMeasured: 3600)
      var step = SensorStep(
        kind, of: "fridge", value: -1500, unit: .celsius, fruits: ["kiwi"], machines: ["bar"],
        word: "문이 열림", changes: ["kiwi": -3], minimum: 0, maximum: 7500,
        hour: kind == .hour ? hour : nil)
      if kind == .gap { (step.gap, step.isGapInDoubt) = (90, true) }
      return .sensor(step)
    }

  private static func entry(_ outcome: LedgerEntry.Outcome) -> LedgerEntry {
    LedgerEntry(
      seq: 7, epoch: 9_007_199_254_740_991, at: Timestamp(milliseconds: 1_795_251_600_007),
      source: Source(kind: .restock, name: "운영자"), id: "a1", outcome: outcome)
  }

  @Test(arguments: outcomes)
  func anEntryIsReadAsItIsWritten(outcome: LedgerEntry.Outcome) throws {
    var entry = Self.entry(outcome)
    entry.batches = [
      BatchChange(BatchID(fruit: "kiwi", number: 3), -1),
      BatchChange(
        BatchID(fruit: "mango", number: 7), 2, expires: Timestamp(milliseconds: 9_000_000)),
    ]
    #expect(try LedgerEntry(payload: entry.payload) == entry)
    #expect(try entry.encoded() == entry.payload)
  }

  @Test func eachStatusIsRead() {
    #expect(Set(Self.outcomes.map { Self.entry($0).status }) == Set(LedgerEntry.Status.allCases))
  }

  /// The ledger stores no entry that a reader does not accept.
  @Test(
    arguments: [
      (.outOfStock(Order(juice: "kiwi", quantity: 0), missing: [:]), nil),
      (.ready(order, used: [:], ticket: 0), nil),
      (.accepted(order, used: [:], ticket: 1, machine: "bar", place: 0), nil),
      (.awaitingPayment(order, used: [:], ticket: 1, charge: 0, device: "card"), nil),
      (.made(JobEnd(job: 3, machine: nil, order: order, ticket: -1)), sum),
      (.outOfStock(order, missing: ["banana": 1]), sum), (.restocked(changes: [:]), sum),
      (.service(.open), sum), (.rejected(.closed, order: order), sum),
      (.decided(.poured, job: 1, used: [:]), sum),
      (.returned(end, reason: "jam", changes: [:]), sum),
    ] as [(LedgerEntry.Outcome, Money?)])
  func anEntryThatBreaksARuleIsNeitherEncodedNorRead(
    outcome: LedgerEntry.Outcome, amount: Money?
  ) throws {
    let entry = LedgerEntry(
      seq: 7, epoch: 1, at: Timestamp(milliseconds: 0), source: nil, id: nil, outcome: outcome,
      amount: amount)
    #expect(throws: JSONError.self) { try entry.encoded() }
    #expect(throws: JSONError.self) { try LedgerEntry(payload: entry.payload) }
  }

  @Test(arguments: [(0, Int64(0)), (-1, 0), (1, .max), (1, -62_167_219_200_001)])
  func aNumberOrATimeThatCannotBeReadIsNotEncoded(seq: Int, milliseconds: Int64) {
    let entry = LedgerEntry(
      seq: seq, epoch: 1, at: Timestamp(milliseconds: milliseconds), source: nil, id: nil,
      outcome: .service(.open))
    #expect(throws: JSONError.self) { try entry.encoded() }
  }

  @Test(arguments: [
    "", "{}", #"{"seq":1,"at":"now","status":"open"}"#,
    #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"melted"}"#,
    #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"ready","juice":"kiwi","quantity":1}"#,
    #"{"seq":1,"at":"2026-11-21T09:00:00Z","status":"rejected","reason":"bored"}"#,
  ])
  func anythingElseIsNoEntry(payload: String) {
    #expect(throws: JSONError.self) { try LedgerEntry(payload: Array(payload.utf8)) }
  }

  @Test func theKiosksOwnEntriesHaveNoSource() {
    let entry = LedgerEntry(
      seq: 1, epoch: 0, at: Timestamp(milliseconds: 0), source: nil, id: nil,
      outcome: .opened(["kiwi": 10]))
    #expect(
      String(decoding: entry.payload, as: UTF8.self)
        == #"{"seq":1,"at":"1970-01-01T00:00:00Z","status":"opened","changes":{"kiwi":10}}"#)
  }
}
