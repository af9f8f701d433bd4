import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing
import TimeZones

@testable import KioskCore

/// Fruit with a date: batches, expiry, and what people take out.
@Suite struct BatchTests {
  private let hour = Duration.seconds(3_600)

  /// Settings of a kiosk whose kiwis keep for 72 hours.
  private func settings(keeps hours: Int? = 72, machine: Bool = false) throws -> KioskSettings {
    let fruits = Menu.standard.fruits.map { fruit in
      Fruit(
        id: fruit.id, name: fruit.name, keepsHours: fruit.id == "kiwi" ? hours : nil,
        cost: fruit.id == "kiwi" ? Money("0.40", .euro) : nil)
    }
    var settings = KioskSettings.test(
      menu: try Menu(fruits: fruits, juices: Menu.standard.juices))
    if machine { settings.machines = [KioskSettings.Machine(name: "bar")] }
    return settings
  }

  /// Returns a kiosk with the initial stock, whose kiwis are batch 1.
  private func kiosk(
    keeps hours: Int? = 72, machine: Bool = false, stock: FruitAmounts? = nil
  ) throws -> TestKiosk {
    let kiosk = try TestKiosk(settings: settings(keeps: hours, machine: machine), stock: stock)
    if machine { try kiosk.receive(.message("online", on: "machine/bar/status")) }
    return kiosk
  }

  private func batches(_ decision: Decision) -> [[String]] {
    decision.transaction.records.map {
      $0.row.entry.batches.map { "\($0.id.fruit) \($0.id.number): \($0.amount)" }
    }
  }

  // MARK: First expired, first out

  @Test func whatExpiresFirstIsUsedFirst() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour)
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#))
    let decision = try kiosk.receive(.order("kiwi"), .order("kiwi"), .order("banana"))
    #expect(batches(decision) == [["kiwi 2: -3"], ["kiwi 2: -2", "kiwi 1: -1"], []])
    #expect(
      decision.events[1]
        == #"{"seq":4,"at":"2026-11-21T10:00:00Z","source":"order/p1","status":"ready","ticket":2,"#
        + #""juice":"kiwi","quantity":1,"changes":{"kiwi":-3},"#
        + #""batches":[{"fruit":"kiwi","batch":2,"amount":-2},{"fruit":"kiwi","batch":1,"amount":-1}]}"#
    )
    #expect(
      try LedgerEntry(payload: Array(decision.events[1].utf8)).batches
        == decision.transaction.records[1].row.entry.batches)
    try kiosk.restart()
    #expect(batches(try kiosk.receive(.order("kiwi"))) == [["kiwi 1: -3"]])
    try kiosk.ledger.verify()
  }

  @Test func fruitIsNotSoldInTheMillisecondInWhichItExpires() throws {
    let kiosk = try kiosk(stock: ["kiwi": 0])
    kiosk.pass(.microseconds(900))
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-21T10:00:00Z"}}"#))
    kiosk.pass(hour - .milliseconds(2))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    kiosk.pass(.microseconds(1_100))
    #expect(kiosk.now.timestamp == Timestamp("2026-11-21T10:00:00Z"))
    let decision = try kiosk.receive(.order("kiwi"))
    #expect(decision.transaction.records.map(\.row.entry.status) == [.expired, .outOfStock])
  }

  @Test func aRestockBringsABatch() throws {
    let kiosk = try kiosk()
    let decision = try kiosk.receive(.restock(#"{"add":{"kiwi":5,"mango":5}}"#))
    #expect(
      decision.events == [
        #"{"seq":2,"at":"2026-11-21T09:00:00Z","source":"restock/dashboard","status":"restocked","#
          + #""changes":{"kiwi":5,"mango":5},"#
          + #""batches":[{"fruit":"kiwi","batch":2,"amount":5,"expires":"2026-11-24T09:00:00Z"}]}"#
      ])
  }

  /// The age of fruit that was there before it got dates is not known: it counts as the oldest.
  @Test func fruitWithoutADateIsUsedFirst() throws {
    let kiosk = try kiosk(keeps: nil)
    try kiosk.reload(settings())
    try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#))
    let orders = try kiosk.receive((0..<4).map { _ in .order("kiwi") })
    #expect(batches(orders) == [[], [], [], ["kiwi 2: -2"]])
    try kiosk.ledger.verify()
  }

  @Test func aCountTakesTheOldestOrBringsABatch() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour)
    try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#))
    let less = try kiosk.receive(.restock(#"{"set":{"kiwi":4}}"#))
    #expect(batches(less) == [["kiwi 1: -10", "kiwi 2: -1"]])
    let more = try kiosk.receive(.restock(#"{"set":{"kiwi":6}}"#))
    #expect(batches(more) == [["kiwi 4: 2"]])
    #expect(batches(try kiosk.receive(.restock(#"{"set":{"kiwi":6}}"#))) == [[]])
    try kiosk.ledger.verify()
  }

  /// The restock was a mistake: the fruit that is there keeps its earlier date.
  @Test(arguments: [(-5, ["kiwi 2: -5"]), (-7, ["kiwi 2: -5", "kiwi 1: -2"])])
  func anUndoneRestockTakesItsOwnBatch(amount: Int, taken: [String]) throws {
    let kiosk = try kiosk()
    kiosk.pass(hour)
    try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#))
    let undo = try kiosk.receive(
      .restock(#"{"id":"undo-1-2","add":{"kiwi":\#(amount)}}"#), .order("kiwi"))
    #expect(batches(undo) == [taken, ["kiwi 1: -3"]])
    try kiosk.ledger.verify()
  }

  /// Fewer were brought than was typed: the fruit that is there keeps its earlier date.
  @Test(arguments: [
    ("correct-2-a", ["kiwi 2: -20", "kiwi 3: -2"]), ("correct-0-a", ["kiwi 3: -5", "kiwi 2: -17"]),
    ("r1", ["kiwi 1: -10", "kiwi 2: -12"]),
  ])
  func aCorrectedRestockTakesItsOwnBatchAndThenTheFreshest(id: String, taken: [String]) throws {
    let kiosk = try kiosk()
    for amount in [20, 5] {
      kiosk.pass(hour)
      try kiosk.receive(.restock(#"{"add":{"kiwi":\#(amount)}}"#))
    }
    let correction = try kiosk.receive(.restock(#"{"id":"\#(id)","add":{"kiwi":-22}}"#))
    #expect(batches(correction) == [taken])
    try kiosk.ledger.verify()
  }

  /// The dashboard names the date of the fruit. The fruit may be thrown away already.
  @Test(arguments: [false, true]) func whatHasExpiredIsNotUndone(isThrownAway: Bool) throws {
    let kiosk = try kiosk(keeps: nil)
    let date = #""best_before":{"kiwi":"2026-11-21T09:00:20Z"}"#
    try kiosk.receive(.restock(#"{"add":{"kiwi":5},\#(date)}"#))
    kiosk.pass(hour)
    if isThrownAway {
      try kiosk.receive(.restock(#"{"remove_expired":{"kiwi":5},"reason":"spoiled"}"#))
    } else {
      try kiosk.receive()
    }
    let undo = try kiosk.receive(.restock(#"{"id":"undo-1-2","add":{"kiwi":-5},\#(date)}"#))
    #expect(try undo.reasons == [.expired] && kiosk.stock["kiwi"] == 10)
    try kiosk.ledger.verify()
  }

  @Test func aRestockWithADateIsUndone() throws {
    let kiosk = try kiosk()
    let date = #""best_before":{"kiwi":"2026-11-22T09:00:00Z"}"#
    try kiosk.receive(.restock(#"{"add":{"kiwi":5},\#(date)}"#))
    let undo = try kiosk.receive(.restock(#"{"id":"undo-1-2","add":{"kiwi":-5},\#(date)}"#))
    #expect(batches(undo) == [["kiwi 2: -5"]] && kiosk.stock["kiwi"] == 10)
    // Again there is nothing left of the batch.
    let again = try kiosk.receive(.restock(#"{"id":"undo-2-2","add":{"kiwi":-5},\#(date)}"#))
    #expect(try again.reasons == [.expired] && kiosk.stock["kiwi"] == 10)
    try kiosk.ledger.verify()
  }

  @Test(arguments: [
    (#"{"add":{"kiwi":5},"best_before":{"kiwi":"2026-11-21T09:00:00Z"}}"#, RejectionReason.expired),
    (#"{"add":{"kiwi":5},"best_before":{"kiwi":"2006-11-21T09:00:00Z"}}"#, .expired),
    (#"{"add":{"kiwi":5},"best_before":{"kiwi":"2029-11-21T09:00:00Z"}}"#, .malformed),
    (#"{"add":{"kiwi":5},"best_before":{"mango":"2026-11-22T09:00:00Z"}}"#, .malformed),
    (#"{"set":{"kiwi":10},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#, .malformed),
    (#"{"add":{"kiwi":-5},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#, .malformed),
    (#"{"add":{"kiwi":5},"best_before":{"kiwi":"tomorrow"}}"#, .malformed),
    (#"{"add":{"kiwi":5},"best_before":{"kiwi":7}}"#, .malformed),
    (#"{"add":{"kiwi":5},"best_before":7}"#, .malformed),
    (#"{"add":{"kiwi":5},"best_before":{"a b":"2026-11-22T09:00:00Z"}}"#, .unknownFruit),
  ])
  func aDateThatMakesNoSenseIsRefused(payload: String, reason: RejectionReason) throws {
    let kiosk = try kiosk()
    #expect(try kiosk.receive(.restock(payload)).reasons == [reason])
    #expect(kiosk.stock["kiwi"] == 10)
    try kiosk.ledger.verify()
  }

  @Test(arguments: [
    ("UTC", "2026-11-22", "2026-11-23T00:00:00Z"),
    ("Asia/Seoul", "2026-11-22", "2026-11-22T15:00:00Z"),
    ("America/New_York", "2026-11-21", "2026-11-22T05:00:00Z"),
    // Sunday has 25 hours.
    ("Europe/Berlin", "2027-10-31", "2027-10-31T23:00:00Z"),
  ])
  func aDateIsTheEndOfItsDayByTheKiosksClock(zone: String, day: String, end: String) throws {
    var settings = try settings(keeps: nil)
    settings.wallClock = try #require(WallClock(zone))
    let kiosk = try TestKiosk(settings: settings, stock: ["kiwi": 0])
    let decision = try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"\#(day)"}}"#))
    let expires = try #require(Timestamp(end))
    #expect(decision.transaction.records[0].row.entry.batches[0].expires == expires)
    try kiosk.ledger.verify()
  }

  @Test(arguments: ["05.12.2026", "2026-12-05T18:00", "2026-02-30", "12/05/2026"])
  func anUnreadableDateIsAnsweredWithTheForm(date: String) throws {
    let kiosk = try kiosk()
    let decision = try kiosk.receive(
      .restock(#"{"add":{"kiwi":5},"best_before":{"kiwi":"\#(date)"}}"#))
    #expect(try decision.reasons == [.malformed])
    #expect(try decision.results[0].detail?.contains("a date such as 2026-12-05") == true)
  }

  @Test func withoutDatesNothingIsRecorded() throws {
    let kiosk = try kiosk(keeps: nil)
    let decision = try kiosk.receive(.restock(#"{"add":{"kiwi":5}}"#), .order("kiwi"))
    #expect(!decision.transaction.changes(.batch) && batches(decision) == [[], []])
    kiosk.pass(hour * 1_000)
    #expect(kiosk.core.batches.wait(at: kiosk.now) == nil)
    #expect(try kiosk.receive().transaction.isEmpty)
    let state = kiosk.core.settings.topics.state(of: kiosk.core, at: kiosk.now.timestamp)
    #expect(!state.contains { $0.topic.contains("freshness") })
    #expect(
      state.map { text($0.payload) }.last
        == #"{"seq":3,"at":"2027-01-02T01:00:00Z","fruits":{"banana":10,"kiwi":12,"mango":10,"#
        + #""pineapple":10,"strawberry":10}}"#)
  }

  // MARK: Expiry

  @Test func fruitExpiresInItsTime() throws {
    let kiosk = try kiosk()
    try kiosk.receive()
    #expect(kiosk.core.batches.wait(at: kiosk.now) == Batches.recordInterval)
    kiosk.pass(hour * 72 - .milliseconds(2))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    #expect(kiosk.core.batches.wait(at: kiosk.now) == .milliseconds(1))
    kiosk.pass(.milliseconds(2))
    #expect(kiosk.core.batches.wait(at: kiosk.now) == .zero)
    let decision = try kiosk.receive(.order("kiwi"), .order("banana"))
    #expect(try decision.statuses == [.outOfStock, .ready])
    #expect(
      decision.events[0]
        == #"{"seq":3,"at":"2026-11-24T09:00:00Z","status":"expired","changes":{"kiwi":-7},"#
        + #""batches":[{"fruit":"kiwi","batch":1,"amount":-7}]}"#)
    #expect(kiosk.stock["kiwi"] == 0 && kiosk.core.alert(of: "kiwi") == .out)
    #expect(
      Set(kiosk.reports).isSuperset(of: [
        "freshness/kiwi none", "stock/kiwi 0", "juice/kiwi 0", "juice/mango_kiwi 0",
        #"stock {"seq":5,"at":"2026-11-24T09:00:00Z","fruits":{"banana":8,"kiwi":0,"mango":10,"#
          + #""pineapple":10,"strawberry":10},"expired":{"kiwi":7}}"#,
      ]))
    try kiosk.restart()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 7])
    #expect(try kiosk.receive().transaction.records.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func aKioskWhoseLastDatedFruitHasExpiredHasDatesUntilItIsTakenOut() throws {
    let kiosk = try kiosk(keeps: nil)
    try kiosk.receive(
      .restock(#"{"add":{"mango":1},"best_before":{"mango":"2026-11-22T09:00:00Z"}}"#))
    kiosk.pass(hour * 24)
    try kiosk.receive()
    try kiosk.restart()
    #expect(kiosk.core.batches.isActive && kiosk.core.datedFruits.contains("mango"))
    try kiosk.receive(.restock(#"{"remove_expired":{"mango":1},"reason":"spoiled"}"#))
    try kiosk.restart()
    #expect(!kiosk.core.batches.isActive)
  }

  @Test func displaysShowWhenFruitExpires() throws {
    let kiosk = try kiosk()
    let before = kiosk.core.settings.topics.state(of: kiosk.core, at: kiosk.now.timestamp)
    #expect(before.contains { text($0.payload) == "2026-11-24T09:00:00Z" })
    try kiosk.receive(
      .restock(#"{"add":{"mango":1},"best_before":{"mango":"2026-11-22T09:00:00Z"}}"#))
    #expect(kiosk.reports.contains("freshness/mango 2026-11-22T09:00:00Z"))
    #expect(
      kiosk.reports.last
        == #"stock {"seq":2,"at":"2026-11-21T09:00:00Z","fruits":{"banana":10,"kiwi":10,"mango":11,"#
        + #""pineapple":10,"strawberry":10},"expires":{"kiwi":"2026-11-24T09:00:00Z","#
        + #""mango":"2026-11-22T09:00:00Z"}}"#)
  }

  /// A new menu without `keeps_hours` gives no new dates. The fruit that is there keeps its date.
  @Test func aMenuThatDropsADateKeepsThatOfTheFruit() throws {
    let kiosk = try kiosk()
    try kiosk.receive()
    try kiosk.reload(settings(keeps: nil))
    try kiosk.receive(.restock(#"{"add":{"kiwi":2}}"#))
    kiosk.pass(hour * 72)
    #expect(try kiosk.receive().events.count == 1)
    #expect(kiosk.stock["kiwi"] == 2)
    try kiosk.ledger.verify()
  }

  @Test func fruitThatLeavesTheMenuStillExpires() throws {
    let kiosk = try kiosk()
    try kiosk.receive()
    let menu = try Menu(
      fruits: Menu.standard.fruits.filter { $0.id != "kiwi" },
      juices: Menu.standard.juices.filter { $0.recipe.amounts["kiwi"] == nil })
    try kiosk.reload(.test(menu: menu))
    kiosk.pass(hour * 72)
    #expect(try kiosk.receive(.order("banana")).statuses == [.ready])
    #expect(try kiosk.ledger.state().stock["kiwi"] == 0)
    let removal = try kiosk.receive(.restock(#"{"remove_expired":{"kiwi":10},"reason":"spoiled"}"#))
    #expect(try removal.statuses == [.applied])
    try kiosk.ledger.verify()
  }

  // MARK: The clock

  /// The clock is set while the kiosk runs, also over a restart after that. The uptime decides.
  @Test(arguments: [86_400, -86_400, 100 * 86_400, -100 * 86_400] as [Int64], [true, false])
  func aClockThatIsSetChangesNoAge(seconds: Int64, restarts: Bool) throws {
    let kiosk = try kiosk()
    try kiosk.receive()
    kiosk.pass(hour * 24)
    kiosk.setClock(ahead: seconds)
    try kiosk.receive()
    #expect(kiosk.stock["kiwi"] == 10)
    if restarts { try kiosk.restart() }
    kiosk.pass(hour * 48 - .seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.outOfStock])
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 7])
  }

  @Test func aDateThatIsShownFollowsTheClock() throws {
    let kiosk = try kiosk()
    try kiosk.receive()
    kiosk.pass(hour * 2)
    kiosk.setClock(ahead: -86_400)
    try kiosk.receive()
    #expect(kiosk.core.batches.nextExpiries["kiwi"] == Timestamp("2026-11-23T09:00:00Z"))
    #expect(kiosk.core.batches.clockBehind == 86_400_000)
    kiosk.setClock(ahead: 2 * 86_400)
    try kiosk.receive()
    #expect(kiosk.core.batches.nextExpiries["kiwi"] == Timestamp("2026-11-25T09:00:00Z"))
    #expect(kiosk.core.batches.clockBehind == 0)
  }

  @Test func afterAStartTheWallClockDecides() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour * 71)
    try kiosk.restart()
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    kiosk.pass(hour)
    try kiosk.restart()
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.outOfStock])
  }

  /// After a power cut the clock shows an earlier time than a batch was recorded at.
  @Test func aClockThatIsBehindMakesNoFruitFresher() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour * 24)
    try kiosk.receive(.order("kiwi"))
    kiosk.setClock(ahead: -40 * 365 * 86_400)
    try kiosk.restart()
    try kiosk.receive()
    #expect(kiosk.core.batches.clockBehind == 40 * 365 * 86_400_000)
    // The doubt outlives a restart.
    try kiosk.restart()
    kiosk.pass(hour)
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.blocked])
    #expect(kiosk.core.batches.clockBehind == 40 * 365 * 86_400_000)
    // A time server sets it. The computer was off for 10 hours.
    kiosk.setClock(ahead: 40 * 365 * 86_400 + 36_000)
    try kiosk.receive()
    #expect(kiosk.core.batches.clockBehind == 0)
    kiosk.pass(hour * 37 - .seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 4])
  }

  /// The kiosk has run for two days without a sale before the power cut.
  @Test func theLedgerRecordsTheTimeWithoutASale() throws {
    let kiosk = try kiosk()
    try kiosk.receive()
    for _ in 0..<48 * 6 {
      kiosk.pass(Batches.recordInterval)
      #expect(kiosk.core.batches.wait(at: kiosk.now) == .zero)
      let transaction = try kiosk.receive().transaction
      #expect(transaction.changes(.batch) && transaction.records.isEmpty)
    }
    kiosk.setClock(ahead: -40 * 365 * 86_400)
    try kiosk.restart()
    try kiosk.receive()
    try kiosk.releaseClock()
    kiosk.pass(hour * 24 - .seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.outOfStock])
  }

  /// A time server corrects some seconds, and then a person sets the clock back.
  @Test func smallStepsOfTheClockCount() throws {
    let kiosk = try kiosk(keeps: nil, stock: ["kiwi": 0])
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":3},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#))
    kiosk.setClock(ahead: 40)
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":3},"best_before":{"kiwi":"2026-11-21T09:01:40Z"}}"#))
    #expect(kiosk.core.batches.clockBehind == 0)
    kiosk.setClock(ahead: -2_160)
    try kiosk.receive()
    try kiosk.restart()
    try kiosk.receive()
    kiosk.pass(.seconds(59))
    try kiosk.receive()
    #expect(kiosk.stock["kiwi"] == 6)
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.stock["kiwi"] == 3)
  }

  @Test func aClockThatIsNeverSetRightLeavesTheLeastAge() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour * 24)
    try kiosk.receive(.order("kiwi"))
    kiosk.setClock(ahead: -86_400)
    try kiosk.restart()
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.blocked])
    try kiosk.releaseClock()
    kiosk.pass(hour * 48 - .seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.ready])
    kiosk.pass(.seconds(1))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.outOfStock])
  }

  // MARK: Orders that wait

  @Test func returnedFruitGoesBackToItsBatch() throws {
    let kiosk = try kiosk(machine: true, stock: ["kiwi": 4])
    kiosk.pass(hour)
    try kiosk.receive(.restock(#"{"add":{"kiwi":4}}"#))
    try kiosk.receive(.order(#"{"juice":"kiwi","quantity":2}"#))
    try kiosk.restart()
    let failed = try kiosk.made(3, "failed", #""used":{"kiwi":1}"#)
    // What was used is the oldest.
    #expect(batches(failed) == [["kiwi 2: 2", "kiwi 1: 3"]])
    #expect(batches(try kiosk.receive(.order("kiwi"))) == [["kiwi 1: -3"]])
    try kiosk.ledger.verify()
  }

  @Test func returnedFruitThatHasExpiredIsExpired() throws {
    let kiosk = try kiosk(machine: true)
    kiosk.pass(hour * 72 - .seconds(1))
    let accepted = try kiosk.receive(.order(#"{"juice":"kiwi","quantity":3}"#))
    #expect(try accepted.statuses == [.accepted] && kiosk.requests.count == 1)
    kiosk.pass(.seconds(2))
    #expect(batches(try kiosk.receive()) == [["kiwi 1: -1"]])
    try kiosk.restart()
    // An order in the same batch of messages does not get the fruit.
    let decision = try kiosk.receive(
      .message(#"{"job":2,"status":"failed"}"#, on: "made/bar"), .order("kiwi"))
    #expect(batches(decision) == [["kiwi 1: 9"], ["kiwi 1: -9"], []])
    #expect(try decision.statuses == [.failed, .outOfStock])
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 10] && kiosk.stock["kiwi"] == 0)
    try kiosk.ledger.verify()
  }

  @Test func anOrderWhoseFruitExpiresInTheQueueIsReturned() throws {
    let kiosk = try kiosk(machine: true)
    try kiosk.receive()
    kiosk.pass(hour * 72 - .seconds(1))
    try kiosk.receive(.order("kiwi"), .order("kiwi"), .order("banana"))
    kiosk.pass(.seconds(1))
    let decision = try kiosk.receive()
    #expect(try decision.results.map(\.failure) == ["expired"])
    #expect(try decision.results.map(\.seq) == [6])
    #expect(kiosk.core.jobs.open.map(\.seq) == [2, 4])
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 7])
    // The machine has begun the first one.
    #expect(try kiosk.made(2, "done").statuses == [.ready])
    try kiosk.ledger.verify()
  }

  @Test func aSentOrderWhoseFruitHasExpiredIsNotSentAgain() throws {
    let kiosk = try kiosk(machine: true)
    kiosk.pass(hour * 72 - .seconds(1))
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.requests.count == 1)
    try kiosk.receive(.message("offline", on: "machine/bar/status"))
    kiosk.pass(.seconds(1))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    #expect(kiosk.requests == [#"{"job":2}"#])
    #expect(try kiosk.made(2, "cancelled").results.map(\.failure) == ["expired"])
    try kiosk.receive()
    #expect(kiosk.core.batches.expiredAmounts == ["kiwi": 10])
    try kiosk.ledger.verify()
  }

  /// Another attempt takes fresh fruit, which is not returned as the expired one.
  @Test func anotherAttemptHasItsOwnFruit() throws {
    let kiosk = try kiosk(machine: true, stock: ["kiwi": 3])
    kiosk.pass(hour)
    try kiosk.receive(.restock(#"{"add":{"kiwi":3}}"#))
    kiosk.pass(hour * 71 - .seconds(1))
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(3, "unknown")
    let again = try kiosk.receive(
      .message(#"{"job":3,"decision":"again","used":{"kiwi":3}}"#, on: "job/desk"))
    #expect(batches(again) == [["kiwi 2: -3"]])
    kiosk.pass(.seconds(1))
    try kiosk.restart()
    #expect(batches(try kiosk.made(4, "failed")) == [["kiwi 2: 3"]])
    #expect(kiosk.stock["kiwi"] == 3 && kiosk.core.batches.expired.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The order itself has taken fruit without a date.
  @Test(arguments: [false, true])
  func anotherAttemptKeepsTheDateOfItsFruit(restarts: Bool) throws {
    let kiosk = try kiosk(keeps: nil, machine: true, stock: ["kiwi": 3])
    try kiosk.receive(
      .restock(#"{"add":{"kiwi":3},"best_before":{"kiwi":"2026-11-22T09:00:00Z"}}"#))
    #expect(batches(try kiosk.receive(.order("kiwi"))) == [[]])
    try kiosk.made(3, "unknown")
    let again = try kiosk.receive(
      .message(#"{"job":3,"decision":"again","used":{"kiwi":3}}"#, on: "job/desk"))
    #expect(batches(again) == [["kiwi 2: -3"]])
    if restarts { try kiosk.restart() } else { try kiosk.reload() }
    #expect(batches(try kiosk.made(4, "failed")) == [["kiwi 2: 3"]])
    try kiosk.ledger.verify()
  }

  // MARK: Removal

  @Test func expiredFruitIsTakenOutOnce() throws {
    let kiosk = try kiosk()
    kiosk.pass(hour * 72)
    try kiosk.receive()
    let removal = Delivery.restock(#"{"remove_expired":{"kiwi":10},"reason":"spoiled"}"#)
    let decision = try kiosk.receive(removal)
    #expect(
      decision.events == [
        #"{"seq":3,"at":"2026-11-24T09:00:00Z","source":"restock/dashboard","status":"removed","#
          + #""reason":"spoiled","expired":{"kiwi":10},"amount":"4.00","currency":"EUR"}"#
      ])
    #expect(
      try LedgerEntry(payload: Array(decision.events[0].utf8)).outcome
        == decision.transaction.records[0].row.entry.outcome)
    #expect(kiosk.reports.contains { $0.hasPrefix("stock {") && !$0.contains("expired") })
    // Another person does the same.
    #expect(try kiosk.receive(removal).reasons == [.conflict])
    try kiosk.restart()
    #expect(kiosk.core.batches.expired.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func fruitIsTakenOutOfTheStockForAReason() throws {
    let kiosk = try kiosk(keeps: nil)
    let decision = try kiosk.receive(
      .restock(#"{"remove":{"kiwi":2,"mango":1},"reason":"given_away"}"#))
    #expect(
      decision.events == [
        #"{"seq":2,"at":"2026-11-21T09:00:00Z","source":"restock/dashboard","status":"removed","#
          + #""reason":"given_away","amount":"0.80","currency":"EUR","#
          + #""changes":{"kiwi":-2,"mango":-1}}"#
      ])
    #expect(kiosk.stock["kiwi"] == 8)
    let entries = decision.transaction.records.map(\.row.entry)
    #expect(try kiosk.ledger.rows(after: 1).map(\.row.entry) == entries)
    try kiosk.ledger.verify()
  }

  @Test(arguments: [
    (#"{"remove":{"kiwi":11},"reason":"damaged"}"#, RejectionReason.belowZero),
    (#"{"remove":{"durian":1},"reason":"damaged"}"#, .unknownFruit),
    (#"{"remove_expired":{"kiwi":1},"reason":"damaged"}"#, .conflict),
    (#"{"remove_expired":{"durian":1},"reason":"damaged"}"#, .unknownFruit),
    (#"{"remove":{"kiwi":1}}"#, .malformed),
    (#"{"remove":{"kiwi":1},"reason":"eaten"}"#, .malformed),
    (#"{"remove":{"kiwi":0},"reason":"damaged"}"#, .malformed),
    (#"{"remove":{"kiwi":-1},"reason":"damaged"}"#, .malformed),
    (#"{"remove":{},"reason":"damaged"}"#, .malformed),
    (#"{"remove":{"kiwi":1},"add":{"mango":1},"reason":"damaged"}"#, .malformed),
  ])
  func aRemovalThatMakesNoSenseIsRefused(payload: String, reason: RejectionReason) throws {
    let kiosk = try kiosk()
    #expect(try kiosk.receive(.restock(payload)).reasons == [reason])
    #expect(kiosk.stock["kiwi"] == 10)
  }

  @Test func aRequestIsWrittenAsItIsRead() throws {
    for command in [
      Command.restock(
        Restock(add: ["kiwi": 2], bestBefore: ["kiwi": TestKiosk.start.milliseconds])),
      .remove(Removal(stock: ["kiwi": 2], expired: ["mango": 1], reason: .counted)),
    ] {
      let request = Request(id: "a1", command: command)
      #expect(try Request(kind: .restock, payload: request.payload) == request)
    }
  }
}

extension TestKiosk {
  fileprivate var requests: [String] {
    messagesForMachines().map { text($0.payload) }
  }

  @discardableResult
  fileprivate func made(_ job: Int, _ status: String, _ more: String = "") throws -> Decision {
    let more = more.isEmpty ? "" : ",\(more)"
    return try receive(
      .message(#"{"job":\#(job),"status":"\#(status)"\#(more)}"#, on: "made/bar"))
  }
}

extension Decision {
  fileprivate var events: [String] {
    transaction.records.map(\.row.entry).map {
      // The epoch is random.
      var entry = LedgerEntry(
        seq: $0.seq, epoch: 0, at: $0.at, source: $0.source, id: $0.id, outcome: $0.outcome,
        amount: $0.amount)
      entry.batches = $0.batches
      return text(entry.payload)
    }
  }
}
