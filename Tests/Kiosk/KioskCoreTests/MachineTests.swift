import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

@Suite struct MachineTests {
  private let kiosk: TestKiosk

  init() throws {
    var settings = KioskSettings.test()
    settings.machines = [
      KioskSettings.Machine(name: "bar", juices: ["kiwi", "banana"], finishLimit: .seconds(60)),
      KioskSettings.Machine(name: "arm", juices: ["kiwi"], returnsFruit: false),
    ]
    kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.status("online"))
  }

  // MARK: Jobs

  @Test func anOrderIsAcceptedAndThenReady() throws {
    let accepted = try kiosk.receive(.order(#"{"id":"a1","juice":"kiwi"}"#))
    #expect(
      accepted.answers.map { text($0.payload) } == [
        #"{"id":"a1","status":"accepted","ticket":1,"juice":"kiwi","quantity":1,"place":1,"#
          + #""machine":"bar","used":{"kiwi":3},"#
          + #""stock":{"banana":10,"kiwi":7,"mango":10,"pineapple":10,"strawberry":10},"#
          + #""message":"Kiwi juice is being made. Your number is 1.","seq":2}"#
      ])
    #expect(
      kiosk.orders == [
        #"make/bar {"job":2,"ticket":1,"juice":"kiwi","quantity":1,"recipe":{"kiwi":3}}"#
      ])
    let started = try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    #expect(started.answers.isEmpty && started.transaction.records.isEmpty)
    let done = try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    #expect(done.answers.map(\.topic) == ["kiosk/k1/order/p1/result"])
    #expect(
      done.answers.map { text($0.payload) } == [
        #"{"id":"a1","status":"ready","ticket":1,"juice":"kiwi","quantity":1,"machine":"bar","#
          + #""stock":{"banana":10,"kiwi":7,"mango":10,"pineapple":10,"strawberry":10},"#
          + #""message":"Kiwi juice is ready. Enjoy!","seq":3}"#
      ])
    #expect(kiosk.core.jobs.open.isEmpty)
    try kiosk.ledger.verify()
  }

  /// The settings with another recipe of kiwi juice, or without the juice, and without the machines.
  private func changed(hasKiwiJuice: Bool) throws -> KioskSettings {
    var settings = kiosk.settings
    let juices = try Menu.standard.juices.compactMap { juice -> Juice? in
      guard juice.id == "kiwi" else { return juice }
      return try hasKiwiJuice
        ? Juice(id: "kiwi", name: juice.name, recipe: Recipe(["kiwi": 2, "mango": 5])) : nil
    }
    settings.menu = try Menu(fruits: Menu.standard.fruits, juices: juices)
    return settings
  }

  @Test(arguments: [true, false])
  func anotherMenuDoesNotChangeAnAcceptedOrder(hasKiwiJuice: Bool) throws {
    try kiosk.receive(.order(#"{"juice":"kiwi"}"#), .order(#"{"juice":"kiwi","quantity":2}"#))
    try kiosk.reload(changed(hasKiwiJuice: hasKiwiJuice))
    try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    #expect(
      kiosk.orders.last
        == #"make/bar {"job":3,"ticket":2,"juice":"kiwi","quantity":2,"recipe":{"kiwi":3}}"#)
    try kiosk.restart()
    let done = try kiosk.receive(.made(#"{"job":3,"status":"done"}"#))
    #expect(try done.results.map(\.message) == ["Kiwi juice is ready. Enjoy!"])
    #expect(kiosk.stock["kiwi"] == 1 && kiosk.stock["mango"] == 10)
  }

  @Test func aMachineThatIsRemovedKeepsItsTermsForItsJobs() throws {
    try kiosk.receive(.status("online", of: "arm"), .status("offline"))
    try kiosk.receive(.order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#, by: "arm"))
    var settings = kiosk.settings
    settings.machines.removeLast()
    try kiosk.reload(settings.keepingMachines(of: kiosk.core.jobs.open, [:]))
    try kiosk.restart()
    try kiosk.receive(.made(#"{"job":2,"status":"failed","reason":"jam"}"#, by: "arm"))
    #expect(kiosk.stock["kiwi"] == 7, "the arm keeps the fruit of a failed attempt")
  }

  @Test func theSameIDGetsTheLastAnswerAgain() throws {
    let order = Delivery.order(#"{"id":"a1","juice":"kiwi"}"#)
    try kiosk.receive(order)
    #expect(try kiosk.receive(order).statuses == [.accepted])
    let both = try kiosk.receive(.made(#"{"job":2,"status":"done"}"#), order)
    #expect(try both.statuses == [.ready, .ready])
    try kiosk.restart()
    let repeated = try kiosk.receive(order)
    #expect(try repeated.results.map(\.isDuplicate) == [true])
    #expect(try repeated.statuses == [.ready])
    #expect(kiosk.stock["kiwi"] == 7)
  }

  @Test func aRedeliveryWithoutAnIDGetsTheLastAnswerAgain() throws {
    try kiosk.receive(.order("kiwi", packetID: 7))
    try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    try kiosk.restart()
    let again = try kiosk.receive(.order("kiwi", packetID: 7, redelivered: true))
    #expect(try again.statuses == [.ready])
    #expect(kiosk.stock["kiwi"] == 7)
  }

  @Test func theAnswerGoesWhereTheSenderHasAskedForIt() throws {
    try kiosk.receive(
      .order(
        "kiwi", responseTopic: "kiosk/k1/order/p1/mine", correlationData: [1, 2]))
    try kiosk.restart()
    let done = try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    #expect(done.answers.map(\.topic) == ["kiosk/k1/order/p1/mine"])
    #expect(done.answers.map(\.correlationData) == [[1, 2]])
  }

  @Test func aJuiceThatNoMachineMakesIsReadyAtOnce() throws {
    #expect(try kiosk.receive(.order("mango")).statuses == [.ready])
  }

  @Test func theShortestQueueGetsTheOrder() throws {
    try kiosk.receive(.status("online", of: "arm"))
    let accepted = try kiosk.receive(.order("kiwi"), .order("kiwi"), .order("banana"))
    #expect(try accepted.results.map(\.machine) == ["bar", "arm", "bar"])
    #expect(try accepted.results.map(\.place) == [1, 1, 2])
  }

  // MARK: Failure

  @Test func whatAFailedJobHasNotUsedGoesBack() throws {
    try kiosk.receive(.order("kiwi"))
    let failed = try kiosk.receive(
      .made(#"{"job":2,"status":"failed","reason":"jam","used":{"kiwi":1,"mango":0}}"#))
    #expect(
      failed.answers.map { text($0.payload) } == [
        #"{"status":"failed","ticket":1,"juice":"kiwi","quantity":1,"machine":"bar","#
          + #""stock":{"banana":10,"kiwi":9,"mango":10,"pineapple":10,"strawberry":10},"#
          + #""reason":"jam","message":"Sorry, Kiwi juice could not be made.","seq":3}"#
      ])
    try kiosk.ledger.verify()
  }

  @Test(arguments: [("bar", 10), ("arm", 7)])
  func whatTheMachineDoesNotSayTheConfigurationSays(machine: String, kiwi: Int) throws {
    try kiosk.receive(.status("offline"), .status("online", of: machine))
    try kiosk.receive(.order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"failed"}"#, by: machine))
    #expect(kiosk.stock["kiwi"] == kiwi)
    try kiosk.ledger.verify()
  }

  @Test(arguments: [#"{"kiwi":-1}"#, #"{"kiwi":4}"#, #"{"kiwi":1,"mango":1}"#, #"{"durian":1}"#])
  func aMachineThatCannotHaveUsedThatFruitIsNotBelieved(used: String) throws {
    try kiosk.receive(.order("kiwi"))
    let failed = #"{"job":2,"status":"failed","reason":"jam","used":\#(used)}"#
    for _ in 1...4 {
      let refused = try kiosk.receive(.made(failed))
      #expect(try refused.reasons == [.malformed])
      #expect(refused.answers.map(\.topic) == ["kiosk/k1/made/bar/result"])
    }
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
    #expect(kiosk.stock["kiwi"] == 7 && kiosk.report.state == .idle)
    let decision = #"{"job":2,"decision":"give_back","used":\#(used)}"#
    #expect(try kiosk.receive(.job(decision)).reasons == [.malformed])
    try kiosk.receive(.job(#"{"job":2,"decision":"give_back","used":{"kiwi":3}}"#))
    #expect(kiosk.stock["kiwi"] == 7 && kiosk.core.jobs.open.isEmpty)
    try kiosk.ledger.verify()
  }

  @Test func fruitGoesBackAboveTheCapacity() throws {
    try kiosk.receive(.order("kiwi"), .restock(#"{"set":{"kiwi":100}}"#))
    try kiosk.receive(.made(#"{"job":2,"status":"failed"}"#))
    #expect(kiosk.stock["kiwi"] == 103)
    try kiosk.ledger.verify()
  }

  @Test func threeFailuresInARowCloseAMachine() throws {
    for job in [2, 4, 6] {
      #expect(try kiosk.receive(.order("banana")).statuses == [.accepted])
      try kiosk.receive(.made(#"{"job":\#(job),"status":"failed","reason":"jam"}"#))
    }
    let rejected = try kiosk.receive(.order("banana"))
    #expect(try rejected.reasons == [.machineDown])
    #expect(kiosk.report.state == .failing)
    #expect(kiosk.servings("banana") == 0)
    try kiosk.restart()
    #expect(kiosk.report.state == .failing)
    // A retained status is not new.
    try kiosk.receive(.status("online", retain: true))
    #expect(kiosk.report.state == .failing)
    // The machine gets one attempt.
    try kiosk.receive(.status("online"))
    #expect(try kiosk.receive(.order("banana")).statuses == [.accepted])
    try kiosk.receive(.made(#"{"job":9,"status":"failed","reason":"jam"}"#))
    #expect(kiosk.report.state == .failing)
    try kiosk.receive(.status("online"), .order("banana"))
    try kiosk.receive(.made(#"{"job":11,"status":"done"}"#))
    for job in [13, 15] {
      try kiosk.receive(.order("banana"))
      try kiosk.receive(.made(#"{"job":\#(job),"status":"failed"}"#))
    }
    #expect(kiosk.report.state == .idle)
  }

  @Test(arguments: ["offline", "fault: no cups", ""])
  func aMachineThatCannotWorkGetsNoOrders(status: String) throws {
    try kiosk.receive(.order("banana"), .order("banana"))
    _ = kiosk.orders
    try kiosk.receive(.status(status))
    let rejected = try kiosk.receive(.order("banana"))
    #expect(try rejected.reasons == [.machineDown])
    #expect(try rejected.results.map(\.message) == ["The machine is out of order."])
    #expect(kiosk.servings("banana") == 0 && kiosk.servings("mango") == 3)
    // The second job stays in the queue.
    try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    #expect(kiosk.core.jobs.open.map(\.state) == [.queued])
    try kiosk.receive(.status("online"))
    #expect(kiosk.core.jobs.open.map(\.state) == [.sent])
  }

  @Test func aMachineWithoutAFruitMakesTheOtherJuices() throws {
    try kiosk.receive(.order("banana"), .order("kiwi"), .order("banana"))
    _ = kiosk.orders
    let out = try kiosk.receive(.status(#"{"out":["kiwi"]}"#))
    // A later number may not overtake the queued kiwi juice, so that is given back.
    #expect(try out.results.map(\.failure) == ["no_fruit"])
    #expect(kiosk.core.jobs.open.map(\.number) == [2, 4])
    #expect(kiosk.servings("kiwi") == 0 && kiosk.servings("banana") == 3)
    #expect(kiosk.report.state == .busy && kiosk.report.out == ["kiwi"])
    #expect(try MachineReport(payload: kiosk.report.payload) == kiosk.report)
    let orders = try kiosk.receive(.order("kiwi"), .order("banana"))
    #expect(try orders.statuses == [.rejected, .accepted])
    #expect(try orders.results.map(\.reason) == [.machineDown, nil])
    try kiosk.restart()
    #expect(kiosk.servings("kiwi") == 0 && kiosk.report.out == ["kiwi"])
    // Another machine has kiwis.
    try kiosk.receive(.status("online", of: "arm"))
    #expect(try kiosk.receive(.order("kiwi")).results.map(\.machine) == ["arm"])
    try kiosk.receive(.status("offline", of: "arm"), .status("online"))
    #expect(kiosk.servings("kiwi") == 2 && kiosk.report.out.isEmpty)
  }

  @Test(arguments: [#"{"out":"kiwi"}"#, #"{"out":[1]}"#, #"{"out":["a/b"]}"#, "{}", "{", "Online"])
  func aStatusThatCannotBeReadIsTold(status: String) throws {
    #expect(try kiosk.receive(.status(status)).reasons == [.malformed])
    #expect(kiosk.report.state == .idle)
  }

  // MARK: Time

  @Test func theTimeInWhichAMachineWaitsDoesNotCount() throws {
    try kiosk.receive(.order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    kiosk.pass(.seconds(40))
    try kiosk.receive(.made(#"{"job":2,"status":"waiting","reason":"no cup"}"#))
    #expect(
      kiosk.reports == [
        #"machine/bar {"state":"waiting","reason":"no cup","queue":0,"juices":["banana","kiwi"],"#
          + #""job":2,"ticket":1,"jobs":[{"job":2,"attempt":2,"ticket":1,"juice":"kiwi","#
          + #""quantity":1,"state":"started","at":"2026-11-21T09:00:00Z","waiting":"no cup"}],"#
          + #""ready":[]}"#
      ])
    #expect(try MachineReport(payload: kiosk.report.payload) == kiosk.report)
    #expect(kiosk.core.jobs.wait(at: kiosk.now) == nil)
    kiosk.pass(.seconds(3_600))
    // The machine says it again, because the kiosk was disconnected.
    try kiosk.receive(.made(#"{"job":2,"status":"waiting","reason":"still no cup"}"#))
    try kiosk.reload()
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.report.state == .waiting && kiosk.report.reason == "still no cup")
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    #expect(kiosk.report.state == .busy)
    kiosk.pass(.milliseconds(19_999))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.started, .queued])
    kiosk.pass(.milliseconds(1))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision, .queued])
  }

  @Test func aMachineThatWaitsAndLosesItsPowerWaitsNoMore() throws {
    try kiosk.receive(.order("kiwi"))
    // The first answer.
    try kiosk.receive(.made(#"{"job":2,"status":"waiting"}"#))
    #expect(kiosk.core.jobs.open.map(\.state) == [.started] && kiosk.report.reason == "waiting")
    kiosk.pass(.seconds(100))
    try kiosk.receive(.status("offline"))
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
  }

  @Test func whatWaitsTooLongInTheKioskIsGivenBack() throws {
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    kiosk.pass(.seconds(30))
    #expect(try kiosk.receive().answers.isEmpty)
    kiosk.pass(.milliseconds(1))
    let late = try kiosk.receive()
    #expect(try late.results.map(\.failure) == ["waited_too_long"])
    #expect(try late.results.map(\.ticket) == [2])
    #expect(kiosk.stock["kiwi"] == 7)
  }

  /// The clock is set while an order waits in the kiosk, and one at the machine.
  @Test(arguments: [-3_600, -20, 20, 3_600, 400 * 86_400])
  func anOrderAgesByTheClockThatNobodySets(ahead: Int64) throws {
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    kiosk.pass(.seconds(10))
    kiosk.setClock(ahead: ahead)
    // The disk fails, and works again.
    try kiosk.recover()
    #expect(try kiosk.receive().answers.isEmpty)
    #expect(kiosk.messagesForMachines().map(\.expiry) == [20])
    kiosk.pass(.seconds(20))
    #expect(try kiosk.receive().answers.isEmpty)
    kiosk.pass(.milliseconds(1))
    #expect(kiosk.core.jobs.wait(at: kiosk.now) == .zero)
    let late = try kiosk.receive()
    #expect(try late.results.map(\.failure) == ["waited_too_long"])
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
    #expect(kiosk.orders == [#"make/bar/cancel {"job":2}"#])
  }

  /// After a restart only the wall clock tells the age, and none before the time of the order.
  @Test(arguments: [(0, 20), (5, 15), (-5, 25), (-11, 0), (-3_600, 0), (3_600, 0)])
  func anOrderOfAnEarlierProcessAgesFromTheWallClockOn(ahead: Int64, rest: Int) throws {
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    kiosk.pass(.seconds(10))
    kiosk.setClock(ahead: ahead)
    try kiosk.restart()
    #expect(try kiosk.receive().results.isEmpty == (rest > 0))
    guard rest > 0 else { return }
    // From now on, setting the clock does not matter.
    kiosk.setClock(ahead: -3_600)
    kiosk.pass(.seconds(rest))
    #expect(try kiosk.receive().results.isEmpty)
    kiosk.pass(.milliseconds(1))
    #expect(try kiosk.receive().results.map(\.failure) == ["waited_too_long"])
  }

  /// The clock stands still while the computer is off. A restart of the kiosk alone is no doubt.
  @Test func anOrderFromBeforeATimeWithoutPowerIsTooOld() throws {
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    #expect(kiosk.orders.count == 1)
    try kiosk.cutPower(for: .seconds(12 * 3_600), hasClock: false)
    #expect(try kiosk.receive().results.map(\.failure) == ["waited_too_long"])
    #expect(kiosk.orders == [#"make/bar/cancel {"job":2}"#])
    try kiosk.receive(.made(#"{"job":2,"status":"cancelled"}"#))
    #expect(kiosk.stock["kiwi"] == 10 && kiosk.core.jobs.open.isEmpty)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.accepted])
    #expect(kiosk.orders.count == 1)
    try kiosk.restart()
    #expect(try kiosk.receive().results.isEmpty)
    #expect(kiosk.orders.map { $0.prefix(9) } == ["make/bar "])
  }

  /// A new kiosk whose clock nothing confirms, with neither dates nor sensors.
  @Test func aRestartKeepsTheAgesOfOrdersWithoutTheTimeOfTheNetwork() throws {
    kiosk.losesItsClock(boot: 1)
    try kiosk.restart()
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    try kiosk.restart()
    #expect(try kiosk.receive().results.isEmpty)
    #expect(kiosk.orders.map { $0.prefix(9) } == ["make/bar "])
    kiosk.pass(.milliseconds(30_001))
    #expect(try kiosk.receive().results.map(\.failure) == ["waited_too_long"])
  }

  @Test func aJobComesAgainUntilTheMachineHasAnswered() throws {
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.orders.count == 1)
    #expect(kiosk.orders.isEmpty)
    kiosk.pass(.seconds(15))
    try kiosk.receive()
    #expect(kiosk.orders.map { $0.prefix(8) } == ["make/bar"])
    #expect(kiosk.report.state == .silent)
    kiosk.pass(.milliseconds(15_001))
    try kiosk.receive()
    // The order is too old: the customer has left.
    #expect(kiosk.orders == [#"make/bar/cancel {"job":2}"#])
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
    #expect(kiosk.stock["kiwi"] == 7)
    let cancelled = try kiosk.receive(.made(#"{"job":2,"status":"cancelled"}"#))
    #expect(try cancelled.results.map(\.failure) == ["waited_too_long"])
    #expect(kiosk.stock["kiwi"] == 10)
  }

  /// A person may have returned the fruit before the machine receives the message that the broker
  /// kept.
  @Test func whatIsToBeMadeExpiresWithItsOrder() throws {
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.messagesForMachines().map(\.expiry) == [30])
    kiosk.pass(.milliseconds(29_500))
    #expect(kiosk.messagesForMachines().map(\.expiry) == [1])
    kiosk.pass(.seconds(31))
    try kiosk.receive()
    #expect(kiosk.messagesForMachines().map(\.expiry) == [nil])
  }

  /// An offline machine gets no requests. (The kiosk used to send them continuously until the job
  /// was too old.)
  @Test func aMachineThatIsAwayIsWaitedFor() throws {
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.orders.count == 1)
    try kiosk.receive(.status("offline"))
    #expect(kiosk.core.jobs.wait(at: kiosk.now) == .seconds(15))
    kiosk.pass(.seconds(15))
    try kiosk.receive()
    #expect(kiosk.orders.isEmpty)
    #expect(kiosk.core.jobs.wait(at: kiosk.now) == .milliseconds(15_001))
    kiosk.pass(.milliseconds(15_001))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.lost])
  }

  /// A person decides before the machine answers.
  @Test func aMachineThatAnswersOfWhatIsOverIsNotSilent() throws {
    try kiosk.receive(.order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    try kiosk.receive(.job(#"{"job":2,"decision":"poured"}"#))
    #expect(kiosk.report.state == .silent)
    try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    #expect(kiosk.report.state == .idle)
  }

  @Test func aCancellationThatCrossesAStartLoses() throws {
    try kiosk.receive(.order("kiwi"))
    kiosk.pass(.seconds(31))
    try kiosk.receive()
    #expect(kiosk.orders == [#"make/bar/cancel {"job":2}"#])
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    #expect(kiosk.core.jobs.open.map(\.state) == [.started])
    #expect(try kiosk.receive(.made(#"{"job":2,"status":"done"}"#)).statuses == [.ready])
  }

  @Test func whatWasBegunIsOnlyAskedAbout() throws {
    try kiosk.receive(.order("kiwi"))
    _ = kiosk.orders
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    #expect(kiosk.orders.isEmpty)
    try kiosk.restart()
    #expect(kiosk.orders == [#"make/bar/cancel {"job":2}"#])
    #expect(kiosk.orders.isEmpty)
    try kiosk.receive(.status("online"))
    #expect(kiosk.orders == [#"make/bar/cancel {"job":2}"#])
  }

  @Test func whatIsNotEndedInTimeIsAsked() throws {
    try kiosk.receive(.order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    try kiosk.receive()
    kiosk.pass(.milliseconds(59_999))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.started])
    kiosk.pass(.milliseconds(1))
    try kiosk.receive()
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
    #expect(kiosk.report.state == .silent)
    // The machine may still report the result.
    #expect(try kiosk.receive(.made(#"{"job":2,"status":"done"}"#)).statuses == [.ready])
    #expect(kiosk.report.state == .idle)
  }

  // MARK: Decisions of a person

  private func leaveToAPerson() throws {
    try kiosk.receive(.order(#"{"id":"a1","juice":"kiwi"}"#))
    try kiosk.receive(.made(#"{"job":2,"status":"unknown"}"#))
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
    _ = kiosk.orders
  }

  @Test(arguments: [
    ("poured", CommandResult.Status.ready, 7), ("give_back", .failed, 10),
  ])
  func aPersonDecides(decision: String, status: CommandResult.Status, kiwi: Int) throws {
    try leaveToAPerson()
    let decided = try kiosk.receive(.job(#"{"id":"d1","job":2,"decision":"\#(decision)"}"#))
    #expect(try decided.statuses == [.applied, status])
    #expect(
      decided.answers.map(\.topic) == ["kiosk/k1/job/desk/result", "kiosk/k1/order/p1/result"])
    #expect(kiosk.stock["kiwi"] == kiwi)
    #expect(kiosk.core.jobs.open.isEmpty)
    try kiosk.ledger.verify()
    // A repeat of the decision, and a different one.
    let again = try kiosk.receive(.job(#"{"id":"d1","job":2,"decision":"\#(decision)"}"#))
    #expect(try again.results.map(\.isDuplicate) == [true])
    #expect(try again.statuses == [.applied])
    #expect(
      try kiosk.receive(.job(#"{"job":2,"decision":"again"}"#)).reasons == [.noDecisionNeeded])
    #expect(kiosk.stock["kiwi"] == kiwi)
  }

  @Test func whatIsMadeAgainHasANewNumber() throws {
    try leaveToAPerson()
    kiosk.pass(.seconds(100))
    try kiosk.receive(.job(#"{"job":2,"decision":"again","used":{"kiwi":1}}"#))
    #expect(kiosk.stock["kiwi"] == 6)
    #expect(
      kiosk.orders == [
        #"make/bar {"job":3,"ticket":1,"juice":"kiwi","quantity":1,"recipe":{"kiwi":3}}"#
      ])
    // The old number is invalid now.
    #expect(try kiosk.receive(.made(#"{"job":2,"status":"done"}"#)).answers.isEmpty)
    try kiosk.restart()
    let done = try kiosk.receive(.made(#"{"job":3,"status":"done"}"#))
    #expect(try done.statuses == [.ready])
    #expect(try done.results.map(\.id) == ["a1"])
    try kiosk.ledger.verify()
  }

  /// Two people decide: the second one has not seen that the job is made again.
  @Test(arguments: ["poured", "give_back", "again"])
  func aDecisionAboutAnEarlierAttemptIsRefused(late: String) throws {
    try leaveToAPerson()
    try kiosk.receive(.job(#"{"job":2,"decision":"again","used":{}}"#))
    try kiosk.receive(.made(#"{"job":3,"status":"unknown"}"#))
    #expect(kiosk.report.jobs.map(\.job) == [2] && kiosk.report.jobs.map(\.attempt) == [3])
    let refused = try kiosk.receive(.job(#"{"job":2,"decision":"\#(late)"}"#))
    #expect(try refused.reasons == [.noDecisionNeeded])
    #expect(
      try refused.results.map(\.detail) == ["job 2 is now job 3: decide about that"])
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
    let decided = try kiosk.receive(.job(#"{"job":3,"decision":"poured"}"#))
    #expect(try decided.statuses == [.applied, .ready])
    guard case .decided(.poured, job: 2, _) = decided.transaction.records[0].row.entry.outcome
    else {
      Issue.record("the entry names the order")
      return
    }
  }

  @Test func whatIsMadeAgainIsBehindEveryLowerNumber() throws {
    // The machine makes 3; 4 is queued, then the former 2 as 5.
    try kiosk.receive(.order("banana"), .order("banana"), .order("banana"))
    try kiosk.receive(
      .made(#"{"job":2,"status":"unknown"}"#), .made(#"{"job":3,"status":"started"}"#))
    try kiosk.receive(.job(#"{"job":2,"decision":"again"}"#))
    _ = kiosk.orders
    #expect(kiosk.core.jobs.open.map(\.number) == [3, 4, 5])
    try kiosk.restart()
    #expect(kiosk.core.jobs.open.map(\.number) == [3, 4, 5])
    _ = kiosk.orders
    try kiosk.receive(.made(#"{"job":3,"status":"done"}"#))
    #expect(
      kiosk.orders == [
        #"make/bar {"job":4,"ticket":3,"juice":"banana","quantity":1,"recipe":{"banana":2}}"#
      ])
  }

  @Test func whatIsMissingForAnotherAttemptIsSaid() throws {
    try leaveToAPerson()
    try kiosk.receive(.restock(#"{"set":{"kiwi":0}}"#))
    let decided = try kiosk.receive(.job(#"{"job":2,"decision":"again","used":{"kiwi":3}}"#))
    #expect(try decided.reasons == [.conflict])
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
  }

  @Test func aPersonDecidesOnlyWhatNobodyElseCanSay() throws {
    try kiosk.receive(.order("kiwi"))
    #expect(
      try kiosk.receive(.job(#"{"job":2,"decision":"give_back"}"#)).reasons == [.noDecisionNeeded])
    #expect(
      try kiosk.receive(.job(#"{"job":77,"decision":"poured"}"#)).reasons == [.noDecisionNeeded])
  }

  @Test func aMachineThatSaysCancelledOfWhatItHasBegunIsNotBelieved() throws {
    try kiosk.receive(.order("kiwi"))
    try kiosk.receive(
      .made(#"{"job":2,"status":"started"}"#), .made(#"{"job":2,"status":"cancelled"}"#))
    #expect(kiosk.core.jobs.open.map(\.state) == [.needsDecision])
    #expect(kiosk.stock["kiwi"] == 7)
  }

  // MARK: Senders

  @Test func aMachineAnswersForItsOwnJobs() throws {
    try kiosk.receive(.order("kiwi"), .order("kiwi"))
    let others = try kiosk.receive(
      .made(#"{"job":2,"status":"done"}"#, by: "arm"),
      // This job was not sent to the machine.
      .made(#"{"job":3,"status":"done"}"#), .made(#"{"job":99,"status":"failed"}"#))
    #expect(others.answers.isEmpty && others.transaction.isEmpty)
    #expect(kiosk.core.jobs.open.count == 2)
    let retained = try kiosk.receive(.made(#"{"job":2,"status":"done"}"#, retain: true))
    #expect(try retained.reasons == [.retained])
    #expect(kiosk.core.jobs.open.count == 2)
  }

  @Test(arguments: [
    ("{}", RejectionReason.malformed), (#"{"job":2}"#, .malformed),
    (#"{"job":2,"status":"poured"}"#, .malformed), (#"{"job":"2","status":"done"}"#, .malformed),
    ("done", .malformed),
  ])
  func anAnswerThatCannotBeReadIsTold(payload: String, reason: RejectionReason) throws {
    let decision = try kiosk.receive(.made(payload))
    #expect(try decision.reasons == [reason])
    #expect(decision.answers.map(\.topic) == ["kiosk/k1/made/bar/result"])
  }

  @Test func aMachineMaySayMoreThanAPanel() throws {
    var settings = kiosk.settings
    settings.orders.maximumPerSecond = 1
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.status("online"), .order("kiwi"))
    let said = try kiosk.receive(
      .made(#"{"job":2,"status":"started"}"#), .made(#"{"job":2,"status":"done"}"#))
    #expect(try said.statuses == [.ready])
  }

  @Test func aMachineThatNobodyKnowsIsTold() throws {
    let decision = try kiosk.receive(.made(#"{"job":2,"status":"done"}"#, by: "elsewhere"))
    #expect(try decision.reasons == [.unknownMachine])
    #expect(decision.transaction.records.isEmpty)
  }

  @Test func jobsOutliveARestart() throws {
    try kiosk.receive(.order("kiwi"), .order("banana"), .order("kiwi"))
    try kiosk.receive(.made(#"{"job":2,"status":"started"}"#))
    let before = kiosk.core.jobs.open
    try kiosk.restart()
    #expect(kiosk.core.jobs.open == before)
    #expect(before.map(\.state) == [.started, .queued, .queued])
    #expect(kiosk.report.queue == 2)
    let report = try MachineReport(payload: kiosk.report.payload)
    #expect(report == kiosk.report)
  }

  @Test func whatDisplaysShowOfAMachine() throws {
    try kiosk.receive(.order("kiwi"))
    #expect(
      kiosk.reports.first
        == #"machine/bar {"state":"busy","queue":0,"juices":["banana","kiwi"],"#
        + #""job":2,"ticket":1,"jobs":[{"job":2,"attempt":2,"ticket":1,"#
        + #""juice":"kiwi","quantity":1,"state":"sent","at":"2026-11-21T09:00:00Z"}],"ready":[]}"#
    )
    try kiosk.receive(.made(#"{"job":2,"status":"done"}"#))
    #expect(
      kiosk.reports == [
        #"machine/bar {"state":"idle","queue":0,"juices":["banana","kiwi"],"jobs":[],"ready":[1]}"#
      ])
  }
}

extension TestKiosk {
  /// The requests to machines that are due.
  fileprivate var orders: [String] {
    messagesForMachines().map {
      "\($0.topic.dropFirst("kiosk/k1/".count)) \(text($0.payload))"
    }
  }

  fileprivate var report: MachineReport { core.machineReports[0].report }

  fileprivate func servings(_ juice: Juice.ID) -> Int? { core.servings(of: juice) }
}

extension Delivery {
  fileprivate static func made(
    _ payload: String, by machine: String = "bar", retain: Bool = false
  ) -> Delivery {
    message(payload, on: "made/\(machine)", retain: retain)
  }

  fileprivate static func status(
    _ payload: String, of machine: String = "bar", retain: Bool = false
  ) -> Delivery {
    message(payload, on: "machine/\(machine)/status", retain: retain)
  }

  fileprivate static func job(_ payload: String) -> Delivery { message(payload, on: "job/desk") }
}
