import Devices
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Orders that customers pay for at a device.
@Suite struct PaymentTests {
  /// The number of the first charge: the seconds since 1970 at the start of the test.
  static let first = Int(TestKiosk.start.milliseconds / 1000)

  /// - Parameters:
  ///   - price: The price of a kiwi juice; banana juice is free, and mango juice has no price.
  ///   - isPoured: Whether a machine makes the juices.
  static func settings(price: String = "3.50", isPoured: Bool = true) throws -> KioskSettings {
    let euro = try #require(Currency("EUR"))
    let prices = [
      "kiwi": try #require(Money(price, euro)), "mango_kiwi": Money(units: 400, euro),
      "banana": Money(units: 0, euro),
    ]
    let menu = Menu.standard
    var settings = KioskSettings.test(
      menu: try Menu(
        fruits: menu.fruits,
        juices: menu.juices.map {
          Juice(id: $0.id, name: $0.name, recipe: $0.recipe, price: prices[$0.id.text])
        }))
    settings.payment = KioskSettings.Payment(
      devices: [KioskSettings.Payment.Device(name: "terminal")], freePanels: ["staff"])
    if isPoured { settings.machines = [KioskSettings.Machine(name: "bar")] }
    return settings
  }

  static func kiosk(isPoured: Bool = true) throws -> TestKiosk {
    let kiosk = try TestKiosk(settings: try settings(isPoured: isPoured))
    try kiosk.receive(.device("online"), .message("online", on: "machine/bar/status"))
    try kiosk.receive(.inventory(kiosk.core.epoch))
    return kiosk
  }

  /// A kiosk with an order for which the customer is asked to pay.
  private func asked(isPoured: Bool = true, quantity: Int = 1) throws -> TestKiosk {
    let kiosk = try Self.kiosk(isPoured: isPoured)
    try kiosk.receive(.order(#"{"juice":"kiwi","quantity":\#(quantity)}"#))
    _ = kiosk.charges
    try kiosk.receive(.paid("waiting"))
    return kiosk
  }

  /// A kiosk with a paid order that the machine has begun.
  private func begun(quantity: Int = 1) throws -> TestKiosk {
    let kiosk = try asked(quantity: quantity)
    try kiosk.receive(.paid("held", 350 * quantity))
    try kiosk.receive(.made("started", job: 3))
    _ = kiosk.charges
    return kiosk
  }

  // MARK: The order's life

  @Test func anOrderIsPaidThenMadeThenCaptured() throws {
    let kiosk = try Self.kiosk()
    let order = Delivery.order(#"{"id":"a1","juice":"kiwi"}"#)
    let awaiting = try kiosk.receive(order)
    #expect(
      awaiting.answers.map { text($0.payload) } == [
        #"{"id":"a1","status":"awaiting_payment","ticket":1,"juice":"kiwi","quantity":1,"#
          + #""amount":"3.50","currency":"EUR","device":"terminal","used":{"kiwi":3},"#
          + #""stock":{"banana":10,"kiwi":7,"mango":10,"pineapple":10,"strawberry":10},"#
          + #""message":"€3.50 at the terminal, please.","seq":2}"#
      ])
    #expect(
      kiosk.charges == [
        #"charge/terminal {"charge":\#(Self.first),"ticket":1,"panel":"p1","juice":"kiwi","#
          + #""quantity":1,"amount":350,"currency":"EUR","language":"en","text":"Kiwi juice","#
          + #""pay_seconds":45,"ready_seconds":120}"#
      ])
    #expect(kiosk.machineRequests.isEmpty)
    #expect(try kiosk.receive(.paid("waiting")).transaction.records.isEmpty)
    let held = try kiosk.receive(.paid("held", 350))
    #expect(
      held.answers.map { text($0.payload) } == [
        #"{"id":"a1","status":"accepted","ticket":1,"juice":"kiwi","quantity":1,"#
          + #""amount":"3.50","currency":"EUR","place":1,"machine":"bar","#
          + #""message":"Kiwi juice is being made. Your number is 1.","seq":3}"#
      ])
    #expect(try kiosk.receive(order).statuses == [.accepted])
    #expect(
      kiosk.machineRequests == [
        #"make/bar {"job":3,"ticket":1,"juice":"kiwi","quantity":1,"recipe":{"kiwi":3}}"#
      ])
    let done = try kiosk.receive(.made("done", job: 3))
    #expect(try done.statuses == [.ready])
    #expect(
      kiosk.charges == [
        #"charge/terminal/capture {"charge":\#(Self.first),"amount":350,"currency":"EUR"}"#
      ])
    let captured = try kiosk.receive(.paid("captured", 350, #","receipt":"0012","trace":7"#))
    #expect(captured.answers.isEmpty)
    #expect(kiosk.steps == ["awaiting_payment 350", "held 350", "made 350", "captured 350"])
    #expect(kiosk.state == .captured && kiosk.charges.isEmpty)
    let repeated = try kiosk.receive(order)
    #expect(try repeated.results.map(\.isDuplicate) == [true])
    #expect(try repeated.statuses == [.ready])
    try kiosk.ledger.verify()
  }

  /// The device takes money at once, as a coin box does.
  @Test(arguments: [true, false]) func anAmountThatIsCapturedAtOnceIsPaid(isPoured: Bool) throws {
    let kiosk = try asked(isPoured: isPoured)
    let captured = try kiosk.receive(.paid("captured", 350))
    #expect(try captured.statuses == [isPoured ? .accepted : .ready])
    if isPoured {
      #expect(kiosk.machineRequests.count == 1)
      #expect(try kiosk.receive(.made("done", job: 3)).statuses == [.ready])
    }
    #expect(kiosk.state == .captured && kiosk.stock["kiwi"] == 7)
    #expect(kiosk.actions.isEmpty, "nothing is captured twice")
    try kiosk.receive(.paid("captured", 350))
    let steps = ["awaiting_payment 350", "held 350", "captured 350", "made 350"]
    #expect(kiosk.steps.sorted() == steps.sorted())
    try kiosk.ledger.verify()
  }

  /// The customer pays another amount, or too late, or the machine makes nothing.
  @Test(arguments: ["amount", "late", "machine"])
  func whatIsCapturedAtOnceAndNotMadeIsForAPerson(flaw: String) throws {
    let kiosk = try asked()
    if flaw == "late" {
      kiosk.pass(.seconds(60))
      try kiosk.receive(.paid("captured", 350))
    } else {
      try kiosk.receive(.paid("captured", flaw == "amount" ? 300 : 350))
    }
    if flaw == "machine" {
      let failed = try kiosk.receive(.made("failed", job: 3))
      #expect(
        try failed.results.map(\.message) == [
          "Sorry, Kiwi juice could not be made. Please ask us about your money."
        ])
    }
    #expect(kiosk.state == .undecided && kiosk.stock["kiwi"] == 10)
    #expect(kiosk.core.charges.reports[0].report.charges.map(\.reason) == ["captured, not made"])
    #expect(try kiosk.receive(.decide("refund")).statuses == [.accepted])
    try kiosk.ledger.verify()
  }

  @Test func withoutAMachineTheAmountIsCapturedAtOnce() throws {
    let kiosk = try asked(isPoured: false)
    let held = try kiosk.receive(.paid("held", 350))
    #expect(try held.statuses == [.ready])
    #expect(try held.results[0].machine == nil)
    #expect(kiosk.charges.map { String($0.prefix(23)) } == ["charge/terminal/capture"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured && kiosk.stock["kiwi"] == 7)
    try kiosk.ledger.verify()
  }

  @Test func whatCostsNothingIsNotPaid() throws {
    let kiosk = try Self.kiosk(isPoured: false)
    let orders = try kiosk.receive(
      .order("banana"), .order("mango"), .order("kiwi", panel: "staff"))
    #expect(try orders.statuses == [.ready, .ready, .ready])
    #expect(kiosk.charges.isEmpty)
  }

  @Test func whatTheMachineCannotMakeIsReleased() throws {
    let kiosk = try begun()
    let failed = try kiosk.receive(.made("failed", job: 3, #","reason":"jam""#))
    #expect(try failed.results.map(\.failure) == ["jam"])
    #expect(
      try failed.results.map(\.message) == [
        "Sorry, Kiwi juice could not be made. You pay nothing: the money is being released."
      ])
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.steps.suffix(2) == ["failed", "released 350"])
    #expect(kiosk.core.charges.open.isEmpty && kiosk.stock["kiwi"] == 10)
    try kiosk.ledger.verify()
  }

  /// The fruit of the order expires while the customer looks for a card, or a sensor blocks it.
  @Test(arguments: [true, false], ["expired", "blocked"])
  func whatMayNotBeSoldWhenItIsPaidIsReleased(isPoured: Bool, reason: String) throws {
    var settings = try Self.settings(isPoured: isPoured)
    settings.sensors = [
      KioskSettings.Sensor(
        name: "fridge", binding: SensorBinding(topic: "t/fridge"), unit: .celsius, maximum: 7000,
        blockAfter: .seconds(20), fruits: ["kiwi"])
    ]
    let kiosk = try TestKiosk(settings: settings, stock: ["kiwi": 0])
    try kiosk.receive(.device("online"), .message("online", on: "machine/bar/status"))
    try kiosk.receive(.inventory(kiosk.core.epoch))
    try kiosk.receive(
      reason == "expired"
        ? .restock(#"{"add":{"kiwi":10},"best_before":{"kiwi":"2026-11-21T09:00:20Z"}}"#)
        : .restock(#"{"add":{"kiwi":10}}"#))
    if reason == "blocked" { try kiosk.receive(.fridge("9")) }
    try kiosk.receive(.order("kiwi"))
    _ = kiosk.charges
    try kiosk.receive(.paid("waiting"))
    kiosk.pass(.seconds(20))
    let held = try kiosk.receive(.paid("held", 350))
    #expect(try held.results.map(\.failure) == [reason])
    #expect(
      try held.results[0].message?.hasSuffix("You pay nothing: the money is being released.")
        == true)
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    #expect(kiosk.machineRequests.isEmpty)
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    #expect(kiosk.stock["kiwi"] == (reason == "expired" ? 0 : 10))
    try kiosk.ledger.verify()
  }

  @Test func ofSeveralGlassesOnlyTheMadeOnesArePaid() throws {
    let kiosk = try begun(quantity: 3)
    let failed = try kiosk.receive(
      .made("failed", job: 3, #","reason":"jam","used":{"kiwi":7},"made":2"#))
    let message = "Sorry, only 2 of 3 Kiwi juice were made. You pay €7.00."
    #expect(try failed.results.map(\.message) == [message])
    #expect(try failed.results.map { $0.amount?.units } == [700])
    #expect(
      kiosk.charges == [
        #"charge/terminal/capture {"charge":\#(Self.first),"amount":700,"currency":"EUR"}"#
      ])
    try kiosk.receive(.paid("captured", 700))
    #expect(kiosk.steps.suffix(2) == ["failed 700", "captured 700"])
    #expect(kiosk.stock["kiwi"] == 3)
    try kiosk.ledger.verify()
  }

  @Test func aFreeOrderSaysNothingOfMoney() throws {
    let kiosk = try Self.kiosk()
    try kiosk.receive(.order(#"{"juice":"kiwi","quantity":3}"#, panel: "staff"))
    try kiosk.receive(.made("started", job: 2))
    let failed = try kiosk.receive(.made("failed", job: 2, #","reason":"jam","made":2"#))
    #expect(try failed.results.map(\.message) == ["Sorry, only 2 of 3 Kiwi juice were made."])
    #expect(kiosk.charges == [])
  }

  @Test(arguments: [3, 4, -1])
  func aMachineThatCannotHaveMadeSoManyGlassesIsNotBelieved(made: Int) throws {
    let kiosk = try begun(quantity: 3)
    let failed = try kiosk.receive(.made("failed", job: 3, #","made":\#(made)"#))
    #expect(try failed.reasons == [.malformed])
    #expect(kiosk.charges.isEmpty && kiosk.core.charges.open.count == 1)
  }

  @Test func withoutACardTheFruitGoesBack() throws {
    let kiosk = try asked()
    kiosk.pass(.seconds(44))
    #expect(try kiosk.receive().answers.isEmpty)
    kiosk.pass(.seconds(1))
    let unpaid = try kiosk.receive()
    #expect(try unpaid.results.map(\.failure) == ["not_paid"])
    #expect(
      try unpaid.results.map(\.message) == ["The order was not paid. Nothing was charged."])
    #expect(kiosk.stock["kiwi"] == 10)
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    // Repeated until the device answers.
    kiosk.pass(.seconds(5))
    #expect(kiosk.charges.count == 1)
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty && kiosk.core.counters.failed == 0)
    try kiosk.ledger.verify()
  }

  /// The clock is set while a customer is asked to pay, and the disk fails.
  @Test(arguments: [-3_600, -20, 20, 3_600])
  func theTimeToPayPassesByTheClockThatNobodySets(ahead: Int64) throws {
    let kiosk = try Self.kiosk()
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.charges.count == 1)
    kiosk.pass(.seconds(10))
    kiosk.setClock(ahead: ahead)
    try kiosk.recover()
    #expect(try kiosk.receive().answers.isEmpty)
    #expect(kiosk.messagesForPaymentDevices().map(\.expiry) == [35])
    kiosk.pass(.seconds(35))
    kiosk.loseConnection()
    #expect(kiosk.actions.isEmpty, "the customer is not asked to pay again")
    #expect(try kiosk.receive().results.map(\.failure) == ["not_paid"])
  }

  @Test func aCustomerWhoIsSeenHasMoreTime() throws {
    let kiosk = try asked()
    for _ in 1...6 {
      kiosk.pass(.seconds(44))
      #expect(try kiosk.receive(.paid("waiting")).answers.isEmpty)
    }
    kiosk.pass(.seconds(36))
    #expect(try kiosk.receive().results.map(\.failure) == ["not_paid"], "after 300 seconds")
  }

  @Test func aDeclinedCardEndsTheOrder() throws {
    let kiosk = try asked()
    let declined = try kiosk.receive(.paid("declined", #","reason":"no credit""#))
    #expect(try declined.results.map(\.failure) == ["declined"])
    #expect(try declined.results.map(\.detail) == ["no credit"])
    #expect(
      try declined.results.map(\.message)
        == ["The payment was declined: no credit. Nothing was charged."])
    #expect(kiosk.core.charges.open.isEmpty && kiosk.stock["kiwi"] == 10)
    #expect(
      kiosk.report
        == #"{"state":"idle","ticket":1,"declined":"no credit","queue":0,"charges":[],"difference":0,"needs_inventory":false}"#
    )
    try kiosk.ledger.verify()
    // Displays show it for a minute.
    #expect(kiosk.core.charges.wait(at: kiosk.now) == .seconds(60))
    kiosk.pass(.seconds(60))
    #expect(try kiosk.receive().paymentChanged)
    #expect(
      kiosk.report
        == #"{"state":"idle","queue":0,"charges":[],"difference":0,"needs_inventory":false}"#)
    #expect(kiosk.core.charges.wait(at: kiosk.now) == nil)
  }

  @Test func theReportHasTheSumsOfTheDay() throws {
    let kiosk = try asked(isPoured: false)
    try kiosk.receive(.paid("held", 350), .paid("captured", 350))
    #expect(
      kiosk.report
        == #"{"state":"idle","queue":0,"charges":[],"difference":0,"needs_inventory":false,"currency":"EUR","captured":350,"refunded":0}"#
    )
    try kiosk.receive(.order("kiwi"))
    _ = kiosk.charges
    let report = kiosk.core.charges.reports[0].report
    #expect(report.amount?.units == 350 && report.captured?.units == 350)
    #expect(try PaymentReport(payload: report.payload) == report)
  }

  @Test func theLanguageIsTheCustomers() throws {
    var settings = try Self.settings()
    settings.language = .korean
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.device("online"), .message("online", on: "machine/bar/status"))
    let awaiting = try kiosk.receive(.order("kiwi"))
    #expect(try awaiting.results.map(\.message) == ["단말기에서 €3.50 결제해 주세요."])
  }

  // MARK: The second press

  @Test func anotherPressReplacesTheFirst() throws {
    let kiosk = try asked()
    let second = try kiosk.receive(.order("mango_kiwi"))
    #expect(try second.statuses == [.failed, .awaitingPayment])
    #expect(try second.results[0].failure == "replaced")
    #expect(kiosk.stock["kiwi"] == 9)
    // The device asks one customer at a time.
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.charges.map { String($0.prefix(26)) } == [#"charge/terminal {"charge":"#])
    try kiosk.ledger.verify()
  }

  /// The end of the first order precedes the entry of the second press. The kiosk crashes before the
  /// broker has received the acknowledgement of the copy.
  @Test func aCopyOfAPressThatReplacesTheFirstGetsTheAnswerOfThatPress() throws {
    var settings = try Self.settings()
    settings.orders.debounce = .milliseconds(500)
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.device("online"), .message("online", on: "machine/bar/status"))
    try kiosk.receive(.order("kiwi", packetID: 1))
    let second = try kiosk.receive(.order("mango_kiwi", packetID: 2))
    #expect(try second.statuses == [.failed, .awaitingPayment])
    #expect(try kiosk.receive(.order("mango_kiwi", packetID: 3)).answers.isEmpty)
    try kiosk.restart()
    kiosk.pass(.seconds(5))
    let copy = try kiosk.receive(.order("mango_kiwi", packetID: 3, redelivered: true))
    #expect(try copy.statuses == [.awaitingPayment])
    #expect(try copy.results.map(\.ticket) == [2])
  }

  /// The one that the kiosk decides first counts.
  @Test(arguments: [true, false])
  func ofAPressAndACardAtOnceTheFirstCounts(isCardFirst: Bool) throws {
    let kiosk = try asked()
    let card = Delivery.paid("held", 350)
    let press = Delivery.order("mango_kiwi")
    let both = try kiosk.receive(isCardFirst ? [card, press] : [press, card])
    if isCardFirst {
      #expect(try both.statuses == [.accepted, .awaitingPayment])
      #expect(kiosk.charges.count == 1)
    } else {
      #expect(try both.results.map(\.failure) == ["replaced", nil])
      #expect(kiosk.charges[0] == #"charge/terminal/release {"charge":\#(Self.first)}"#)
    }
    try kiosk.ledger.verify()
  }

  @Test func aPressDoesNotReplaceAnOrderWhoseCardIsInTheReader() throws {
    let kiosk = try asked()
    try kiosk.receive(.paid("waiting", #","presented":true"#))
    #expect(try kiosk.receive(.order("mango_kiwi")).statuses == [.awaitingPayment])
    #expect(kiosk.core.charges.open.map(\.state) == [.waiting, .queued])
  }

  @Test(arguments: ["tea", #"{"juice":"kiwi","quantity":11}"#, "strawberry", "banana"])
  func aPressThatNeedsNoPaymentReplacesNothing(order: String) throws {
    let kiosk = try asked()
    try kiosk.receive(.order(order))
    #expect(kiosk.core.charges.open.map(\.state) == [.waiting])
  }

  @Test func aPressThatNeedsTheFruitOfTheFirstGetsIt() throws {
    let kiosk = try TestKiosk(
      settings: try Self.settings(isPoured: false), stock: ["kiwi": 3, "mango": 10])
    try kiosk.receive(.device("online"))
    try kiosk.receive(.order("kiwi"))
    #expect(try kiosk.receive(.order("mango_kiwi")).statuses == [.failed, .awaitingPayment])
    #expect(kiosk.stock["kiwi"] == 2)
  }

  @Test func anotherPanelWaits() throws {
    let kiosk = try asked()
    try kiosk.receive(.order("kiwi", panel: "p2"))
    #expect(kiosk.core.charges.open.map(\.state) == [.waiting, .queued])
    #expect(kiosk.charges.isEmpty)
    kiosk.pass(.seconds(31))
    let late = try kiosk.receive(.paid("waiting"))
    #expect(try late.results.map(\.failure) == ["not_paid"])
    #expect(kiosk.core.charges.open.map(\.state) == [.waiting], "the other customer still pays")
    #expect(kiosk.charges.isEmpty, "what was never sent need not be released")
    try kiosk.ledger.verify()
  }

  // MARK: Prices

  @Test func anOpenOrderKeepsItsPriceAndItsName() throws {
    let kiosk = try asked()
    try kiosk.reload(try Self.settings(price: "4.00"))
    try kiosk.receive(.paid("held", 350))
    try kiosk.receive(.made("started", job: 3), .made("done", job: 3))
    try kiosk.restart()
    try kiosk.receive(.paid("held", 350))
    #expect(
      kiosk.charges == [
        #"charge/terminal/capture {"charge":\#(Self.first),"amount":350,"currency":"EUR"}"#
      ] || kiosk.core.charges.open.map(\.wanted?.units) == [350])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured)
    try kiosk.ledger.verify()
  }

  // MARK: Bad cases

  @Test(arguments: [(351, "EUR"), (349, "EUR"), (350, "USD"), (1, "KRW")])
  func anotherAmountStartsNothing(units: Int, currency: String) throws {
    let kiosk = try asked()
    let wrong = try kiosk.receive(.paid("held", units, currency: currency))
    #expect(try wrong.statuses == [.failed, .rejected])
    #expect(try wrong.results[1].reason == .wrongAmount)
    #expect(try wrong.results[0].failure == "wrong_amount")
    #expect(wrong.answers[1].topic == "kiosk/k1/paid/terminal/result")
    #expect(kiosk.machineRequests.isEmpty && kiosk.stock["kiwi"] == 10)
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func whatIsHeldAfterTheTimeToPayIsReleased() throws {
    let kiosk = try asked()
    kiosk.pass(.seconds(46))
    // The kiosk was away, so the card is the first that it receives.
    let late = try kiosk.receive(.paid("held", 350))
    #expect(try late.results.map(\.failure) == ["not_paid"])
    #expect(kiosk.machineRequests.isEmpty)
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.steps.suffix(2) == ["held 350", "released 350"])
    try kiosk.ledger.verify()
  }

  /// The time in which the device had no power does not count for the release of a new hold.
  @Test func aDeviceThatReturnsWithAHoldReleasesIt() throws {
    let kiosk = try asked()
    kiosk.pass(.seconds(46))
    try kiosk.receive()
    #expect(kiosk.state == .releasing)
    try kiosk.receive(.device("offline"))
    kiosk.pass(.seconds(61))
    try kiosk.receive(.device("online"), .paid("held", 350))
    #expect(kiosk.state == .releasing && kiosk.actions == ["release"])
    #expect(kiosk.core.charges.reports[0].report.state == .busy)
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The clock stands still while the computer is off.
  @Test func whatIsHeldAfterATimeWithoutPowerIsReleased() throws {
    let kiosk = try asked()
    try kiosk.cutPower(for: .seconds(12 * 3_600), hasClock: false)
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
    #expect(kiosk.machineRequests.isEmpty && kiosk.stock["kiwi"] == 10)
  }

  @Test func whatIsHeldAfterARestartTooLateIsReleased() throws {
    let kiosk = try asked()
    kiosk.pass(.seconds(3600))
    try kiosk.restart()
    let late = try kiosk.receive(.paid("held", 350))
    #expect(try late.results.map(\.failure) == ["not_paid"])
    #expect(kiosk.charges == [#"charge/terminal/release {"charge":\#(Self.first)}"#])
  }

  @Test func withTheClockSetBackNobodyKnowsTheAgeSoNothingIsMade() throws {
    let kiosk = try asked()
    kiosk.setClock(ahead: -3600)
    try kiosk.restart()
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.machineRequests.isEmpty && kiosk.stock["kiwi"] == 10)
    try kiosk.receive(.paid("released"), .device("online"))
    // Another charge still has a higher number.
    try kiosk.receive(.order("kiwi"))
    let next = #"charge/terminal {"charge":\#(Self.first + 1)"#
    #expect(kiosk.charges.map { String($0.prefix(36)) } == [next])
  }

  @Test func aSecondHeldChangesNothing() throws {
    let kiosk = try begun()
    let again = try kiosk.receive(.paid("held", 350), .paid("held", 350))
    #expect(again.answers.isEmpty && again.transaction.records.isEmpty)
    #expect(try kiosk.receive(.paid("held", 400)).reasons == [.wrongAmount])
    #expect(kiosk.core.charges.open.map(\.held?.units) == [350])
  }

  @Test func anUnansweredCaptureIsAskedAboutBeforeItIsRepeated() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3))
    #expect(kiosk.actions == ["capture"])
    kiosk.pass(.seconds(14))
    #expect(kiosk.actions.isEmpty)
    kiosk.pass(.seconds(1))
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.actions == ["capture"], "the device says that nothing happened")
    kiosk.loseConnection()
    #expect(kiosk.actions == ["state"])
    try kiosk.restart()
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured && kiosk.actions.isEmpty)
  }

  @Test func aCaptureThatCannotBeFoundOutIsForAPerson() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("unknown", #","reason":"line broken""#))
    #expect(kiosk.state == .undecided)
    #expect(kiosk.report.contains(#""reason":"line broken""#))
    // The device finds it out, before or after a restart.
    try kiosk.restart()
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured)
    #expect(kiosk.steps.suffix(1) == ["captured 350"])
    try kiosk.ledger.verify()
  }

  @Test(arguments: [("captured", "captured 350"), ("released", "released 350")])
  func aPersonDecidesAboutACapture(choice: String, step: String) throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("unknown"))
    let decided = try kiosk.receive(.decide(choice))
    #expect(try decided.statuses == [.applied])
    #expect(kiosk.steps.suffix(1) == [step])
    #expect(try kiosk.receive(.decide(choice)).reasons == [.noDecisionNeeded])
    try kiosk.ledger.verify()
  }

  @Test func aDayWithoutTheBrokerBetweenHeldAndCapturedLosesNothing() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3))
    #expect(kiosk.actions == ["capture"])
    kiosk.loseConnection()
    kiosk.pass(.seconds(86_400), day: 20_779)
    try kiosk.receive()
    #expect(kiosk.state == .undecided && kiosk.stock["kiwi"] == 7)
    try kiosk.receive(.device("online"))
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.actions == ["state"], "the capture may be on its way")
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.actions == ["capture"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.core.charges.open.isEmpty, "its day is over")
    #expect(kiosk.steps.suffix(1) == ["captured 350"])
    try kiosk.ledger.verify()
  }

  @Test func whatAPersonRequestsIsAskedAboutFirst() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("unknown"))
    for _ in 1...2 {
      #expect(try kiosk.receive(.decide("capture")).statuses == [.accepted])
      #expect(kiosk.actions == ["state"])
      try kiosk.receive(.paid("unknown"))
      #expect(kiosk.state == .undecided)
    }
    try kiosk.receive(.decide("capture"))
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.actions == ["capture"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured)
    try kiosk.ledger.verify()
  }

  @Test func aHoldThatIsGoneWhenTheJuiceIsMadeIsForAPerson() throws {
    let kiosk = try begun()
    try kiosk.receive(.paid("released", #","reason":"limit""#))
    #expect(kiosk.state == .gone)
    let done = try kiosk.receive(.made("done", job: 3))
    #expect(try done.statuses == [.ready])
    #expect(kiosk.state == .undecided && kiosk.actions.isEmpty)
    #expect(try kiosk.receive(.decide("released")).statuses == [.applied])
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The device refunds while the juice is made. The broker delivers its answers again.
  @Test(arguments: [true, false]) func aRefundBeforeTheEndIsRecordedOnce(isMade: Bool) throws {
    let kiosk = try begun()
    for _ in 1...2 {
      try kiosk.receive(.paid("captured", 350), .paid("refunded", 350))
      #expect(kiosk.state == .gone && kiosk.core.charges[Self.first]?.captured == nil)
    }
    try kiosk.receive(.made(isMade ? "done" : "failed", job: 3))
    try kiosk.restart()
    for answer in ["held", "captured", "refunded"] { try kiosk.receive(.paid(answer, 350)) }
    let moves = kiosk.steps.filter { $0.hasPrefix("captured") || $0.hasPrefix("refunded") }
    #expect(moves == ["captured 350", "refunded 350"])
    try kiosk.ledger.verify()
    guard isMade else { return #expect(kiosk.core.charges.open.isEmpty) }
    #expect(kiosk.report.contains(#""decisions":["released","write_off"]"#))
    #expect(try kiosk.receive(.decide("captured")).reasons == [.noDecisionNeeded])
    #expect(try kiosk.receive(.decide("write_off")).statuses == [.applied])
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The device refunds a part while the juice is made. The broker delivers its answers again.
  @Test(arguments: [true, false])
  func theRestOfARefundBeforeTheEndIsForAPerson(isMade: Bool) throws {
    let kiosk = try begun()
    for _ in 1...2 {
      try kiosk.receive(.paid("captured", 350), .paid("refunded", 100))
      #expect(kiosk.state == .gone && kiosk.core.charges[Self.first]?.captured?.units == 250)
    }
    let end = try kiosk.receive(.made(isMade ? "done" : "failed", job: 3))
    if !isMade {
      #expect(
        try end.results.map(\.message) == [
          "Sorry, Kiwi juice could not be made. Please ask us about your money."
        ])
    }
    #expect(kiosk.state == .undecided)
    try kiosk.restart()
    try kiosk.receive(.paid("held", 350), .paid("captured", 350), .paid("refunded", 100))
    let moves = kiosk.steps.filter { $0.hasPrefix("captured") || $0.hasPrefix("refunded") }
    #expect(moves == ["captured 350", "refunded 100"])
    try kiosk.ledger.verify()
    #expect(kiosk.report.contains(#""decisions":["captured","refunded","cash"]"#))
    #expect(try kiosk.receive(.decide("refunded")).statuses == [.applied])
    #expect(kiosk.core.charges.open.isEmpty && kiosk.steps.last == "refunded 250")
    try kiosk.ledger.verify()
  }

  /// The device refunds the price of the glass that the machine then does not make.
  @Test func aRefundOfTheGlassThatIsNotMadeIsTheLast() throws {
    let kiosk = try begun(quantity: 2)
    try kiosk.receive(.paid("captured", 700), .paid("refunded", 350))
    let failed = try kiosk.receive(.made("failed", job: 3, #","made":1"#))
    #expect(
      try failed.results.map(\.message) == [
        "Sorry, only 1 of 2 Kiwi juice were made. You pay €3.50."
      ])
    #expect(kiosk.state == .captured)
    #expect(try kiosk.receive(.decide("refund")).reasons == [.noDecisionNeeded])
    try kiosk.ledger.verify()
  }

  /// The acknowledgement of both answers is lost, and the broker delivers them again.
  @Test func aHoldThatHasEndedIsNotRecordedAgain() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3))
    for _ in 1...2 {
      try kiosk.receive(.paid("held", 350), .paid("released"))
      #expect(kiosk.state == .undecided && kiosk.steps.suffix(1) == ["released 350"])
    }
    #expect(kiosk.steps.filter { $0.hasPrefix("held") } == ["held 350"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured)
    try kiosk.ledger.verify()
  }

  @Test func aHoldThatIsGoneBeforeTheMachineHasTheJobEndsTheOrder() throws {
    let kiosk = try asked()
    try kiosk.receive(.message("fault", on: "machine/bar/status"))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    try kiosk.receive(.order("banana", panel: "p2"))
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.core.jobs.open.map(\.state) == [.sent, .queued])
    let lost = try kiosk.receive(.paid("released"))
    #expect(try lost.results.map(\.failure) == ["payment_lost"])
    #expect(kiosk.core.charges.open.isEmpty && kiosk.stock["kiwi"] == 10)
    try kiosk.ledger.verify()
  }

  @Test func anotherAmountCapturedThanAskedForIsForAPerson() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3))
    let captured = try kiosk.receive(.paid("captured", 300))
    #expect(try captured.reasons == [.wrongAmount])
    #expect(kiosk.state == .undecided)
    #expect(kiosk.steps.suffix(1) == ["captured 300"], "the ledger says what the device has")
    #expect(try kiosk.receive(.decide("captured")).statuses == [.applied])
    #expect(kiosk.state == .captured)
    try kiosk.ledger.verify()
  }

  @Test func whatIsBookedWithoutHavingBeenMadeIsForAPerson() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("failed", job: 3), .paid("captured", 350))
    #expect(kiosk.state == .undecided)
    #expect(try kiosk.receive(.decide("refund")).statuses == [.accepted])
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.actions == ["refund"])
    try kiosk.receive(.paid("refunded", 350))
    #expect(kiosk.core.charges.open.isEmpty)
    #expect(kiosk.steps.suffix(3) == ["captured 350", "refund", "refunded 350"])
    try kiosk.ledger.verify()
  }

  @Test func aPromptWithUnknownResultEndsTheOrderAndIsForAPerson() throws {
    let kiosk = try asked()
    let unknown = try kiosk.receive(.paid("unknown"))
    #expect(try unknown.results.map(\.failure) == ["payment_unknown"])
    #expect(kiosk.state == .undecided && kiosk.stock["kiwi"] == 10)
    #expect(try kiosk.receive(.decide("release")).statuses == [.accepted])
    #expect(kiosk.actions == ["release"])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The device first answers that it holds nothing, and later that it does.
  @Test func anAmountThatAPersonHasReleasedIsReleasedAgainAndNotKept() throws {
    let kiosk = try asked()
    try kiosk.receive(.paid("unknown"))
    try kiosk.receive(.decide("release"))
    _ = kiosk.charges
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty && kiosk.steps.last == "release")
    for _ in 1...2 {
      #expect(try kiosk.receive(.paid("held", 350)).transaction.records.isEmpty)
      #expect(kiosk.state == .releasing && kiosk.actions == ["release"])
      try kiosk.receive(.paid("released"))
      #expect(kiosk.core.charges.open.isEmpty)
    }
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .undecided && kiosk.steps.last == "captured 350")
    #expect(try kiosk.receive(.paid("captured", 350)).transaction.records.isEmpty)
    #expect(try kiosk.receive(.decide("refunded")).statuses == [.applied])
    #expect(try kiosk.receive(.paid("captured", 350)).transaction.records.isEmpty)
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func aReleaseThatNobodyAnswersIsForAPersonAndStillAskedFor() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("failed", job: 3))
    #expect(kiosk.actions == ["release"])
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    #expect(kiosk.state == .undecided && kiosk.core.charges.reports[0].report.state == .off)
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.paymentDown])
    kiosk.pass(.seconds(60))
    #expect(kiosk.actions == ["release"])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.awaitingPayment])
  }

  /// The terminal has no connection to its host, and the device answers each request.
  @Test(arguments: ["done", "failed"])
  func whatTheDeviceCannotDoIsForAPersonAndOrdersContinue(made: String) throws {
    let kiosk = try begun()
    try kiosk.receive(.made(made, job: 3))
    let goal = kiosk.state
    var requests: [String] = []
    for seconds in stride(from: 5, through: 300, by: 5) {
      let due = kiosk.actions
      if kiosk.state == .undecided { requests += due }
      kiosk.pass(.seconds(5))
      try kiosk.receive(.paid("held", 350, #","reason":"no host""#))
      #expect(kiosk.state == (seconds < 60 ? goal : ChargeState.undecided), "after \(seconds) s")
    }
    #expect(kiosk.report.contains(#""reason":"no host""#))
    #expect(try kiosk.receive(.order("kiwi", panel: "p2")).statuses == [.awaitingPayment])
    // The kiosk still requests it.
    let isMade = made == "done"
    let request = isMade ? "capture" : "release"
    #expect(requests.filter { $0 == request }.count >= 3, "\(requests)")
    try kiosk.receive(isMade ? Delivery.paid("captured", 350) : Delivery.paid("released"))
    #expect(kiosk.core.charges.open.count == (isMade ? 2 : 1))
    try kiosk.ledger.verify()
  }

  /// The device asks another customer before it captures or releases.
  @Test(arguments: ["done", "failed"])
  func aDeviceThatAnswersHasTime(made: String) throws {
    let kiosk = try begun()
    try kiosk.receive(.made(made, job: 3))
    let goal = kiosk.state
    for _ in 1...60 {
      kiosk.pass(.seconds(5))
      try kiosk.receive(.paid("held", 350))
      #expect(kiosk.state == goal && kiosk.core.charges.reports[0].report.state == .busy)
    }
    try kiosk.receive(
      made == "done" ? Delivery.paid("captured", 350) : Delivery.paid("released"))
    try kiosk.ledger.verify()
  }

  /// A person records that the hold is released, and the device still has it.
  @Test func aHoldThatIsRecordedAsReleasedIsNotHeldTwice() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("failed", job: 3))
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    #expect(try kiosk.receive(.decide("released")).statuses == [.applied])
    for reason in ["", #","reason":"no host""#] {
      try kiosk.receive(.paid("held", 350, reason))
      #expect(kiosk.state == .releasing)
    }
    kiosk.pass(.seconds(61))
    try kiosk.receive()
    #expect(kiosk.state == .undecided)
    try kiosk.receive(.paid("held", 350))
    try kiosk.ledger.verify()
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    #expect(kiosk.steps.filter { $0.hasPrefix("held") } == ["held 350"])
    try kiosk.ledger.verify()
  }

  @Test func whatADeviceWasNeverGivenCountsForNothing() throws {
    let kiosk = try Self.kiosk()
    for status in ["captured", "refunded", "released", "declined", "unknown", "waiting"] {
      let units = status == "captured" || status == "refunded" ? 350 : nil
      let stray = try kiosk.receive(.paid(status, units, charge: 77))
      #expect(try stray.reasons == [.unknownCharge])
      #expect(stray.transaction.records.isEmpty && kiosk.core.charges.open.isEmpty)
    }
  }

  /// The kiosk is restored from a backup that is older than the charge.
  @Test func aHoldThatTheLedgerDoesNotKnowIsForAPerson() throws {
    let kiosk = try Self.kiosk()
    let stray = try kiosk.receive(.paid("held", 350, charge: 77))
    #expect(try stray.reasons == [.unknownCharge])
    #expect(kiosk.state == .undecided && kiosk.machineRequests.isEmpty)
    #expect(kiosk.actions == ["state"], "nothing is released by itself")
    try kiosk.receive(.paid("held", 350, charge: 77))
    #expect(kiosk.steps == ["held 350"])
    try kiosk.restart()
    #expect(kiosk.state == .undecided)
    #expect(try kiosk.receive(.decide("capture", charge: 77)).statuses == [.accepted])
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("held", 350, charge: 77))
    #expect(kiosk.actions == ["capture"])
    try kiosk.receive(.paid("captured", 350, charge: 77))
    #expect(kiosk.steps == ["held 350", "capture", "captured 350"])
    try kiosk.ledger.verify()
  }

  @Test func aDeviceThatMakesUpHoldsIsBounded() throws {
    let kiosk = try Self.kiosk()
    for charge in 1...30 { try kiosk.receive(.paid("held", 350, charge: charge)) }
    #expect(kiosk.core.charges.open.count == 20)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.awaitingPayment])
    let last = try #require(kiosk.core.charges.open.last)
    #expect(last.number == Self.first, "made-up numbers do not move the kiosk's own")
  }

  /// A device ends each made-up charge, and makes up the next one.
  @Test func theEntriesOfMadeUpHoldsAreBounded() throws {
    let kiosk = try Self.kiosk()
    for charge in 1...100 {
      try kiosk.receive(
        .paid("held", 350, charge: charge), .paid("refunded", 350, charge: charge))
    }
    #expect(kiosk.steps.count == 3 * 20)
    kiosk.pass(.seconds(61))
    try kiosk.receive(.paid("held", 350, charge: 101))
    #expect(kiosk.state == .undecided)
    try kiosk.ledger.verify()
  }

  /// A device reports money of orders that have ended without a payment.
  @Test(arguments: [("held", "released"), ("captured", "refunded")])
  func theEndedChargesThatADeviceOpensAgainAreBounded(status: String, end: String) throws {
    let kiosk = try Self.kiosk()
    var numbers: [Int] = []
    for _ in 0...20 {
      try kiosk.receive(.order("kiwi"))
      let number = try #require(kiosk.core.charges.open.first?.number)
      try kiosk.receive(.paid("declined", charge: number))
      numbers.append(number)
      kiosk.pass(.seconds(60))
    }
    let epoch = kiosk.core.epoch
    #expect(kiosk.core.charges.open.isEmpty && kiosk.charges.isEmpty)
    for number in numbers { try kiosk.receive(.paid(status, 350, charge: number)) }
    #expect(kiosk.core.charges.open.map(\.number) == Array(numbers.prefix(20)))
    // The device may cause an entry again, and the kiosk has no place.
    kiosk.pass(.seconds(61))
    let question = #"charge/terminal/state {"charge":\#(numbers[20])}"#
    #expect(kiosk.charges.contains(question))
    let refused = try kiosk.receive(
      .paid(status, 350, charge: numbers[20]), .inventory(epoch))
    #expect(try refused.reasons == [.rateLimited])
    #expect(kiosk.core.charges.open.count == 20)
    #expect(kiosk.core.charges.reports[0].report.needsInventory)
    // Nothing is lost: the kiosk asks until it has recorded the charge.
    kiosk.pass(.seconds(15))
    #expect(kiosk.charges.contains(question))
    try kiosk.receive(.paid(end, end == "refunded" ? 350 : nil, charge: numbers[0]))
    try kiosk.receive(.paid(status, 350, charge: numbers[20]), .inventory(epoch))
    #expect(kiosk.core.charges.open.map(\.number) == Array(numbers.suffix(20)))
    #expect(!kiosk.core.charges.reports[0].report.needsInventory)
    try kiosk.ledger.verify()
  }

  @Test func anotherDeviceCannotSayHeld() throws {
    var settings = try Self.settings()
    settings.payment?.devices.append(KioskSettings.Payment.Device(name: "coins", panels: ["p9"]))
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.device("online"), .device("online", of: "coins"))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    try kiosk.receive(.order("kiwi"))
    let said = try kiosk.receive(.paid("held", 350, by: "coins"))
    #expect(try said.reasons == [.unknownCharge])
    #expect(kiosk.core.charges.open.map(\.state) == [.sent] && kiosk.machineRequests.isEmpty)
    #expect(try kiosk.receive(.paid("held", 350, by: "stranger")).reasons == [.unknownDevice])
    let retained = try kiosk.receive(.paid("held", 350, retain: true))
    #expect(try retained.reasons == [.retained])
    #expect(kiosk.core.charges.open.map(\.state) == [.sent])
  }

  @Test func anAnswerAboutAChargeThatWasNotSentDoesNotCount() throws {
    let kiosk = try asked()
    try kiosk.receive(.order("kiwi", panel: "p2"))
    let said = try kiosk.receive(.paid("held", 350, charge: Self.first + 1))
    #expect(try said.reasons == [.unknownCharge])
    #expect(kiosk.core.charges.open.map(\.state) == [.waiting, .queued])
  }

  @Test func repeatedAnswersAboutEndedChargesChangeNothing() throws {
    let kiosk = try asked()
    try kiosk.receive(.paid("declined"))
    let again = try kiosk.receive(.paid("declined"))
    #expect(again.answers.isEmpty && again.transaction.isEmpty)
    // A hold after that is given back.
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.actions == ["release"])
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func theAnswersOfAPaidDayAgainChangeNothing() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    kiosk.pass(.seconds(86_400), day: 20_779)
    try kiosk.receive()
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.restart()
    for answer in [Delivery.paid("held", 350), .paid("captured", 350)] {
      #expect(try kiosk.receive(answer).transaction.records.isEmpty)
    }
    #expect(kiosk.core.charges.open.isEmpty && kiosk.actions.isEmpty)
  }

  @Test func numbersAreNeverGivenAgain() throws {
    let kiosk = try Self.kiosk()
    try kiosk.receive(.order("kiwi"), .order("kiwi", panel: "p2"), .order("kiwi", panel: "p3"))
    #expect(kiosk.core.charges.open.map(\.number) == [Self.first, Self.first + 1, Self.first + 2])
    for _ in 1...3 {
      for charge in kiosk.core.charges.open {
        try kiosk.receive(.paid("declined", charge: charge.number))
      }
      kiosk.pass(.seconds(31))
      try kiosk.receive()
    }
    kiosk.setClock(ahead: -7200)
    try kiosk.restart()
    try kiosk.receive(.device("online"), .order("kiwi"))
    #expect(kiosk.core.charges.open.map(\.number) == [Self.first + 3])
  }

  // MARK: Refunds

  @Test func thePersonsReasonForARefundIsInTheLedger() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    let reason = String(repeating: "s", count: 200)
    try kiosk.receive(
      .message(
        #"{"charge":\#(Self.first),"decision":"refund","word":"\#(reason)"}"#, on: "job/desk"))
    let entry = try #require(try kiosk.ledger.rows(after: 1).last?.0.entry)
    guard case .payment(let step) = try LedgerEntry(payload: entry.payload).outcome else {
      Issue.record("the last entry is no step of a charge")
      return
    }
    #expect(step.kind == .refund && step.reason == reason)
  }

  @Test func aCapturedChargeIsRefundedOnce() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    #expect(try kiosk.receive(.decide("refund")).statuses == [.accepted])
    #expect(try kiosk.receive(.decide("refund")).reasons == [.noDecisionNeeded])
    #expect(kiosk.actions == ["refund"])
    kiosk.pass(.seconds(15))
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.actions == ["refund"], "the device says that nothing happened")
    try kiosk.receive(.paid("refunded", 350))
    #expect(try kiosk.receive(.decide("refund")).reasons == [.noDecisionNeeded])
    #expect(kiosk.steps.filter { $0.hasPrefix("refund") } == ["refund", "refunded 350"])
    try kiosk.ledger.verify()
  }

  @Test(arguments: [true, false])
  func aRefundThatTheDeviceRefusesIsForAPerson(isTriedAgain: Bool) throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    #expect(kiosk.actions == ["refund"])
    try kiosk.receive(.paid("captured", 350, #","reason":"host away""#))
    #expect(kiosk.state == .refunding && kiosk.actions == ["state"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .undecided && kiosk.report.contains(#""reason":"host away""#))
    #expect(kiosk.report.contains(#""decisions":["refund","captured","refunded","cash"]"#))
    try kiosk.restart()
    #expect(kiosk.state == .undecided && kiosk.report.contains(#""reason":"host away""#))
    let choice = isTriedAgain ? "refund" : "refunded"
    #expect(
      try kiosk.receive(.decide(choice)).statuses == [isTriedAgain ? .accepted : .applied])
    #expect(kiosk.core.charges[Self.first] == nil || kiosk.state == .refunding)
    try kiosk.ledger.verify()
  }

  /// The device answers two questions for the state before it gets the request for the refund.
  @Test func anAnswerThatIsOlderThanTheRefundDoesNotRefuseIt() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    for action in ["refund", "state", "state"] {
      #expect(kiosk.actions == [action])
      kiosk.pass(.seconds(15))
    }
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.actions == ["refund"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .refunding && kiosk.actions == ["state"])
    // The answer to the refund is lost.
    try kiosk.receive(.paid("refunded", 350))
    #expect(kiosk.steps.suffix(2) == ["refund", "refunded 350"])
    try kiosk.ledger.verify()
  }

  /// The device has stored the refund, and its terminal is away.
  @Test func aRefundThatWaitsForTheTerminalIsForAPerson() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    for _ in 1...4 {
      #expect(kiosk.state == .refunding && kiosk.actions == ["refund"])
      kiosk.pass(.seconds(15))
      #expect(kiosk.actions == ["state"])
      try kiosk.receive(.paid("captured", 350, #","reason":"terminal away""#))
    }
    #expect(kiosk.state == .undecided && kiosk.report.contains(#""reason":"terminal away""#))
    #expect(try kiosk.receive(.order("kiwi", panel: "p2")).statuses == [.awaitingPayment])
    kiosk.pass(.seconds(60))
    #expect(kiosk.actions.contains("state"))
    try kiosk.receive(.paid("refunded", 350))
    #expect(kiosk.core.charges[Self.first] == nil && kiosk.steps.contains("refunded 350"))
    try kiosk.ledger.verify()
  }

  /// A person records that nothing was refunded, and may be wrong.
  @Test func aSecondRefundIsAskedAboutFirst() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    #expect(kiosk.actions == ["refund"])
    try kiosk.receive(.paid("unknown"))
    try kiosk.receive(.decide("captured"))
    #expect(kiosk.state == .captured && kiosk.actions.isEmpty)
    try kiosk.receive(.decide("refund"))
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.actions == ["refund"])
    try kiosk.receive(.paid("refunded", 350))
    try kiosk.ledger.verify()
  }

  /// - Parameter isClosed: Whether the kiosk has closed the charge before the request.
  @Test(arguments: [true, false]) func theDayAfterNothingIsRefunded(isClosed: Bool) throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    kiosk.pass(.seconds(86_400), day: 20_779)
    if isClosed { try kiosk.receive() }
    #expect(try kiosk.receive(.decide("refund")).reasons == [.noDecisionNeeded])
    // At the terminal it is possible, and the money has moved.
    try kiosk.receive(.paid("refunded", 350))
    try kiosk.receive(.paid("refunded", 350), .paid("captured", 350))
    #expect(kiosk.steps.suffix(3) == ["captured 350", "rejected", "refunded 350"])
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The device answers each question for the state with the part that it has refunded.
  @Test func aRefundInPartIsRecordedOnceAndThePersonRefundsTheRest() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    #expect(kiosk.actions == ["refund"])
    for _ in 1...2 {
      try kiosk.receive(.paid("refunded", 300))
      #expect(kiosk.state == .undecided)
      try kiosk.restart()
      #expect(kiosk.actions == ["state"])
    }
    try kiosk.receive(.paid("refunded", 300))
    #expect(try kiosk.receive(.decide("refund")).reasons == [.noDecisionNeeded])
    #expect(try kiosk.receive(.decide("refunded")).statuses == [.applied])
    #expect(kiosk.steps.suffix(4) == ["refund", "refunded 300", "rejected", "refunded 50"])
    try kiosk.ledger.verify()
  }

  /// A device that errs refunds more than it has captured, or in another currency.
  @Test(arguments: [(351, "EUR"), (350, "USD")])
  func aRefundOfMoreThanWasCapturedIsForAPerson(_ units: Int, _ currency: String) throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    for _ in 1...2 { try kiosk.receive(.paid("refunded", units, currency: currency)) }
    #expect(kiosk.state == .undecided)
    try kiosk.receive(.decide("refunded"))
    #expect(kiosk.steps.suffix(2) == ["refund", "refunded 350"])
    try kiosk.ledger.verify()
  }

  /// The same while the juice is being made.
  @Test(arguments: [true, false])
  func aRefundOfMoreThanWasCapturedBeforeTheEndIsForAPerson(isMade: Bool) throws {
    let kiosk = try begun()
    try kiosk.receive(.paid("captured", 350), .paid("refunded", 351))
    try kiosk.receive(.made(isMade ? "done" : "failed", job: 3))
    #expect(kiosk.state == .undecided && kiosk.report.contains("refunded 3.51 EUR"))
    #expect(try kiosk.receive(.decide("refund")).reasons == [.noDecisionNeeded])
    #expect(try kiosk.receive(.decide("captured")).statuses == [.applied])
    try kiosk.ledger.verify()
  }

  /// The same after the end of the kiosk's day.
  @Test func aRefundOfMoreThanWasCapturedOfAnEndedChargeIsRejected() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    kiosk.pass(.seconds(86_400), day: 20_779)
    try kiosk.receive()
    try kiosk.receive(.paid("refunded", 351))
    #expect(kiosk.core.charges.open.isEmpty && kiosk.steps.last == "captured 350")
    try kiosk.ledger.verify()
  }

  /// A person accepts the rest, or gives it back. The device repeats its answer after the day.
  @Test(arguments: ["captured", "cash"])
  func aRefundInPartIsNotRecordedAgainAfterADecision(choice: String) throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    try kiosk.receive(.paid("refunded", 100))
    #expect(try kiosk.receive(.decide(choice)).statuses == [.applied])
    kiosk.pass(.seconds(86_400), day: 20_779)
    try kiosk.receive()
    #expect(kiosk.core.charges.open.isEmpty)
    for _ in 1...2 { try kiosk.receive(.paid("refunded", 100)) }
    #expect(kiosk.steps.suffix(2).first == "refunded 100")
    try kiosk.ledger.verify()
  }

  /// A person decides that nothing was refunded. The device has refunded, and says so after the day.
  @Test func aRefundAfterADecisionIsAtMostTheAcceptedAmount() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.decide("refund"))
    try kiosk.receive(.paid("unknown"))
    try kiosk.receive(.decide("captured"))
    kiosk.pass(.seconds(86_400), day: 20_779)
    try kiosk.receive()
    try kiosk.receive(.paid("refunded", 351))
    #expect(kiosk.core.charges.open.isEmpty && kiosk.steps.last == "kept 350")
    for _ in 1...2 { try kiosk.receive(.paid("refunded", 350)) }
    #expect(kiosk.steps.suffix(2) == ["kept 350", "refunded 350"])
    try kiosk.ledger.verify()
  }

  // MARK: Totals

  @Test func aTotalIsComparedOnce() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    let total = Delivery.total(1, captured: 350)
    #expect(try kiosk.receive(total).transaction.records.count == 1)
    #expect(try kiosk.receive(total).transaction.records.isEmpty)
    try kiosk.restart()
    #expect(try kiosk.receive(total).transaction.records.isEmpty)
    #expect(kiosk.core.charges.reports[0].report.difference == 0)
    let more = try kiosk.receive(.total(2, captured: 100, at: "2026-11-22T22:00:00Z"))
    guard case .total(_, _, difference: 100) = more.transaction.records[0].row.entry.outcome else {
      Issue.record("the difference is not recorded")
      return
    }
    #expect(kiosk.core.charges.reports[0].report.difference == 100)
    try kiosk.ledger.verify()
  }

  /// An account of a payment device publishes totals as fast as it can.
  @Test func theEntriesOfTotalsAreBounded() throws {
    let kiosk = try begun()
    var count = 0
    for number in 1...100 {
      count += try kiosk.receive(.total(number, captured: 0)).transaction.records.count
    }
    #expect(count == 20)
    kiosk.pass(.seconds(61))
    let total = try kiosk.receive(.total(101, captured: 0))
    guard case .total(_, _, difference: nil) = total.transaction.records.first?.row.entry.outcome
    else {
      Issue.record("\(total.transaction.records)")
      return
    }
    try kiosk.ledger.verify()
  }

  /// A payment was typed in at the terminal, or the device does not know of a capture.
  @Test func theSumOfTheTerminalCountsBeforeThatOfTheDevice() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    try kiosk.receive(.total(1, captured: 0, net: 350))
    #expect(kiosk.core.charges.reports[0].report.difference == 0)
    try kiosk.receive(.total(2, captured: 0, net: 700))
    #expect(kiosk.core.charges.reports[0].report.difference == 700)
  }

  /// The kiosk was off over two ends of day, and the broker has the last one.
  @Test func aTotalAfterAMissedOneIsNotCompared() throws {
    let kiosk = try begun()
    try kiosk.receive(.total(1, captured: 0))
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    let missed = try kiosk.receive(.total(3, captured: 0))
    guard case .total(_, _, difference: nil) = missed.transaction.records[0].row.entry.outcome
    else {
      Issue.record("\(missed.transaction.records)")
      return
    }
    #expect(kiosk.core.charges.reports[0].report.difference == 0)
    #expect(kiosk.core.charges.reports[0].report.captured?.units == 0)
  }

  // MARK: Devices

  @Test(arguments: ["offline", "fault: no paper", ""])
  func withoutADeviceNoOrderIsTaken(status: String) throws {
    let kiosk = try Self.kiosk()
    try kiosk.receive(.device(status))
    let rejected = try kiosk.receive(.order("kiwi"), .order("kiwi", panel: "staff"))
    #expect(try rejected.results.map(\.reason) == [.paymentDown, nil])
    #expect(try rejected.results[0].message == "The card terminal is out of order.")
    #expect(kiosk.stock["kiwi"] == 7)
  }

  @Test func aCardNumberInTheFaultOfADeviceIsDropped() throws {
    let kiosk = try Self.kiosk()
    try kiosk.receive(.device("fault: card 4111 1111 1111 1111"))
    #expect(try kiosk.ledger.state().paymentDevices["terminal"]?.status == .fault(""))
    #expect(!kiosk.reports.isEmpty && !kiosk.reports.contains { $0.contains("4111") })
  }

  @Test func aDeviceServesItsPanels() throws {
    var settings = try Self.settings()
    settings.payment?.devices = [
      KioskSettings.Payment.Device(name: "terminal", panels: ["p1"]),
      KioskSettings.Payment.Device(name: "coins", panels: ["p1", "p2"]),
    ]
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.device("online"), .device("online", of: "coins"))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    let orders = try kiosk.receive(
      .order("kiwi"), .order("mango_kiwi", panel: "p2"), .order("mango_kiwi", panel: "p3"))
    #expect(try orders.results.map(\.device) == ["terminal", "coins", nil])
    #expect(try orders.reasons == [nil, nil, .paymentDown])
  }

  @Test func aDeviceThatAnswersNothingGetsNoOrders() throws {
    let kiosk = try Self.kiosk()
    try kiosk.receive(.order("kiwi"))
    for _ in 1...9 {
      #expect(kiosk.charges.count == 1)
      kiosk.pass(.seconds(5))
      try kiosk.receive()
    }
    #expect(kiosk.actions == ["release"])
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.paymentDown])
    // A status that the broker has kept does not count.
    try kiosk.receive(.device("online", retain: true))
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.paymentDown])
    try kiosk.receive(.device("online"))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.awaitingPayment])
  }

  @Test func aMachineThatGoesDownMeanwhileGivesTheMoneyBack() throws {
    let kiosk = try asked()
    try kiosk.receive(.message("offline", on: "machine/bar/status"))
    let held = try kiosk.receive(.paid("held", 350))
    #expect(try held.results.map(\.failure) == ["machine_down"])
    #expect(kiosk.actions == ["release"] && kiosk.stock["kiwi"] == 10)
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The settings are reloaded between the order and the payment, and no machine makes the juice now.
  @Test(arguments: [false, true])
  func anOrderThatWasTakenForAMachineIsNotMadeWithoutOne(restarts: Bool) throws {
    let kiosk = try asked()
    var settings = kiosk.settings
    settings.machines[0].juices = ["banana"]
    try kiosk.reload(settings)
    if restarts { try kiosk.restart() }
    let held = try kiosk.receive(.paid("held", 350))
    #expect(try held.results.map(\.failure) == ["machine_down"])
    #expect(kiosk.actions == ["release"] && kiosk.stock["kiwi"] == 10)
    try kiosk.receive(.paid("released"))
    #expect(kiosk.core.charges.open.isEmpty)
    #expect(kiosk.steps == ["awaiting_payment 350", "held 350", "returned", "released 350"])
    try kiosk.ledger.verify()
  }

  @Test func chargesOutliveARestart() throws {
    let kiosk = try begun()
    try kiosk.receive(.order("mango_kiwi"), .paid("held", 350, charge: 9))
    let before = kiosk.core.charges.open
    #expect(before.count == 3)
    try kiosk.restart()
    #expect(kiosk.core.charges.open == before)
    let report = kiosk.core.charges.reports[0].report
    #expect(try PaymentReport(payload: report.payload) == report)
    #expect(report.charges.map(\.request) == [.release])
    #expect(report.charges.map(\.decisions) == [[.capture, .release, .captured, .released]])
  }

  // MARK: What is left if the device cannot do it

  /// The terminal cannot say whether it has captured the amount of a juice that was made.
  private func unpaid() throws -> TestKiosk {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3))
    _ = kiosk.charges
    try kiosk.receive(.paid("unknown", #","reason":"the terminal does not say""#))
    #expect(kiosk.state == .undecided)
    return kiosk
  }

  @Test(arguments: ["capture", "release"])
  func aRequestOfAPersonIsDoneOnlyIfMoneyHasMoved(request: String) throws {
    let kiosk = try unpaid()
    for _ in 1...2 {
      #expect(try kiosk.receive(.decide(request)).statuses == [.accepted])
      _ = kiosk.charges
      let unknown = try kiosk.receive(.paid("unknown", #","reason":"the terminal does not say""#))
      #expect(try unknown.statuses == [.failed])
      #expect(try unknown.results.map(\.failure) == ["the terminal does not say"])
      #expect(kiosk.state == .undecided)
    }
    #expect(try kiosk.receive(.decide(request)).statuses == [.accepted])
    _ = kiosk.charges
    try kiosk.receive(.paid("held", 350))
    _ = kiosk.charges
    let done =
      request == "capture"
      ? try kiosk.receive(.paid("captured", 350))
      : try kiosk.receive(.paid("released"))
    #expect(try done.statuses == [.applied])
    try kiosk.ledger.verify()
  }

  @Test func aCaptureThatAPersonRequestsTakesThePriceOfTheMadeGlasses() throws {
    let kiosk = try begun(quantity: 2)
    try kiosk.receive(.made("failed", job: 3, #","made":1"#))
    _ = kiosk.charges
    try kiosk.receive(.paid("unknown"))
    #expect(kiosk.core.charges.reports[0].report.charges.map(\.amount.units) == [350])
    let rows = try kiosk.ledger.charges(since: Timestamp(milliseconds: 0))
    #expect(rows.map(\.undecided) == [350])
    #expect(try kiosk.receive(.decide("capture")).statuses == [.accepted])
    #expect(kiosk.actions == ["state"])
    try kiosk.receive(.paid("held", 700))
    #expect(
      kiosk.charges == [
        #"charge/terminal/capture {"charge":\#(Self.first),"amount":350,"currency":"EUR"}"#
      ])
    #expect(try kiosk.receive(.paid("captured", 350)).statuses == [.applied])
    #expect(kiosk.state == .captured)
    try kiosk.ledger.verify()
  }

  @Test func aRequestThatNobodyAnswersIsNotDone() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    #expect(try kiosk.receive(.decide("refund")).statuses == [.accepted])
    kiosk.pass(.seconds(60))
    let late = try kiosk.receive()
    #expect(try late.results.map(\.failure) == ["no answer"])
    // A later answer has no receiver.
    #expect(try kiosk.receive(.paid("refunded", 350)).answers.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func aJuiceThatNobodyPaysIsWrittenOff() throws {
    let kiosk = try unpaid()
    #expect(
      kiosk.report.contains(
        #""decisions":["capture","release","captured","released","write_off"]"#))
    #expect(try kiosk.receive(.decide("cash")).reasons == [.noDecisionNeeded])
    #expect(try kiosk.receive(.decide("write_off")).statuses == [.applied])
    #expect(kiosk.core.charges.open.isEmpty && kiosk.steps.last == "written_off 350")
    // The device has found out that it holds the amount, or that it has captured it.
    try kiosk.receive(.paid("held", 350))
    #expect(kiosk.actions == ["release"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .undecided)
    try kiosk.ledger.verify()
  }

  /// The device has not answered, so it may still hold the amount.
  @Test func whatIsWrittenOffIsNotHeldEither() throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3))
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    #expect(kiosk.state == .undecided)
    try kiosk.receive(.decide("write_off"))
    #expect(kiosk.state == .releasing && kiosk.actions == ["release"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .undecided && kiosk.report.contains("captured, written off"))
    try kiosk.receive(.decide("captured"))
    #expect(kiosk.state == .captured)
    try kiosk.ledger.verify()
  }

  @Test(arguments: [true, false]) func cashIsNoRefundOfTheDevice(isRefused: Bool) throws {
    let kiosk = try begun()
    try kiosk.receive(.made("done", job: 3), .paid("captured", 350))
    if isRefused {
      try kiosk.receive(.decide("refund"))
      _ = kiosk.charges
      try kiosk.receive(.paid("captured", 350, #","reason":"host away""#))
      _ = kiosk.charges
      try kiosk.receive(.paid("captured", 350))
      #expect(kiosk.state == .undecided)
    }
    #expect(try kiosk.receive(.decide("cash")).statuses == [.applied])
    #expect(kiosk.core.charges.open.isEmpty && kiosk.steps.last == "paid_back 350")
    #expect(kiosk.core.charges.reports[0].report.refunded?.units == 0)
    // The device refunds as well: the ledger has both.
    try kiosk.receive(.paid("refunded", 350))
    #expect(kiosk.steps.last == "refunded 350")
    try kiosk.ledger.verify()
  }

  // MARK: The sums

  @Test func theFourSumsAddUp() throws {
    let kiosk = try TestKiosk(settings: try Self.settings(isPoured: false), stock: ["kiwi": 90])
    try kiosk.receive(.device("online"))
    var charge = Self.first - 1
    func order(_ answers: (String, Int?)...) throws {
      charge += 1
      try kiosk.receive(.order("kiwi"))
      _ = kiosk.charges
      for answer in answers {
        try kiosk.receive(.paid(answer.0, answer.1, charge: charge))
        _ = kiosk.charges
      }
    }
    try order(("declined", nil))
    try order(("held", 350), ("captured", 350))
    try order(("held", 350), ("captured", 350))
    try kiosk.receive(.decide("refund", charge: charge))
    _ = kiosk.charges
    try kiosk.receive(.paid("refunded", 350, charge: charge))
    try order(("held", 350), ("captured", 350))
    try kiosk.receive(.decide("cash", charge: charge))
    try order(("held", 350), ("unknown", nil))
    try kiosk.receive(.decide("write_off", charge: charge))
    // An order of a free panel.
    try kiosk.receive(.order("kiwi", panel: "staff"))
    try order(("held", 350))
    var sums = MoneySums()
    for row in try kiosk.ledger.money(since: Timestamp(milliseconds: 0)) { sums += row.sums }
    #expect(sums.sold == 6 * 350 && sums.taken == 3 * 350 && sums.givenBack == 2 * 350)
    #expect(sums.writtenOff == 4 * 350 && sums.open == 350)
    #expect(sums.sold == sums.taken - sums.givenBack + sums.writtenOff + sums.open)
    // Each charge belongs to one page, with all its steps.
    for size in [1, 2, 3, 7, 1_000] {
      let last = kiosk.core.seq
      let pages = try stride(from: 0, to: last, by: size).flatMap { before in
        try kiosk.ledger.money(after: before, through: before + size, step: 0)
      }
      #expect(pages.reduce(MoneySums()) { $0 + $1.sums } == sums)
    }
    try kiosk.ledger.verify()
  }

  // MARK: A restored ledger

  /// The ledger is restored while the device stays connected. Requests and answers may be lost.
  @Test func aRestoredKioskAsksADeviceForAllThatItHoldsUntilItAnswers() throws {
    let kiosk = try asked()
    #expect(kiosk.charges.isEmpty)
    try kiosk.restartInNewEpoch()
    let epoch = kiosk.core.epoch
    let request = [#"charge/terminal/open {"epoch":\#(epoch)}"#]
    #expect(kiosk.isDue && kiosk.charges.filter { $0.contains("/open") } == request)
    #expect(kiosk.core.charges.reports[0].report.needsInventory)
    // The request or its answer is lost.
    kiosk.pass(.seconds(14))
    #expect(!kiosk.charges.contains(request[0]))
    kiosk.pass(.seconds(1))
    #expect(kiosk.isDue && kiosk.charges.contains(request[0]))
    kiosk.loseConnection()
    #expect(kiosk.charges.contains(request[0]))
    // Neither an answer from before the restore nor a retained one counts.
    try kiosk.receive(.inventory(epoch - 1), .inventory(epoch, retain: true))
    kiosk.pass(.seconds(15))
    #expect(kiosk.charges.contains(request[0]))
    // The device holds an amount of a charge that the backup does not have.
    try kiosk.receive(.paid("held", 299, charge: 9), .inventory(epoch))
    #expect(kiosk.core.charges[9]?.state == .undecided)
    #expect(try kiosk.ledger.state().paymentDevices["terminal"]?.epoch == epoch)
    kiosk.pass(.seconds(60))
    #expect(!kiosk.charges.contains(request[0]))
  }

  /// The device publishes its holds before the kiosk is connected, and goes offline again.
  @Test func aDeviceIsAskedWhatItHoldsWhenItComesOnline() throws {
    let kiosk = try TestKiosk(settings: try Self.settings())
    #expect(kiosk.charges.isEmpty)
    try kiosk.receive(.device("offline"))
    #expect(kiosk.charges.isEmpty)
    for status in ["online", "fault: no paper"] {
      try kiosk.receive(.device(status))
      #expect(kiosk.charges == [#"charge/terminal/open {"epoch":\#(kiosk.core.epoch)}"#])
      try kiosk.receive(.device("offline"))
      kiosk.pass(.seconds(60))
      #expect(kiosk.charges.isEmpty)
    }
    try kiosk.receive(.device("online"), .inventory(kiosk.core.epoch))
    #expect(kiosk.charges.isEmpty)
    try kiosk.restart()
    #expect(kiosk.charges.isEmpty && !kiosk.core.charges.reports[0].report.needsInventory)
  }

  @Test func aDeviceThatIsRemovedKeepsItsCharges() throws {
    let kiosk = try begun()
    var settings = kiosk.settings
    settings.payment = nil
    try kiosk.reload(settings.keepingPayment(of: kiosk.core.charges.open))
    try kiosk.receive(.made("done", job: 3))
    #expect(kiosk.actions == ["capture"])
    try kiosk.receive(.paid("captured", 350))
    #expect(kiosk.state == .captured)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.accepted], "nothing is paid any more")
  }
}

extension TestKiosk {
  /// The requests to payment devices that are due.
  fileprivate var charges: [String] {
    messagesForPaymentDevices().map {
      "\($0.topic.dropFirst("kiosk/k1/".count)) \(text($0.payload))"
    }
  }

  /// The last levels of their topics.
  fileprivate var actions: [String] {
    messagesForPaymentDevices().map { String($0.topic.split(separator: "/").last ?? "") }
  }

  fileprivate var machineRequests: [String] {
    messagesForMachines().map { "\($0.topic.dropFirst("kiosk/k1/".count)) \(text($0.payload))" }
  }

  fileprivate var state: ChargeState? { core.charges.open.first?.state }
  fileprivate var report: String { text(core.charges.reports[0].report.payload) }

  /// The entries after the first with their amounts in cents.
  fileprivate var steps: [String] {
    let rows = (try? ledger.rows(after: 1)) ?? []
    return rows.map { row, _, _ in
      row.entry.status.rawValue + (row.entry.amount.map { " \($0.units)" } ?? "")
    }
  }
}

extension Delivery {
  fileprivate static func fridge(_ payload: String) -> Delivery {
    Delivery(message: Message(topic: "t/fridge", payload: Array(payload.utf8)), packetID: 0)
  }

  fileprivate static func paid(
    _ status: String, _ units: Int? = nil, _ more: String = "", charge: Int = PaymentTests.first,
    currency: String = "EUR", by device: String = "terminal", retain: Bool = false
  ) -> Delivery {
    let amount = units.map { #","amount":\#($0),"currency":"\#(currency)""# } ?? ""
    return .message(
      #"{"charge":\#(charge),"status":"\#(status)"\#(amount)\#(more)}"#, on: "paid/\(device)",
      retain: retain)
  }

  fileprivate static func paid(
    _ status: String, _ more: String, charge: Int = PaymentTests.first
  ) -> Delivery {
    .paid(status, nil, more, charge: charge)
  }

  fileprivate static func device(
    _ status: String, of device: String = "terminal", retain: Bool = false
  ) -> Delivery {
    .message(status, on: "payment/\(device)/status", retain: retain)
  }

  fileprivate static func made(_ status: String, job: Int, _ more: String = "") -> Delivery {
    .message(#"{"job":\#(job),"status":"\#(status)"\#(more)}"#, on: "made/bar")
  }

  fileprivate static func inventory(_ epoch: Int, retain: Bool = false) -> Delivery {
    .message(#"{"status":"open","epoch":\#(epoch)}"#, on: "paid/terminal", retain: retain)
  }

  fileprivate static func decide(_ choice: String, charge: Int = PaymentTests.first) -> Delivery {
    .message(#"{"charge":\#(charge),"decision":"\#(choice)"}"#, on: "job/desk")
  }

  fileprivate static func total(
    _ number: Int, captured: Int, net: Int? = nil, at: String = "2026-11-21T22:00:00Z"
  ) -> Delivery {
    let net = net.map { #","terminal_net":\#($0)"# } ?? ""
    return .message(
      #"{"total":\#(number),"at":"\#(at)","currency":"EUR","captured":\#(captured),"#
        + #""refunded":0,"count":1\#(net)}"#, on: "payment/terminal/total", retain: true)
  }
}
