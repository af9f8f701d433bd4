import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// Programs of machines: cleaning, rinsing, priming.
@Suite struct ProgramTests {
  private typealias Program = KioskSettings.Machine.Program
  private var settings = KioskSettings.test()

  init() {
    settings.machines = [KioskSettings.Machine(name: "bar")]
  }

  /// Returns a kiosk with a machine that is online.
  private func kiosk(
    hours: OpeningHours? = nil, atOnce: Int = 1, _ program: MachineProgram = .clean,
    _ change: (inout Program) -> Void = { _ in }
  ) throws -> TestKiosk {
    var settings = settings
    var setting = Program()
    setting.isAutomatic = false
    change(&setting)
    settings.machines[0].programs[program] = setting
    settings.machines[0].atOnce = atOnce
    settings.hours = hours
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    return kiosk
  }

  private let clean = Delivery.message(#"{"machine":"bar","program":"clean"}"#, on: "program/desk")

  // MARK: Requests

  @Test func aMachineWithoutProgramsNeverGetsOne() throws {
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    #expect(try kiosk.receive(clean).reasons == [.unknownMachine])
    kiosk.pass(.seconds(1_000 * 3_600))
    #expect(try kiosk.receive().transaction.records.isEmpty && kiosk.requests.isEmpty)
    #expect(!text(kiosk.core.machineReports[0].report.payload).contains("programs"))
  }

  @Test(arguments: [
    (#"{"machine":"arm","program":"clean"}"#, RejectionReason.unknownMachine),
    (#"{"machine":"bar","program":"rinse"}"#, .unknownMachine),
    (#"{"machine":"bar","program":"polish"}"#, .malformed),
    (#"{"program":"clean"}"#, .malformed),
    (#"{"machine":"bar"}"#, .malformed),
    ("clean", .malformed),
    (#"{"machine":"a/b","program":"clean"}"#, .malformed),
  ])
  func aRequestThatMakesNoSenseIsTold(payload: String, reason: RejectionReason) throws {
    let kiosk = try kiosk()
    #expect(try kiosk.receive(.message(payload, on: "program/desk")).reasons == [reason])
  }

  @Test func aProgramIsAJobThatTakesItsFruit() throws {
    let kiosk = try kiosk { $0.uses = ["mango": 4] }
    let asked = try kiosk.receive(clean)
    #expect(
      asked.answers.map { text($0.payload) } == [
        #"{"status":"applied","machine":"bar","seq":2}"#
      ])
    #expect(
      asked.events == [
        #"{"seq":2,"at":"2026-11-21T09:00:00Z","source":"program/desk","status":"program_requested","#
          + #""machine":"bar","program":"clean","changes":{"mango":-4}}"#
      ])
    #expect(
      kiosk.requests == [#"make/bar {"job":2,"program":"clean","quantity":1,"recipe":{"mango":4}}"#]
    )
    #expect(kiosk.stock["mango"] == 6)
    #expect(try kiosk.receive(clean).reasons == [.conflict])
    try kiosk.made(2, "started")
    #expect(kiosk.core.machineReports[0].report.state == .cleaning)
    try kiosk.restart()
    let done = try kiosk.made(2, "done")
    #expect(done.answers.isEmpty)
    #expect(
      done.events == [
        #"{"seq":4,"at":"2026-11-21T09:00:00Z","status":"program_done","job":2,"#
          + #""machine":"bar","program":"clean"}"#
      ])
    #expect(
      try LedgerEntry(payload: Array(done.events[0].utf8)).outcome
        == done.transaction.records[0].row.entry.outcome)
    #expect(kiosk.core.machineReports[0].report.programs[0].last == TestKiosk.start)
    try kiosk.ledger.verify()
  }

  /// A cleaning that is not started stays due until one is done.
  @Test func theRecordShowsWhatWasDueAndDone() throws {
    let kiosk = try kiosk { $0.every = .seconds(4 * 3600) }
    kiosk.pass(.seconds(4 * 3600))
    try kiosk.receive()
    kiosk.pass(.seconds(3 * 3600))
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.cleaningDue])
    #expect(kiosk.core.machineReports[0].report.programs[0].isOverdue)
    let request = try kiosk.receive(clean)
    let job = try #require(request.transaction.records.first).row.entry.seq
    try kiosk.made(job, "failed")
    let again = try kiosk.receive(clean)
    try kiosk.made(try #require(again.transaction.records.first).row.entry.seq, "done")
    let day = try kiosk.ledger.safety(
      on: CivilDate(daysSinceEpoch: 20_778), id: "r", kiosk.settings)
    #expect(
      day.entries.map { "\($0.at) \($0.status.rawValue): \($0.safetyText())" } == [
        "2026-11-21T09:00:00Z opened: banana 10, kiwi 10, mango 10, pineapple 10, strawberry 10",
        "2026-11-21T13:00:00Z program_due: bar clean, hours",
        "2026-11-21T16:00:00Z program_requested: bar clean",
        "2026-11-21T16:00:00Z program_failed: bar clean, failed",
        "2026-11-21T16:00:00Z program_requested: bar clean",
        "2026-11-21T16:00:00Z program_done: bar clean",
      ])
    #expect(
      day.rows().map { [$0[3], $0[9], $0[10]] }.dropFirst().allSatisfy { $0[0] == "bar" })
  }

  @Test func aProgramTakesAllItsFruitOrNone() throws {
    let kiosk = try kiosk {
      ($0.uses, $0.isAutomatic, $0.everyGlasses) = (["mango": 4, "kiwi": 11], true, 1)
    }
    #expect(try kiosk.receive(clean).reasons == [.conflict])
    #expect(kiosk.stock["mango"] == 10)
    try kiosk.receive(.order("banana"))
    try kiosk.made(3, "done")
    let report = kiosk.core.machineReports[0].report.programs[0]
    #expect(report.due == .glasses && report.missing == ["kiwi": 1] && report.needsAttention)
    #expect(kiosk.requests.isEmpty)
    try kiosk.receive(.restock(#"{"add":{"kiwi":1}}"#))
    #expect(kiosk.requests.count == 1)
  }

  // MARK: Orders

  @Test func ordersWaitBehindAProgram() throws {
    let kiosk = try kiosk(atOnce: 2)
    try kiosk.receive(.order("kiwi"), clean, .order("kiwi"))
    #expect(kiosk.numbers == [2])
    try kiosk.receive()
    #expect(kiosk.numbers == [])
    try kiosk.made(2, "done")
    #expect(kiosk.numbers == [3], "the program starts when the machine has nothing else")
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.numbers == [])
    try kiosk.made(3, "done")
    #expect(kiosk.numbers == [4, 6])
  }

  @Test func whatWaitsTooLongBehindAProgramIsGivenBack() throws {
    let kiosk = try kiosk()
    try kiosk.receive(clean, .order(#"{"id":"a","juice":"kiwi"}"#))
    try kiosk.made(2, "started")
    kiosk.pass(.seconds(31))
    let result = try kiosk.receive().results[0]
    #expect(result.failure == "cleaning")
    #expect(result.message == "The machine is being cleaned. Please try again later.")
    #expect(kiosk.stock["kiwi"] == 10)
  }

  @Test func whatWaitsTooLongBeforeAProgramHasTheUsualReason() throws {
    let kiosk = try kiosk()
    try kiosk.receive(.order("kiwi"), .order(#"{"id":"a","juice":"kiwi"}"#), clean)
    try kiosk.made(2, "started")
    kiosk.pass(.seconds(31))
    let late = try kiosk.receive()
    #expect(try late.results.map(\.failure) == ["waited_too_long"])
    #expect(late.events.last?.contains(#""status":"program_failed""#) == true)
  }

  @Test func anotherMachineMakesTheJuiceMeanwhile() throws {
    var settings = settings
    settings.machines[0].programs[.clean] = Program()
    settings.machines.append(KioskSettings.Machine(name: "arm"))
    let kiosk = try TestKiosk(settings: settings)
    for name in ["bar", "arm"] {
      try kiosk.receive(.message("online", on: "machine/\(name)/status"))
    }
    try kiosk.receive(clean)
    #expect(try kiosk.receive(.order("kiwi")).results.map(\.machine) == ["arm"])
  }

  // MARK: Schedule

  @Test(arguments: [-86_400, 0, 86_400])
  func hoursAreMeasuredByTheClockThatNobodySets(ahead: Int64) throws {
    let kiosk = try kiosk { ($0.every, $0.isAutomatic) = (.seconds(24 * 3_600), true) }
    kiosk.setClock(ahead: ahead)
    kiosk.pass(.seconds(24 * 3_600 - 1))
    #expect(try kiosk.receive().events.isEmpty)
    #expect(kiosk.core.wait(at: kiosk.now) == .seconds(1))
    let shown = kiosk.core.machineReports[0].report.programs[0].dueAt
    #expect(shown?.since(kiosk.now.timestamp) == .seconds(1))
    kiosk.pass(.seconds(1))
    let due = try kiosk.receive().events
    #expect(due.count == 2 && due[0].hasSuffix(#""program":"clean","reason":"hours"}"#))
    #expect(kiosk.numbers == [3])
    try kiosk.made(3, "done")
    #expect(kiosk.core.wait(at: kiosk.now) == .seconds(24 * 3_600))
  }

  /// A clock that was set back while the kiosk was off makes a machine no cleaner.
  @Test(arguments: [(-86_400, true), (0, false), (86_400, true)])
  func theLastCleaningIsFoundInTheLedger(ahead: Int64, isDue: Bool) throws {
    let kiosk = try kiosk { $0.every = .seconds(24 * 3_600) }
    kiosk.pass(.seconds(20 * 3_600))
    try kiosk.receive(clean)
    try kiosk.made(2, "done")
    let done = kiosk.now.timestamp
    kiosk.pass(.seconds(23 * 3_600))
    kiosk.setClock(ahead: ahead)
    try kiosk.restart()
    #expect(try kiosk.receive().events.isEmpty == !isDue)
    #expect(kiosk.core.machineReports[0].report.programs[0].last == done)
  }

  @Test func theTimesOfAProgramFollowAClockThatIsSet() throws {
    let kiosk = try kiosk { $0.everyGlasses = 1 }
    try kiosk.receive(clean)
    try kiosk.made(2, "done")
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(4, "done")
    kiosk.setClock(ahead: 3_600)
    try kiosk.receive()
    let program = kiosk.core.machineReports[0].report.programs[0]
    #expect(program.last == kiosk.now.timestamp && program.dueAt == kiosk.now.timestamp)
  }

  /// The clock is wrong at the cleaning, and is set right while the kiosk runs or while it is off.
  @Test(arguments: [-36_000, 36_000], [false, true])
  func aClockThatIsSetRightChangesNoAgeOfACleaning(ahead: Int64, isOff: Bool) throws {
    let kiosk = try kiosk { $0.every = .seconds(24 * 3_600) }
    try kiosk.cutPower(for: .seconds(1), hasClock: true)
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    kiosk.setClock(ahead: ahead)
    try kiosk.receive(clean)
    try kiosk.made(2, "done")
    kiosk.setClock(ahead: -ahead)
    if isOff { try kiosk.restart() }
    try kiosk.receive()
    kiosk.pass(.seconds(23 * 3_600))
    try kiosk.restart()
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.pass(.seconds(3_600))
    #expect(try kiosk.receive().events.count == 1)
  }

  /// The computer was off for 14 hours, and the cleaning was before the time of the network. The
  /// kiosk restarts before or after that time is known, or not at all.
  @Test(arguments: ["", "before", "after"])
  func aCleaningInDoubtKeepsItsAge(restart: String) throws {
    let kiosk = try kiosk { $0.every = .seconds(24 * 3_600) }
    try kiosk.cutPower(for: .seconds(14 * 3_600), hasClock: false)
    kiosk.pass(.seconds(60))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    try kiosk.receive(clean)
    try kiosk.made(2, "done")
    if restart == "before" { try kiosk.restart() }
    kiosk.receiveNetworkTime()
    if restart == "after" { try kiosk.restart() }
    try kiosk.receive()
    kiosk.pass(.seconds(23 * 3_600))
    try kiosk.restart()
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.pass(.seconds(3_600))
    #expect(try kiosk.receive().events.count == 1)
  }

  /// The same with a cleaning that becomes due in doubt.
  @Test(arguments: ["", "before", "after"])
  func aCleaningDueInDoubtIsNotOverdueWithTheTimeOfTheNetwork(restart: String) throws {
    let kiosk = try kiosk { ($0.everyGlasses, $0.grace) = (1, .seconds(3_600)) }
    try kiosk.cutPower(for: .seconds(14 * 3_600), hasClock: false)
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    #expect(kiosk.core.machineReports[0].report.programs[0].due == .glasses)
    if restart == "before" { try kiosk.restart() }
    kiosk.receiveNetworkTime()
    if restart == "after" { try kiosk.restart() }
    try kiosk.receive()
    #expect(!kiosk.core.machineReports[0].report.programs[0].isOverdue)
    kiosk.pass(.seconds(3_600))
    try kiosk.receive()
    #expect(kiosk.core.machineReports[0].report.programs[0].isOverdue)
  }

  @Test(arguments: [false, true])
  func aNewProgramIsNotDueWithTheTimeOfTheNetwork(isDecided: Bool) throws {
    let kiosk = try TestKiosk(settings: settings)
    try kiosk.cutPower(for: .seconds(1_000 * 3_600), hasClock: false)
    var changed = settings
    var program = Program()
    (program.every, program.isAutomatic) = (.seconds(24 * 3_600), false)
    changed.machines[0].programs[.clean] = program
    try kiosk.reload(changed)
    if isDecided { try kiosk.receive() }
    kiosk.receiveNetworkTime()
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.pass(.seconds(24 * 3_600))
    #expect(try kiosk.receive().events.count == 1)
  }

  @Test func glassesAreCountedInTheLedger() throws {
    let kiosk = try kiosk { ($0.everyGlasses, $0.isAutomatic) = (3, true) }
    try kiosk.receive(.order(#"{"juice":"kiwi","quantity":2}"#))
    try kiosk.made(2, "done")
    try kiosk.restart()
    #expect(kiosk.core.machineReports[0].report.programs[0].glassesLeft == 1)
    try kiosk.receive(.order("mango"))
    #expect(try kiosk.made(4, "done").events.count == 3, "made, due, requested")
    #expect(kiosk.numbers.last == 7)
    try kiosk.made(7, "done")
    try kiosk.restart()
    #expect(kiosk.core.machineReports[0].report.programs[0].glassesLeft == 3)
  }

  @Test func theGlassesBeforeAFailureAreCounted() throws {
    let kiosk = try kiosk { $0.everyGlasses = 5 }
    try kiosk.receive(.order(#"{"juice":"kiwi","quantity":3}"#))
    try kiosk.receive(
      .message(#"{"job":2,"status":"failed","used":{"kiwi":7},"made":2}"#, on: "made/bar"))
    #expect(kiosk.core.machineReports[0].report.programs[0].glassesLeft == 3)
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(4, "failed")
    #expect(kiosk.core.machineReports[0].report.programs[0].glassesLeft == 3)
  }

  @Test func anIdleMachineIsRinsedOnce() throws {
    let kiosk = try kiosk(.rinse) { ($0.idle, $0.isAutomatic) = (.seconds(3_600), true) }
    kiosk.pass(.seconds(10 * 3_600))
    #expect(try kiosk.receive().events.isEmpty, "it has made nothing")
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    kiosk.pass(.seconds(1_800))
    try kiosk.restart()
    try kiosk.receive()
    kiosk.pass(.seconds(1_800))
    #expect(try kiosk.receive().events.count == 2)
    try kiosk.made(5, "done")
    kiosk.pass(.seconds(10 * 3_600))
    #expect(try kiosk.receive().events.isEmpty)
  }

  /// 2026-11-21 is a Saturday, and the kiosk starts at nine.
  @Test(arguments: [("08:00-10:00", "closing"), ("10:00-12:00", "opening")], [false, true])
  func aProgramAtOpeningOrClosing(_ hours: (text: String, edge: String), restarts: Bool) throws {
    let edge = try #require(MachineProgram.Cause(rawValue: hours.edge))
    let saturday = OpeningHours([.sat: try #require(OpeningHours.Interval(hours.text))])
    let kiosk = try kiosk(hours: saturday) { ($0.at, $0.isAutomatic) = (edge, true) }
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.pass(.seconds(3_600))
    if restarts {
      kiosk.pass(.seconds(600))
      try kiosk.restart()
    }
    #expect(try kiosk.receive().events.first?.contains(#""reason":"\#(edge)""#) == true)
    kiosk.pass(.seconds(20))
    try kiosk.made(3, "done")
    // At 10:00:59 the kiosk finds the minute of the edge, in which the program was done.
    kiosk.pass(.seconds(39))
    try kiosk.restart()
    #expect(try kiosk.receive().events.isEmpty)
    try kiosk.reload()
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.pass(.seconds(6 * 86_400))
    #expect(try kiosk.receive().events.isEmpty)
  }

  @Test func aProgramDoneAtClosingIsNotDueAgainWithTheTimeOfTheNetwork() throws {
    let saturday = OpeningHours([.sat: try #require(OpeningHours.Interval("08:00-10:00"))])
    let kiosk = try kiosk(hours: saturday) { $0.at = .closing }
    kiosk.pass(.seconds(3_600))
    try kiosk.receive()
    try kiosk.receive(clean)
    try kiosk.made(3, "done")
    try kiosk.cutPower(for: .seconds(20 * 3_600), hasClock: false)
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.receiveNetworkTime()
    #expect(try kiosk.receive().events.isEmpty)
  }

  /// The clock shows 10:20 at the start; it is 10:51. The program was done at 10:10.
  @Test func aProgramDoneAtOpeningIsNotDueAgainWithAClockThatIsBehind() throws {
    let saturday = OpeningHours([.sat: try #require(OpeningHours.Interval("10:00-12:00"))])
    let kiosk = try kiosk(hours: saturday) { $0.at = .opening }
    kiosk.pass(.seconds(3_600))
    try kiosk.receive()
    kiosk.pass(.seconds(600))
    try kiosk.receive(clean)
    try kiosk.made(3, "done")
    kiosk.pass(.seconds(2_400))
    let order = try kiosk.receive(.order("kiwi"))
    try kiosk.made(try #require(order.transaction.records.first).row.entry.seq, "done")
    try kiosk.cutPower(for: .seconds(60), hasClock: false, behind: 1_800)
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.receiveNetworkTime()
    #expect(try kiosk.receive().events.isEmpty)
  }

  // MARK: Overdue

  /// The computer is off from hour 10 to hour 24, and gets the time of the network at hour 38.
  @Test func theTimeWithoutPowerMakesACleaningOverdueThatWasDueBefore() throws {
    let kiosk = try kiosk { ($0.every, $0.grace) = (.seconds(24 * 3_600), .seconds(3_600)) }
    kiosk.pass(.seconds(10 * 3_600))
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    try kiosk.cutPower(for: .seconds(14 * 3_600), hasClock: false)
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    kiosk.pass(.seconds(14 * 3_600))
    #expect(try kiosk.receive().events.count == 1)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.accepted])
    kiosk.receiveNetworkTime()
    try kiosk.receive()
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.cleaningDue])
  }

  /// The computer is off from hour 20 to hour 40, and then again for a moment.
  @Test(arguments: [false, true])
  func theTimeWithoutPowerMakesACleaningOverdue(again: Bool) throws {
    let kiosk = try kiosk { ($0.every, $0.grace) = (.seconds(24 * 3_600), .seconds(3_600)) }
    kiosk.pass(.seconds(20 * 3_600))
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    try kiosk.cutPower(for: .seconds(20 * 3_600), hasClock: true)
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    if again {
      try kiosk.cutPower(for: .seconds(10), hasClock: true)
      try kiosk.receive(.message("online", on: "machine/bar/status"))
    }
    #expect(kiosk.core.machineReports[0].report.state == .cleaningDue)
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.cleaningDue])
  }

  @Test func anOverdueCleaningClosesTheMachine() throws {
    let kiosk = try kiosk { ($0.everyGlasses, $0.grace) = (1, .seconds(600)) }
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    kiosk.pass(.seconds(599))
    try kiosk.receive(.order("kiwi"))
    #expect(kiosk.numbers == [5])
    #expect(kiosk.core.wait(at: kiosk.now) == .seconds(1))
    kiosk.pass(.seconds(1))
    #expect(kiosk.core.wait(at: kiosk.now) == .zero)
    #expect(try kiosk.receive().machinesChanged)
    #expect(kiosk.core.machineReports[0].report.state == .cleaningDue)
    #expect(kiosk.core.servings(of: "kiwi") == 0)
    // What was accepted before is still made.
    try kiosk.made(5, "done")
    try kiosk.restart()
    let rejected = try kiosk.receive(.order("kiwi"))
    #expect(try rejected.reasons == [.cleaningDue])
    #expect(
      try rejected.results[0].message
        == "The machine must be cleaned first. Please try again later.")
    try kiosk.receive(clean)
    let number = try #require(kiosk.numbers.last)
    try kiosk.made(number, "done")
    #expect(kiosk.core.servings(of: "kiwi") == 1)
  }

  @Test(arguments: [MachineProgram.rinse, .prime])
  func onlyACleaningCloses(program: MachineProgram) throws {
    let kiosk = try kiosk(program) { ($0.everyGlasses, $0.grace) = (1, .zero) }
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.accepted])
  }

  @Test func aMachineWithoutItsProgramTakesOrdersAgain() throws {
    let kiosk = try kiosk { ($0.everyGlasses, $0.grace) = (1, .zero) }
    try kiosk.receive(.order("kiwi"))
    try kiosk.made(2, "done")
    try kiosk.reload()
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.cleaningDue])
    try kiosk.reload(settings)
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.accepted])
  }

  // MARK: Failure

  @Test(arguments: [
    (#"{"job":3,"status":"unknown"}"#, "unknown", 6),
    (#"{"job":3,"status":"failed","reason":"jam","used":{"mango":1}}"#, "jam", 9),
    (#"{"job":3,"status":"cancelled"}"#, "waited_too_long", 10),
  ])
  func aProgramThatFailedIsAskedForAgain(answer: String, reason: String, mango: Int) throws {
    let kiosk = try kiosk {
      ($0.every, $0.isAutomatic, $0.uses) = (.seconds(3_600), true, ["mango": 4])
    }
    kiosk.pass(.seconds(3_600))
    try kiosk.receive()
    #expect(kiosk.numbers == [3])
    let failed = try kiosk.receive(.message(answer, on: "made/bar"))
    #expect(failed.events.count == 1 && failed.events[0].contains(#""reason":"\#(reason)""#))
    #expect(kiosk.stock["mango"] == mango)
    kiosk.pass(.seconds(299))
    #expect(try kiosk.receive().events.isEmpty)
    kiosk.pass(.seconds(1))
    #expect(kiosk.core.wait(at: kiosk.now) == .zero)
    try kiosk.receive()
    #expect(kiosk.numbers == [5])
    try kiosk.ledger.verify()
  }

  @Test(arguments: [
    ("poured", #""status":"program_done""#), ("give_back", #""reason":"given_back""#),
  ])
  func aProgramThatDoesNotEndNeedsADecision(decision: String, end: String) throws {
    let kiosk = try kiosk { $0.finishLimit = .seconds(60) }
    try kiosk.receive(clean)
    try kiosk.made(2, "started")
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    #expect(kiosk.core.machineReports[0].report.state == .silent)
    try kiosk.restart()
    let report = kiosk.core.machineReports[0].report
    #expect(report.programs[0].state == .needsDecision && report.state == .cleaningDue)
    #expect(try kiosk.receive(.order("kiwi")).reasons == [.cleaningDue])
    let decided = try kiosk.receive(
      .message(#"{"job":2,"decision":"\#(decision)"}"#, on: "job/desk"))
    #expect(decided.events.count == 2 && decided.events[1].contains(end))
    #expect(try kiosk.receive(.order("kiwi")).statuses == [.accepted])
  }

  @Test func aProgramIsRunAgainUnderANewNumber() throws {
    let kiosk = try kiosk {
      ($0.finishLimit, $0.uses) = (.seconds(60), ["mango": 4])
    }
    try kiosk.receive(clean)
    try kiosk.made(2, "started")
    kiosk.pass(.seconds(60))
    try kiosk.receive()
    try kiosk.receive(.message("offline", on: "machine/bar/status"))
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    try kiosk.receive(
      .message(#"{"job":2,"decision":"again","used":{"mango":4}}"#, on: "job/desk"))
    #expect(kiosk.numbers == [3] && kiosk.stock["mango"] == 2)
    try kiosk.restart()
    #expect(try kiosk.made(3, "done").events[0].contains(#""job":2"#))
  }

  @Test func aMachineThatCannotWorkRunsNoProgram() throws {
    let kiosk = try kiosk { ($0.every, $0.isAutomatic) = (.seconds(3_600), true) }
    try kiosk.receive(.message("offline", on: "machine/bar/status"))
    #expect(try kiosk.receive(clean).reasons == [.machineDown])
    kiosk.pass(.seconds(3_600))
    #expect(try kiosk.receive().events.count == 1)
    #expect(kiosk.core.wait(at: kiosk.now) == .seconds(3_600), "the grace")
    try kiosk.receive(.message("online", on: "machine/bar/status"))
    #expect(kiosk.numbers == [4])
  }
}

extension TestKiosk {
  /// The numbers of the jobs that machines are to begin, as far as they are due.
  fileprivate var numbers: [Int] {
    messagesForMachines().filter { $0.topic.hasSuffix("/bar") }
      .compactMap { try? MachineOrder(payload: $0.payload).job }
  }

  fileprivate var requests: [String] {
    messagesForMachines().map { "\($0.topic.dropFirst("kiosk/k1/".count)) \(text($0.payload))" }
  }

  @discardableResult
  fileprivate func made(_ job: Int, _ status: String) throws -> Decision {
    try receive(.message(#"{"job":\#(job),"status":"\#(status)"}"#, on: "made/bar"))
  }
}

extension Decision {
  fileprivate var events: [String] {
    transaction.records.map(\.row.entry).map {
      // The epoch is random.
      text(
        LedgerEntry(
          seq: $0.seq, epoch: 0, at: $0.at, source: $0.source, id: $0.id, outcome: $0.outcome
        ).payload)
    }
  }
}
