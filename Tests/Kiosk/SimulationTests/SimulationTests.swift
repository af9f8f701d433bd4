import InMemoryBroker
import MessageBroker
import Simulation
import Testing

@Suite struct SimulationTests {
  /// A small sample; `deploy/test` runs many more in the release build.
  @Test func noScheduleBreaksTheContract() throws {
    var traces = ""
    for seed in 1...UInt64(100) {
      traces += try Simulation.run(Schedule(seed: seed)).joined(separator: "\n")
    }
    // Schedules that do not get there prove nothing.
    for end in [
      "is made", "has failed", "returned, not_paid", "returned, declined", "returned, replaced",
      "captured", "refunded", "released", "undecided", "program_done", "program_failed",
    ] { #expect(traces.contains(end), "no schedule reaches: \(end)") }
  }

  @Test func aSeedIsTheSameForEver() throws {
    for seed in 1...UInt64(10) {
      let trace = try Simulation.run(Schedule(seed: seed))
      #expect(try Simulation.run(Schedule(seed: seed)) == trace)
    }
  }

  @Test func aCleaningThatDoesNotEndCloses() throws {
    let press = Step.send([Sending(from: "order/p3", content: .order(juice: "kiwi", quantity: 1))])
    let trace = try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(machines: 1, hasPrograms: true),
        steps: [
          .start, press, .pass(8_000), press, .pass(8_000), press,
          .machine(0, .malfunction(.stalls)), .pass(12_000), press,
        ]))
    #expect(trace.contains { $0.contains("rejected, cleaning_due") })
  }

  /// The kiosk crashes at any of its calls to the broker, and restarts at once.
  @Test(arguments: 1...40)
  func aKioskThatDiesLosesNoPress(atCall call: Int) throws {
    let press = Step.send([Sending(from: "order/p3", content: .order(juice: "banana", quantity: 1))]
    )
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [.crash(after: call), .start, press, press, .start, press]))
  }

  /// The kiosk crashes at any of its calls to the broker during a reload that adds a new fruit.
  @Test(arguments: 1...30)
  func aKioskThatDiesInAReloadLosesNoPress(atCall call: Int) throws {
    func press(_ juice: String) -> Step {
      .send([Sending(from: "order/p3", content: .order(juice: juice, quantity: 1))])
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [
          .start, press("kiwi"), .crash(after: call), .reload(.other), press("orange"), .start,
          press("orange"), .reload(.usual), press("kiwi"),
        ]))
  }

  /// A batch from before the kiosk was online must not leave retained topics of a menu that was
  /// never published.
  @Test func aMenuThatWasNeverPublishedLeavesNothingBehind() throws {
    let orders = ["orange", "kiwi", "banana", "kiwi", "banana"].map {
      Sending(from: "order/p3", content: .order(juice: $0, quantity: 1))
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(batchLimit: 2),
        steps: [
          .start, .cutKiosk, .reload(.other), .breakConnection(.before, .acknowledge, skipping: 1),
          .pass(500), .send(orders), .pass(500), .reload(.usual),
        ]))
  }

  /// A reload must not repeat the session check that the new process has already made. After the
  /// clock was set, the length of the absence is unknown.
  @Test func aReloadBeforeTheFirstConnectKeepsTheSession() throws {
    let press = Sending(from: "order/p3", content: .order(juice: "orange", quantity: 1))
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [
          .start, .crash(after: 0), .breakConnection(.before, .connect, skipping: 0), .start,
          .jump(-2160), .reload(.other), .send([press]),
        ]))
  }

  /// Each connection breaks while the answer is in flight. In the end the kiosk answers only the
  /// others.
  @Test func anAnswerThatEndsEachConnectionIsGivenUp() throws {
    func press(_ juice: String) -> Step {
      .send([Sending(from: "order/p3", content: .order(juice: juice, quantity: 1))])
    }
    let breaks = Array(
      repeating: Step.breakConnection(.before, .publish, skipping: 0), count: 9)
    let trace = try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [.start] + breaks + [press("kiwi"), .pass(60_000), press("banana")]))
    #expect(trace.contains { $0.contains("the answer to entry 2 is given up") })
  }

  /// The ledger cannot store the new fruit, so the kiosk sells the old menu until it can.
  @Test func aReloadWaitsForTheDisk() throws {
    func press(_ juice: String) -> Step {
      .send([Sending(from: "order/p1", id: juice, content: .order(juice: juice, quantity: 1))])
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [
          .start, .failDisk, .reload(.other), press("orange"), .pass(3_000), .repairDisk,
          .pass(30_000),
          press("banana"),
        ]))
  }

  /// The kiwis return to the menu while the disk cannot record that their topics are retained.
  /// After the repair, the kiosk crashes right after it has published them, and the next menu has
  /// no kiwis.
  @Test(arguments: 1...30)
  func whatTheDiskDidNotTakeIsNotPublished(call: Int) throws {
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(),
        steps: [
          .start, .reload(.other), .crash(after: call), .failDisk, .reload(.usual), .repairDisk,
          .pass(70_000), .reload(.other),
        ]))
  }

  /// The kiosk connects after seven seconds and crashes before it is online. The next process
  /// counts it as absent all the time, longer than the maximum age of an order. It drops the queued
  /// messages, even recent ones, and the model must not call that a loss.
  @Test func aConnectionThatWasNeverOnlineIsNoSignOfLife() throws {
    let press = Sending(from: "order/p4", content: .order(juice: "banana", quantity: 1))
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(behavior: .ejabberd, batchLimit: 1),
        steps: [
          .start, .cutKiosk, .crash(after: 5),
          .breakConnection(.before, .connect, skipping: 0),
          .breakConnection(.after, .connect, skipping: 0), .pass(400),
          .breakConnection(.before, .connect, skipping: 2), .clearRetained(from: "order/p3"),
          .pass(29_000), .send([press]),
        ]))
  }

  /// The broker has lost the session, so packet identifiers start again. The second of two presses
  /// in the new session is debounced by a press of the old one.
  @Test(arguments: 1...60)
  func aKioskThatDiesInANewSessionLosesNoPress(atCall call: Int) throws {
    func press(_ juice: String, _ panel: String = "p3") -> Sending {
      Sending(from: "order/\(panel)", content: .order(juice: juice, quantity: 1))
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(debounce: 300),
        steps: [
          .start, .send([press("strawberry_banana")]), .crash(after: 0), .crash(after: call),
          .loseSession, .start,
          .send([
            press("mango_kiwi"), press("strawberry_banana"), press("banana", "p4"),
          ]),
          .pass(12_000),
        ]))
  }

  /// Each press extends the debounce window, even if the broker delivers the presses late.
  @Test func aButtonThatIsHeldIsPressedOnce() throws {
    let press = Sending(from: "order/p3", content: .order(juice: "kiwi", quantity: 1))
    let held = (0..<6).flatMap { _ in [Step.send([press]), .pass(250)] }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(debounce: 300),
        steps: [.start] + held + [.pass(1000)] + held + [.crash(after: 0), .start] + held))
  }

  /// A press exceeds the rate limit and the following ones are made, but no acknowledgement is
  /// sent. After the redelivery, the press is admitted, followed by the others once more.
  @Test func aPressThatIsLetInLaterKeepsItsPlace() throws {
    func press(_ panel: String, _ juice: String, _ quantity: Int = 1, id: String? = nil) -> Sending
    {
      Sending(
        from: "order/\(panel)", id: id, content: .order(juice: juice, quantity: quantity))
    }
    func restock(_ desk: String, id: String, _ change: Sending.Change) -> Sending {
      Sending(
        from: "restock/\(desk)", id: id,
        content: .restock(fruit: "pineapple", change: change, expecting: .nothing))
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(perSecond: 3),
        steps: [
          .start, .failDisk, .breakConnection(.before, .acknowledge, skipping: 0),
          .send([restock("shop", id: "a9", .set(0)), press("p1", "banana", id: "a10")]),
          .send([
            press("p1", "banana", id: "a11"), press("p2", "strawberry_banana", id: "a12"),
            press("p1", "strawberry_banana", id: "a13"),
          ]),
          .send([press("p2", "mango_kiwi", id: "a14")]),
          .send([
            press("p2", "strawberry_banana", id: "a12"), restock("desk", id: "a15", .add(20)),
            press("p1", "banana", id: "a11"), press("p2", "orange"),
            press("p2", "strawberry_banana", id: "a12"), press("p2", "banana", 3, id: "a16"),
          ]),
          .breakConnection(.after, .delivery, skipping: 1),
          .send([
            press("p2", "banana", 3, id: "a16"), press("p4", "orange"),
            press("p2", "banana", id: "a17"), press("p4", "banana"), press("p1", "banana"),
          ]),
        ]))
  }

  /// The process that creates a session crashes before it is notified that the session is new. The
  /// retained press arrives with each subscription until it has the packet identifier of the same
  /// press in the old session.
  @Test(arguments: 1...8)
  func anOldPacketIDMeansNothingInANewSession(skipping: Int) throws {
    func press(id: String? = nil, isRetained: Bool = false) -> Sending {
      Sending(
        from: id == nil ? "order/p3" : "order/p1", id: id,
        content: .order(juice: "banana", quantity: 1), isRetained: isRetained)
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(batchLimit: 1),
        steps: [
          .start, .send([press(id: "a1"), press(id: "a2"), press(id: "a3"), press(), press()]),
          .crash(after: 0), .breakConnection(.before, .publish, skipping: skipping),
          .crash(after: 2), .loseSession, .send([press(isRetained: true)]), .start,
          .send([press(id: "a4", isRetained: true)]),
        ]))
  }

  /// The broker has lost its state, and the kiosk crashes in the new session. Queued messages
  /// arrive with DUP set, and one press has the packet identifier and the bytes of one in the old
  /// session.
  @Test(arguments: 1...12)
  func aKioskThatDiesInANewSessionLosesNothingThatWaits(call: Int) throws {
    func press(_ panel: String, _ juice: String, isRetained: Bool = false) -> Sending {
      Sending(
        from: "order/\(panel)", content: .order(juice: juice, quantity: 1), isRetained: isRetained)
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(behavior: .ejabberd, batchLimit: 1),
        steps: [
          .start, .breakConnection(.after, .delivery, skipping: 0),
          .send([press("p4", "strawberry_banana", isRetained: true)]),
          .stopBroker, .startBroker(.nothing), .crash(after: call), .pass(12_000),
          .send([press("p2", "banana"), press("p4", "strawberry_banana")]),
        ]))
  }

  /// The same with a failed disk, on which the kiosk cannot delete the old fingerprints: the broker
  /// redelivers the messages to the next process.
  @Test(arguments: [MemoryBroker.Behavior.mosquitto, .ejabberd], [100, 1000, 5000])
  func aKioskThatCannotForgetAnOldSessionLosesNothing(
    behavior: MemoryBroker.Behavior, milliseconds: Int
  ) throws {
    func press(_ panel: String, _ juice: String, isRetained: Bool = false) -> Sending {
      Sending(
        from: "order/\(panel)", content: .order(juice: juice, quantity: 1), isRetained: isRetained)
    }
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(behavior: behavior, batchLimit: 1),
        steps: [
          .start, .breakConnection(.after, .delivery, skipping: 0),
          .send([press("p4", "strawberry_banana", isRetained: true)]),
          .stopBroker, .failDisk, .startBroker(.nothing), .pass(milliseconds),
          .send([press("p2", "banana"), press("p4", "strawberry_banana")]), .pass(milliseconds),
          .crash(after: 0), .repairDisk, .start, .pass(12_000),
        ]))
  }

  /// The kiosk crashes with an unread press. After the redelivery the connection breaks before the
  /// acknowledgement is sent, and the kiosk crashes before it detects that.
  @Test(arguments: 1...20)
  func anAcknowledgementThatNeverLeftIsNotNoted(call: Int) throws {
    let press = Step.send([Sending(from: "order/p3", content: .order(juice: "banana", quantity: 1))]
    )
    try Simulation.run(
      Schedule(
        seed: 0, rules: Schedule.Rules(batchLimit: 1),
        steps: [
          .start, .crash(after: 1), .breakConnection(.before, .acknowledge, skipping: 0), press,
          .crash(after: call), .start,
        ]))
  }

  @Test(arguments: [
    (World.InjectedBug.acknowledgesEarly, Violation.Rule.lost), (.hidesRedelivery, .twice),
    (.ignoresReload, .display),
  ])
  func aBrokenGuardIsNoticed(injectedBug: World.InjectedBug, rule: Violation.Rule) throws {
    var found: Simulation.Failure?
    for seed in 1...UInt64(1_000) where found == nil {
      do throws(Simulation.Failure) {
        try Simulation.run(Schedule(seed: seed), injectedBug: injectedBug)
      } catch {
        found = error
      }
    }
    let failure = try #require(found)
    #expect(failure.violation.rule == rule)
    #expect(failure.schedule.steps.count <= 7)
    #expect(
      failure.description.contains("deploy/test --simulate 1 --seed \(failure.schedule.seed)"))
  }
}
