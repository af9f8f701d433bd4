import JuiceDomain
import KioskProtocol
import Ledger
import Testing

@testable import KioskCore

/// Tests the sums that the database computes for the sales reports.
@Suite struct LedgerActivityTests {
  private let place: TemporaryLedger
  private static let quarter: Int64 = 900_000

  init() throws { place = try TemporaryLedger() }

  private func activity(
    through seq: Int, limit: Int = 100, since milliseconds: Int64 = 0
  ) throws -> KioskLedger.Activity {
    try place.open(readOnly: true)
      .activity(through: seq, limit: limit, since: Timestamp(milliseconds: milliseconds))
  }

  private func ready(
    _ seq: Int, at time: Int64, _ juice: Juice.ID, _ quantity: Int, _ used: FruitAmounts
  ) -> LedgerTransaction.Record {
    .init(
      seq,
      .ready(
        Order(juice: juice, quantity: quantity), used: used, ticket: Ticket(day: 0, number: seq)),
      at: time)
  }

  @Test func ordersAreAddedUpByQuarterJuiceAndOutcome() throws {
    try place.write(
      LedgerTransaction(
        .opened(1, ["kiwi": 50, "mango": 50]),
        ready(2, at: 0, "kiwi", 2, ["kiwi": 6]),
        ready(3, at: Self.quarter - 1, "kiwi", 1, ["kiwi": 3]),
        ready(4, at: Self.quarter, "kiwi", 1, ["kiwi": 3]),
        ready(5, at: Self.quarter, "mango_kiwi", 1, ["mango": 2, "kiwi": 1]),
        .init(
          6, .outOfStock(Order(juice: "kiwi", quantity: 9), missing: ["kiwi": 1]),
          at: Self.quarter)))
    let activity = try activity(through: 6)
    let (first, second) = (Timestamp(milliseconds: 0), Timestamp(milliseconds: Self.quarter))
    #expect(
      Set(activity.orders) == [
        .init(at: first, status: .ready, juice: "kiwi", count: 2, glasses: 3),
        .init(at: second, status: .ready, juice: "kiwi", count: 1, glasses: 1),
        .init(at: second, status: .ready, juice: "mango_kiwi", count: 1, glasses: 1),
        .init(at: second, status: .outOfStock, juice: "kiwi", count: 1, glasses: 0),
      ])
    #expect(
      Set(activity.used) == [
        .init(at: first, fruit: "kiwi", amount: 9), .init(at: second, fruit: "kiwi", amount: 4),
        .init(at: second, fruit: "mango", amount: 2),
      ])
    #expect(activity.span == first...second)
    #expect(activity.before == 0)
  }

  @Test func onlyRejectedOrdersCountAndNoNumberTheyAskedFor() throws {
    let desk = Source(kind: .restock, name: "order")
    func rejected(
      _ seq: Int, _ order: Order?, by source: Source = panel
    ) -> LedgerTransaction.Record {
      .init(seq, .rejected(.quantityOutOfRange, order: order), source: source)
    }
    try place.write(
      LedgerTransaction(
        rejected(1, Order(juice: "kiwi", quantity: .max)),
        rejected(2, Order(juice: "kiwi", quantity: .max)), rejected(3, nil),
        rejected(4, nil, by: desk), .init(5, .service(.open))))
    let at = Timestamp(milliseconds: 0)
    #expect(
      try Set(activity(through: 5).orders) == [
        .init(at: at, status: .rejected, juice: "kiwi", count: 2, glasses: 0),
        .init(at: at, status: .rejected, juice: nil, count: 1, glasses: 0),
      ])
  }

  @Test func restocksAreToldTheLatestFirst() throws {
    let restocked = LedgerEntry.Outcome.restocked(changes: ["banana": 1])
    let decided = LedgerEntry.Outcome.decided(.poured, job: 3, used: [:])
    let sum = Money(units: 350, .euro)
    let total = LedgerEntry.Outcome.total(
      PaymentTotal(
        total: 1, at: Timestamp(milliseconds: 0), captured: sum, refunded: Money(units: 0, .euro),
        count: 1), device: "terminal", difference: 50)
    try place.write(
      LedgerTransaction(
        .opened(1, ["banana": 50]), .init(2, restocked), .banana(3, ticket: 1),
        .init(4, .service(.closed)), .init(5, .service(.open)), .init(6, decided),
        .init(7, total), .init(8, restocked)))
    let page = try activity(through: 7)
    #expect(page.services.map(\.seq) == [7, 6, 5, 4, 2])
    #expect(
      page.services.map(\.outcome) == [
        total, decided, .service(.open), .service(.closed), restocked,
      ])
  }

  /// The order of a charge has batches, but no receipt.
  @Test func aChargeHasTheReceiptOfItsStep() throws {
    let order = Order(juice: "kiwi", quantity: 1)
    let ticket = Ticket(day: 0, number: 1)
    let receipt = Receipt(receipt: "42", trace: "7", last4: "1234")
    let price = Money(units: 350, .euro)
    var transaction = LedgerTransaction(
      .opened(1, ["kiwi": 50]),
      .init(
        2, .awaitingPayment(order, used: ["kiwi": 3], ticket: ticket, charge: 17, device: "card"),
        amount: price),
      .init(
        3,
        .payment(
          PaymentStep(
            .held, charge: 17, device: "card", job: 2, order: order, ticket: ticket,
            receipt: receipt)), amount: price),
      .init(
        4,
        .payment(
          PaymentStep(.captured, charge: 17, device: "card", job: 2, order: order, ticket: ticket)),
        amount: price))
    let batch = BatchID(fruit: "kiwi", number: 1)
    transaction.setBatches([
      [BatchChange(batch, 50, expires: Timestamp(milliseconds: 7))], [BatchChange(batch, -3)], [],
      [],
    ])
    try place.write(transaction)
    let charges = try place.open().charges(since: Timestamp(milliseconds: 0))
    #expect(charges.map(\.receipt) == [receipt])
    #expect(charges.map(\.captured) == [350])
  }

  @Test func whatWasAddedIsAddedUpByQuarterAndFruit() throws {
    try place.write(
      LedgerTransaction(
        .opened(1, ["banana": 5, "kiwi": 50]), .init(2, .restocked(changes: ["kiwi": -9]), at: 1),
        .banana(3, ticket: 1), .init(4, .restocked(changes: ["kiwi": 7]), at: Self.quarter)))
    let (first, second) = (Timestamp(milliseconds: 0), Timestamp(milliseconds: Self.quarter))
    #expect(
      try Set(activity(through: 4).added) == [
        .init(at: first, fruit: "banana", amount: 5), .init(at: first, fruit: "kiwi", amount: 41),
        .init(at: second, fruit: "kiwi", amount: 7),
      ])
  }

  @Test func openingsAndClosingsAreToldTheLatestFirst() throws {
    try place.write(
      LedgerTransaction(
        .opened(1, ["banana": 5]), .init(2, .service(.closed), at: 1),
        .init(3, .restocked(changes: ["banana": 1]), at: 2), .init(4, .service(.open), at: 3)))
    #expect(
      try activity(through: 4).switches == [
        .init(at: Timestamp(milliseconds: 3), state: .open),
        .init(at: Timestamp(milliseconds: 1), state: .closed),
      ])
  }

  @Test func aPageHasNoMoreThanItsEntries() throws {
    try place.write(
      LedgerTransaction(
        .opened(1, ["banana": 50]), .banana(2, ticket: 1), .banana(3, ticket: 2),
        .banana(4, ticket: 3), .banana(5, ticket: 4)))
    let page = try activity(through: 4, limit: 2)
    #expect(page.orders.map(\.glasses) == [2])
    #expect(page.used.map(\.amount) == [4])
    #expect(page.before == 2)
  }

  /// The clock was two hours ahead until entry 3, and an hour behind between entries 3 and 4. Entry
  /// 1 is of an earlier process.
  @Test func entriesBeforeTheClockWasSetCountAtTheirRightTime() throws {
    let hour = 4 * Self.quarter
    var transaction = LedgerTransaction(
      .opened(1, ["kiwi": 50]), .init(2, .service(.closed), at: 7 * hour),
      ready(3, at: 7 * hour, "kiwi", 1, ["kiwi": 3]),
      ready(4, at: 6 * hour, "kiwi", 2, ["kiwi": 6]),
      ready(5, at: 7 * hour, "kiwi", 3, ["kiwi": 9]))
    for step in [-2 * hour, -3 * hour] {
      // The second one replaces the first one: it contains it.
      transaction.clockStep = ClockStep(entries: 2...3, milliseconds: step)
      try place.write(transaction)
      transaction = LedgerTransaction()
    }
    transaction.clockStep = ClockStep(entries: 2...4, milliseconds: hour)
    try place.write(transaction)
    var (seq, pages) = (5, [KioskLedger.Activity]())
    while seq > 0 {
      let page = try activity(through: seq, since: hour)
      pages.append(page)
      seq = page.before
    }
    #expect(pages.map(\.before) == [4, 3, 1, 0])
    #expect(pages.map(\.isWhole) == [false, false, false, true])
    let times = pages.map { $0.orders.map { $0.at.milliseconds / hour } }
    #expect(times == [[7], [7], [5], []])
    #expect(pages.map(\.used.count) == [1, 1, 1, 0])
    #expect(pages[2].switches.map(\.at) == [Timestamp(milliseconds: 5 * hour)])
    #expect(pages[2].span?.upperBound == Timestamp(milliseconds: 5 * hour))
  }

  @Test func theLastHundredStepsAreKept() throws {
    try place.write(LedgerTransaction(.opened(1, ["kiwi": 1])))
    for seq in 2...103 {
      var transaction = LedgerTransaction(.init(seq, .service(.open)))
      transaction.clockStep = ClockStep(entries: 1...seq, milliseconds: 1)
      try place.write(transaction)
    }
    #expect(try activity(through: 2).span?.upperBound == Timestamp(milliseconds: 100))
    #expect(try activity(through: 103).span?.upperBound == Timestamp(milliseconds: 1))
  }

  @Test func whatIsTooOldIsLeftOut() throws {
    try place.write(
      LedgerTransaction(
        .opened(1, ["kiwi": 50]), ready(2, at: 999, "kiwi", 1, ["kiwi": 3]),
        ready(3, at: 1000, "kiwi", 1, ["kiwi": 3]), ready(4, at: 2000, "kiwi", 1, ["kiwi": 3])))
    let recent = try activity(through: 4, since: 1000)
    #expect(recent.orders.map(\.glasses) == [2])
    #expect(recent.used.map(\.amount) == [6])
    #expect(recent.span == Timestamp(milliseconds: 1000)...Timestamp(milliseconds: 2000))
    #expect(try activity(through: 4, since: 2001) == KioskLedger.Activity(before: 0))
  }
}
