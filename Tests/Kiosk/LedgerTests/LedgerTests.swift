import GRDB
import JuiceDomain
import KioskProtocol
import Testing

@testable import KioskCore
@testable import Ledger

@Suite struct LedgerTests {
  private let place: TemporaryLedger

  init() throws { place = try TemporaryLedger() }

  @Test func aNewLedgerIsEmptyAndOpen() throws {
    let ledger = try place.open()
    var expected = LedgerState()
    expected.epoch = try ledger.state().epoch
    #expect(try ledger.state() == expected)
    #expect(try ledger.state().service == .open)
    #expect(try ledger.rows(after: 0).isEmpty)
    #expect(try ledger.verify() == 0)
    #expect(ledger.lastHeartbeat == nil)
  }

  @Test func eachCommitIsOnTheDiskBeforeItReturns() throws {
    let ledger = try place.open()
    let (journal, synchronous, foreignKeys) = try ledger.database.read { database in
      (
        try String.fetchOne(database, sql: "PRAGMA journal_mode"),
        try Int.fetchOne(database, sql: "PRAGMA synchronous"),
        try Int.fetchOne(database, sql: "PRAGMA foreign_keys")
      )
    }
    #expect(journal == "wal")
    #expect(synchronous == 2)
    #expect(foreignKeys == 1)
  }

  @Test func itsSizeIsWholePages() throws {
    let ledger = try place.open()
    #expect(try ledger.size > 0 && ledger.size.isMultiple(of: 4096))
  }

  @Test func marksAreKeptAndReplaced() throws {
    var transaction = LedgerTransaction(.opened(1, ["banana": 10]))
    let remote = RecentCounters("6").adding("7", at: Timestamp(milliseconds: 1_234))
    transaction.set(RecentCounters("4"), of: "hall/0")
    transaction.set(remote.adding("8", at: Timestamp(milliseconds: 5)), of: "hall/1")
    try place.write(transaction)
    transaction = LedgerTransaction()
    transaction.set(RecentCounters("5"), of: "hall/0")
    try place.write(transaction)
    let marks = try place.open().state().marks
    #expect(
      marks == [
        "hall/0": RecentCounters("5"), "hall/1": remote.adding("8", at: Timestamp(milliseconds: 5)),
      ])
  }

  @Test func recordsOfTheStateAreReplacedAndRemoved() throws {
    var transaction = LedgerTransaction()
    transaction.set(StockAlert.low, of: "kiwi")
    transaction.set(StockAlert.low, of: "mango")
    try place.write(transaction)
    #expect(try place.open().state().alerts == ["kiwi": .low, "mango": .low])
    transaction.set(StockAlert.out, of: "kiwi")
    transaction.set(StockAlert?.none, of: "mango")
    try place.write(transaction)
    #expect(try place.open().state().alerts == ["kiwi": .out])
    try place.tamper("UPDATE state SET value = '{}'")
    let error = LedgerError.unreadableState(kind: "alert", key: "kiwi")
    #expect(throws: error) { try place.open().state() }
    #expect(throws: error) { try place.open().verify() }
  }

  @Test func whatWasCommittedIsThereAfterReopening() throws {
    var transaction = LedgerTransaction(
      .opened(1, ["banana": 10, "kiwi": 0]), .banana(2, ticket: 1),
      .init(3, .restocked(changes: ["kiwi": 5, "banana": -1])), .init(4, .service(.closed)))
    transaction.confirmed = 3
    transaction.service = .closed
    try place.write(transaction)

    var expected = LedgerState()
    expected.seq = 4
    expected.stock = ["banana": 7, "kiwi": 5]
    expected.service = .closed
    expected.tickets = [7: 1]
    expected.confirmed = 3
    expected.presses = transaction.records.filter { $0.row.entry.seq == 2 }.compactMap { record in
      record.row.entry.source.map {
        .init(source: $0, order: Order(juice: "banana"), at: record.row.entry.at, seq: 2)
      }
    }
    expected.epoch = try place.open().state().epoch
    #expect(try place.open().state() == expected)
    #expect(try place.open().verify() == 4)
  }

  @Test func aTransactionChangesOnlyWhatItNames() throws {
    var transaction = LedgerTransaction(.opened(1, ["banana": 10]))
    transaction.service = .closed
    transaction.confirmed = 1
    try place.write(transaction)
    try place.write(LedgerTransaction(.banana(2, ticket: 3)))
    try place.write(LedgerTransaction(.init(3, .restocked(changes: [:]))))
    let state = try place.open().state()
    #expect(state.service == .closed)
    #expect(state.tickets == [7: 3])
    #expect(state.confirmed == 1)
    #expect(state.seq == 3)
  }

  @Test(
    arguments: [
      .opened(["kiwi": 10, "mango": 0]),
      .ready(
        Order(juice: "kiwi", quantity: 2), used: ["kiwi": 6, "banana": 1],
        ticket: Ticket(day: -3, number: 42)),
      .outOfStock(Order(juice: "mango_kiwi"), missing: ["banana": 6, "durian": 1_000_000_000]),
      .restocked(changes: ["banana": -4]), .restocked(changes: [:]),
      .removed(Removal(stock: ["banana": 2], expired: ["banana": 3], reason: .givenAway)),
      .service(.open), .service(.closed),
      .rejected(.quantityOutOfRange, order: Order(juice: "kiwi", quantity: .max)),
      .rejected(.conflict, order: nil), .expired(changes: ["banana": -1]),
      .accepted(order, used: ["banana": 2], ticket: ticket, machine: "bar", place: 3),
      .made(JobEnd(job: 1, machine: "bar", order: order, ticket: ticket)),
      .failed(
        JobEnd(job: 1, machine: nil, order: order, ticket: ticket), reason: "jam",
        changes: ["banana": 1]),
      .returned(
        JobEnd(job: 1, machine: "bar", order: order, ticket: ticket), reason: "", changes: [:]),
      .decided(.again, job: 1, used: ["banana": 2]), .decided(.giveBack, job: 1, used: [:]),
      .awaitingPayment(
        order, used: ["banana": 2], ticket: ticket, charge: 9, device: "card"),
      .payment(
        PaymentStep(
          .held, charge: 9, device: "card", job: 1, order: order, ticket: ticket, machine: "bar",
          place: 1, receipt: Receipt(receipt: "7", last4: "0123"), reason: "a reason")),
      .payment(
        PaymentStep(.writtenOff, charge: 9, device: "card", job: nil, order: nil, ticket: nil)),
      .total(
        PaymentTotal(
          total: 4, at: Timestamp(milliseconds: 7), captured: Money(units: 5, .euro),
          refunded: Money(units: 0, .euro), count: 1, terminalNet: -5), device: "card",
        difference: -10),
      .program(
        ProgramStep(
          .requested, ProgramID(machine: "bar", program: .clean), reason: "hours",
          changes: ["banana": -1])),
      .program(
        ProgramStep(
          .failed, ProgramID(machine: "bar", program: .rinse), job: 1, reason: "jam",
          changes: ["banana": 1])),
      .sensor(gap(60)),
      .sensor(
        SensorStep(
          .discard, of: "fridge", value: -1500, unit: .celsius, fruits: ["banana"],
          machines: ["bar"], word: "warm", changes: ["banana": -3])),
      .sensor(SensorStep(.alarm, of: "scale", value: nil, unit: .grams)),
      .sensor(
        SensorStep(
          .hour, of: "fridge", value: nil, unit: .celsius, minimum: 0, maximum: 7500,
          hour: SafetyDay.Hour(
            at: Timestamp(milliseconds: 7_200_000), low: -500, high: 7501, secondsOutside: 60,
            secondsMeasured: 3600))),
    ] as [LedgerEntry.Outcome])
  func everyOutcomeIsReadAsItWasWritten(outcome: LedgerEntry.Outcome) throws {
    let ledger = try place.open()
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 10])))
    if case .ready = outcome { try ledger.commit(LedgerTransaction(.opened(2, ["kiwi": 10]))) }
    let seq = try ledger.state().seq + 1
    let records: [LedgerTransaction.Record] = [
      .init(seq, outcome, at: -1, source: nil),
      .init(
        seq + 1, .service(.open), at: 1_795_251_600_007,
        source: Source(kind: .service, name: "주문 1"), id: "a-1_B", message: "{}",
        reply: Reply(topic: "a/b", correlationData: [0, 255])),
    ]
    var transaction = LedgerTransaction()
    transaction.records = records
    let events = try ledger.commit(transaction)
    let page = try ledger.rows(after: seq - 1)
    #expect(page.map(\.row) == records.map(\.row))
    #expect(page.map(\.reply) == records.map(\.reply))
    #expect(page.map(\.event) == records.map(\.row.entry.payload))
    #expect(events == page.map(\.event))
    #expect(try ledger.events(after: seq - 1).map(\.event) == events)
  }

  @Test func batchesAreReadAsTheyWereWritten() throws {
    let id = BatchID(fruit: "banana", number: 1)
    var transaction = LedgerTransaction(.opened(1, ["banana": 10]), .banana(2, ticket: 1))
    transaction.records.append(.init(3, .expired(changes: ["banana": -3]), source: nil))
    transaction.setBatches([
      [BatchChange(id, 10, expires: Timestamp(milliseconds: 7))], [BatchChange(id, -2)],
      [BatchChange(id, -3)],
    ])
    let batch = Batch(
      quantity: 5, expires: Timestamp(milliseconds: 7), bestBefore: Timestamp(milliseconds: 9),
      at: Timestamp(milliseconds: 3), behind: 1)
    transaction.set(batch, of: id)
    transaction.set(ExpiredFruit(quantity: 3), of: id)
    try place.write(transaction)
    #expect(try place.open().verify() == 3)
    #expect(try place.open().rows(after: 0).map(\.row) == transaction.records.map(\.row))
    var state = try place.open().state()
    #expect(state.batches == [id: batch] && state.expired == [id: ExpiredFruit(quantity: 3)])
    var removal = LedgerTransaction(
      .init(4, .removed(Removal(expired: ["banana": 3], reason: .spoiled))))
    removal.set(Batch?.none, of: id)
    removal.set(ExpiredFruit?.none, of: id)
    try place.write(removal)
    state = try place.open().state()
    #expect(state.batches.isEmpty && state.expired.isEmpty)
    let detail = "batch 1 of banana has 0, but its entries add up to 5"
    #expect(throws: LedgerError.inconsistent(path: place.path, detail: detail)) {
      try place.open().verify()
    }
  }

  @Test(arguments: [
    (quantity(9, of: .batch), "the stock of banana is 5, but its batches add up to 9"),
    (quantity(4, of: .batch), "batch 1 of banana has 4, but its entries add up to 5"),
    (quantity(4, of: .expired), "4 of banana are expired, but the entries add up to 3"),
    (
      "DELETE FROM state WHERE kind = 'expired'",
      "0 of banana are expired, but the entries add up to 3"
    ),
  ])
  func aLedgerWithOtherBatchesThanItsEntriesIsFound(sql: String, detail: String) throws {
    let id = BatchID(fruit: "banana", number: 1)
    var transaction = LedgerTransaction(
      .opened(1, ["banana": 10]), .banana(2, ticket: 1),
      .init(3, .expired(changes: ["banana": -3]), source: nil))
    transaction.setBatches([
      [BatchChange(id, 10, expires: Timestamp(milliseconds: 7))], [BatchChange(id, -2)],
      [BatchChange(id, -3)],
    ])
    transaction.set(
      Batch(quantity: 5, expires: Timestamp(milliseconds: 7), at: Timestamp(milliseconds: 3)),
      of: id)
    transaction.set(ExpiredFruit(quantity: 3), of: id)
    try place.write(transaction)
    try place.tamper(sql)
    #expect(throws: LedgerError.inconsistent(path: place.path, detail: detail)) {
      try place.open().verify()
    }
  }

  private static func quantity(_ quantity: Int, of kind: StateKey.Kind) -> String {
    "UPDATE state SET value = json_set(value, '$.quantity', \(quantity)) WHERE kind = '\(kind)'"
  }

  private static func gap(_ seconds: Int) -> SensorStep {
    var step = SensorStep(.gap, of: "fridge", value: 4000, unit: .celsius)
    (step.gap, step.isGapInDoubt, step.outsideInGap) = (seconds, true, seconds)
    return step
  }

  private static let (order, ticket) = (Order(juice: "banana"), Ticket(day: 7, number: 1))

  @Test(arguments: [("EUR", 0), ("EUR", 350), ("KRW", 3500), ("KWD", Int.max)])
  func everyAmountIsReadAsItWasWritten(code: String, units: Int) throws {
    let amount = Money(units: units, try #require(Currency(code)))
    let end = JobEnd(job: 2, machine: "bar", order: Self.order, ticket: Self.ticket)
    let records: [LedgerTransaction.Record] = [
      .init(
        2, .accepted(Self.order, used: [:], ticket: Self.ticket, machine: "bar", place: 1),
        amount: amount),
      .init(3, .made(end), amount: amount),
      .init(4, .ready(Self.order, used: ["banana": 2], ticket: Self.ticket), amount: amount),
      .banana(5, ticket: 2),
    ]
    let ledger = try place.open()
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 10])))
    var transaction = LedgerTransaction()
    transaction.records = records
    try ledger.commit(transaction)
    let rows = try ledger.rows(after: 1).map(\.row)
    #expect(rows == records.map(\.row))
    #expect(rows.map(\.result.payload) == records.map(\.row.result.payload))
    #expect(try ledger.verify() == 5)
  }

  @Test(
    arguments: [
      .outOfStock(order, missing: ["banana": 1]), .restocked(changes: [:]), .service(.open),
      .rejected(.closed, order: order), .decided(.poured, job: 1, used: [:]),
      .returned(
        JobEnd(job: 1, machine: "bar", order: order, ticket: ticket), reason: "jam", changes: [:]),
    ] as [LedgerEntry.Outcome])
  func whatWasNotSoldHasNoAmount(outcome: LedgerEntry.Outcome) throws {
    let amount = Money(units: 350, try #require(Currency("EUR")))
    let ledger = try place.open()
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 10])))
    #expect(throws: LedgerError.self) {
      try ledger.commit(LedgerTransaction(.init(2, outcome, amount: amount)))
    }
  }

  /// The end of an order has an earlier ticket than the orders after it.
  @Test func anEndAfterTheCheckpointSetsNoTicketBack() throws {
    let ledger = try place.open()
    let tickets = (1...3).map { Ticket(day: 7, number: $0) }
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 10])))
    for (seq, ticket) in zip(2..., tickets) {
      try ledger.commit(
        LedgerTransaction(
          .init(seq, .accepted(Self.order, used: [:], ticket: ticket, machine: "bar", place: 1))))
    }
    try ledger.writing { try KioskLedger.moveCheckpoint(in: $0) }
    let end = JobEnd(job: 2, machine: "bar", order: Self.order, ticket: tickets[0])
    try ledger.commit(LedgerTransaction(.init(5, .made(end))))
    #expect(try ledger.state().tickets == [7: 3])
    try ledger.writing { try KioskLedger.moveCheckpoint(in: $0) }
    #expect(try place.open(readOnly: true).state().tickets == [7: 3])
  }

  @Test func everyReasonIsReadAsItWasWritten() throws {
    let ledger = try place.open()
    for (index, reason) in RejectionReason.allCases.enumerated() {
      try ledger.commit(LedgerTransaction(.init(index + 1, .rejected(reason, order: nil))))
    }
    let outcomes = try ledger.rows(after: 0).map(\.row.entry.outcome)
    #expect(outcomes == RejectionReason.allCases.map { .rejected($0, order: nil) })
  }

  @Test func howAnAnswerIsAskedForIsKnownUntilTheBrokerHasIt() throws {
    let (topic, data) = (Reply(topic: "a/b"), Reply(topic: nil, correlationData: []))
    try place.write(
      LedgerTransaction(
        .init(1, .service(.open), reply: topic), .init(2, .service(.open)),
        .init(3, .service(.open), reply: data)))
    #expect(try place.open().rows(after: 0).map(\.reply) == [topic, nil, data])
    var transaction = LedgerTransaction()
    transaction.confirmed = 2
    try place.write(transaction)
    #expect(try place.open().rows(after: 0).map(\.reply) == [nil, nil, data])
    let ledger = try place.open()
    for seq in 4...6 {
      transaction = LedgerTransaction(.init(seq, .service(.open), reply: topic))
      transaction.confirmed = seq - 1
      try ledger.commit(transaction)
      #expect(try place.count("reply") == 1)
    }
  }

  /// The broker confirms nothing.
  @Test func howManyAnswersAreAskedForIsBounded() throws {
    let ledger = try place.open()
    var transaction = LedgerTransaction()
    transaction.records = (1...10_050).map { .init($0, .service(.open), reply: Reply(topic: "a")) }
    try ledger.commit(transaction)
    #expect(try place.count("reply") == 10_000)
  }

  @Test func aRefusedOrderTakesLittleRoomWhateverItsProperties() throws {
    let ledger = try place.open()
    let reply = Reply(
      topic: String(repeating: "t", count: 256),
      correlationData: Array(repeating: 7, count: 256))
    func refuse(_ range: ClosedRange<Int>) throws {
      var transaction = LedgerTransaction()
      transaction.records = range.map { seq in
        let id = Request.ID("p\(1_000_000 + seq)")
        return .init(
          LedgerRow(
            LedgerEntry(
              seq: seq, epoch: 0, at: Timestamp(milliseconds: 1_795_251_600_000), source: panel,
              id: id,
              outcome: .rejected(.unknownJuice, order: Order(juice: "durian_jackfruit"))),
            stock: ["banana": 10, "kiwi": 10, "mango": 10, "pineapple": 10, "strawberry": 10],
            detail: "there is no durian_jackfruit on the menu"),
          reply: reply)
      }
      transaction.confirmed = range.lowerBound - 1
      try ledger.commit(transaction)
    }
    // The first batches allocate the space of unconfirmed replies, which later batches reuse.
    for batch in 0..<5 { try refuse(batch * 20 + 1...batch * 20 + 20) }
    let before = try ledger.size
    for batch in 5..<25 { try refuse(batch * 20 + 1...batch * 20 + 20) }
    let size = try ledger.size - before
    #expect(size / 400 < 350, "\(size) bytes for 400 refused orders")
  }

  @Test func aNumberThatSomebodyMadeUpIsOnlyInItsEntry() throws {
    let tables = [
      "stock", "checkpoint", "ticket", "kiosk", "reply", "delivery", "topic", "state", "clock",
      "last_clock",
    ]
    let ledger = try place.open()
    let before = try tables.map { try place.count($0) }
    for seq in 1...100 {
      let order = Order(juice: "kiwi", quantity: -1_000_000 * seq)
      try ledger.commit(
        LedgerTransaction(.init(seq, .rejected(.quantityOutOfRange, order: order))))
    }
    #expect(try tables.map { try place.count($0) } == before)
    let names = try ledger.database.read { database in
      try String.fetchSet(
        database,
        sql: """
          SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations'
            AND name NOT LIKE 'sqlite_%'
          """)
    }
    #expect(names == Set(tables + ["entry"]))
  }

  @Test func sensorsAreReadAsTheyWereWritten() throws {
    var record = SensorRecord(state: .blocked, unit: .celsius, since: Timestamp(milliseconds: 5))
    (record.value, record.outside, record.isDiscarded) = (-1500, .milliseconds(1234), true)
    (record.fruits, record.machines) = (["banana", "kiwi"], ["bar"])
    record.hour = SafetyDay.Hour(
      at: Timestamp(milliseconds: -3_600_000), low: -1, high: 3, secondsOutside: 5,
      secondsMeasured: 7)
    (record.elapsed, record.unread, record.isWaiting) = (.seconds(9), .seconds(3), true)
    var transaction = LedgerTransaction()
    transaction.clock = ClockRecord(
      at: Timestamp(milliseconds: -7), boot: 1 << 59, uptime: .milliseconds(8),
      elapsed: .milliseconds(6), behind: 4, doubtful: 3, isAccepted: true)
    let scale = SensorRecord(state: .ok, unit: .grams, since: Timestamp(milliseconds: -1))
    transaction.set(record, of: "fridge")
    transaction.set(scale, of: "scale")
    let ledger = try place.open()
    try ledger.commit(transaction)
    #expect(try ledger.state().sensors == ["fridge": record, "scale": scale])
    #expect(try ledger.state().clock == transaction.clock)
  }

  @Test func machinesProgramsAndDevicesAreReadAsTheyWereWritten() throws {
    let at = Timestamp(milliseconds: -7)
    let machines = [
      MachineRecord(status: .out(["banana", "kiwi"]), failures: 2),
      MachineRecord(status: .fault("paper \"jam\"")), MachineRecord(status: .offline),
    ]
    var program = ProgramRecord(
      seq: 3, at: at, elapsed: .milliseconds(-8), isDone: true,
      due: .init(seq: 4, at: at, cause: .idle, elapsed: .seconds(9)))
    (program.glasses, program.made) = (5, .milliseconds(6))
    var device = PaymentDeviceRecord(status: .online)
    (device.currency, device.captured, device.refunded) = (.euro, .max, .min)
    (device.total, device.totalAt, device.difference, device.epoch) = (4, at, -5, 1 << 52)
    var transaction = LedgerTransaction()
    for (name, machine) in zip(["a", "b", "c"], machines) { transaction.set(machine, of: name) }
    let clean = ProgramID(machine: "a", program: .clean)
    transaction.set(program, of: clean)
    transaction.set(ProgramRecord(seq: 0, at: at), of: ProgramID(machine: "a", program: .rinse))
    transaction.set(device, of: "card")
    transaction.set(PaymentDeviceRecord(status: .offline), of: "coins")
    let makers: [MachineID: Maker] = [
      "a": Maker(juices: nil), "b": Maker(juices: []), "c": Maker(juices: ["kiwi", "mango"]),
    ]
    for (name, maker) in makers { transaction.set(maker, of: name) }
    let ledger = try place.open()
    try ledger.commit(transaction)
    let state = try ledger.state()
    #expect(state.makers == makers)
    #expect(state.machines == ["a": machines[0], "b": machines[1], "c": machines[2]])
    #expect(state.programs.count == 2 && state.programs[clean] == program)
    #expect(
      state.paymentDevices == ["card": device, "coins": PaymentDeviceRecord(status: .offline)])
  }

  @Test func jobsAndChargesAreReadAsTheyWereWritten() throws {
    let terms = Job.Terms(
      juiceName: "딸바쥬스", startLimit: .milliseconds(1), finishLimit: .seconds(120),
      returnsFruit: true)
    let (order, ticket) = (Order(juice: "kiwi", quantity: 2), Ticket(day: -3, number: 42))
    let reply = Reply(topic: "a/\"b\"", correlationData: Array(0...255))
    let at = Timestamp(milliseconds: 1_795_251_600_007)
    let (euro, won) = (Money(units: 350, .euro), Money(units: .max, try #require(Currency("KRW"))))
    let jobs = [
      Job(
        seq: 9, number: 9, machine: "bar", work: .order(order, ticket), used: ["kiwi": 6],
        amount: won, source: panel, id: "a1", at: at, state: .needsDecision, reply: reply,
        terms: terms),
      Job(
        seq: 2, number: 10, machine: "arm", work: .program(.rinse), used: [:], amount: nil,
        source: nil, id: nil, at: at, state: .queued, reply: nil, terms: terms),
    ]
    let sale = Charge.Sale(
      seq: 3, order: order, ticket: ticket, used: ["kiwi": 6], source: panel, id: nil,
      reply: Reply(topic: nil, correlationData: []), juiceName: "Kiwi juice",
      payLimit: .seconds(60), needsMachine: true)
    let charges = [
      Charge(
        number: 1, device: "card", sale: nil, amount: euro, at: at, day: 7, state: .releasing),
      Charge(
        number: 20, device: "card", sale: sale, amount: won, at: at, day: -1, state: .undecided,
        goal: .capturing, held: won, captured: euro, wanted: won, reason: "a \"reason\""),
    ]
    var transaction = LedgerTransaction()
    for job in jobs { transaction.set(job, of: job.seq) }
    for charge in charges.reversed() { transaction.set(charge, of: charge.number) }
    let ledger = try place.open()
    try ledger.commit(transaction)
    #expect(try ledger.state().jobs == jobs)
    #expect(try ledger.state().charges == charges)
    transaction.set(Job?.none, of: 9)
    transaction.set(Charge?.none, of: 1)
    try ledger.commit(transaction)
    #expect(try ledger.state().jobs == [jobs[1]])
    #expect(try ledger.state().charges == [charges[1]])
  }

  @Test func theLogShowsEveryColumnOfAnEntry() throws {
    let database = try place.open().database
    let (entry, log) = try database.read {
      (Set(try $0.columns(in: "entry").map(\.name)), Set(try $0.columns(in: "log").map(\.name)))
    }
    #expect(entry.isSubset(of: log))
  }

  @Test func entriesComeInPages() throws {
    let ledger = try place.open()
    var transaction = LedgerTransaction()
    transaction.records = (1...25).map { .init($0, .service(.open)) }
    try ledger.commit(transaction)
    #expect(try ledger.rows(after: 0, limit: 10).map(\.row.entry.seq) == Array(1...10))
    #expect(try ledger.rows(after: 10, limit: 10).map(\.row.entry.seq) == Array(11...20))
    #expect(try ledger.rows(after: 20, limit: 10).map(\.row.entry.seq) == Array(21...25))
    #expect(try ledger.rows(after: 25).isEmpty)
  }

  @Test func publishedTopicsAndSubscriptionsAreRemembered() throws {
    let ledger = try place.open()
    try ledger.setTopics(["a", "b"])
    #expect(try ledger.state().topics == ["a", "b"])
    try ledger.setTopics(["b", "c"])
    #expect(try ledger.state().topics == ["b", "c"])
    try ledger.setTopics([])
    #expect(try ledger.state().topics.isEmpty)
    try ledger.setSubscriptions(["a/#", "b"])
    try ledger.setSubscriptions(["b", "c/+"])
    #expect(try ledger.state().subscriptions == ["b", "c/+"])
  }

  @Test func aReaderLooksOnWhileAKioskIsAtWork() throws {
    let ledger = try place.open()
    try ledger.commit(LedgerTransaction(.opened(1, ["banana": 10])))
    let reader = try place.open(readOnly: true)
    #expect(try reader.state().stock == ["banana": 10])
    try ledger.commit(LedgerTransaction(.banana(2, ticket: 1)))
    #expect(try reader.state().stock == ["banana": 8])
    #expect(try reader.verify() == 2)
    #expect(reader.lastHeartbeat == nil)
    #expect(throws: LedgerError.self) {
      try reader.commit(LedgerTransaction(.banana(3, ticket: 2)))
    }
    #expect(try ledger.state().seq == 2)
  }
}
