import Fleet
import HTTPTypes
import JuiceDomain
import KioskProtocol
import MessageBroker
import Testing

@testable import DashboardWeb

/// The pages of machines, with a kiosk that the test simulates.
@Suite struct MachinePagesTests {
  private typealias Job = MachineReport.Job

  private static func job(
    _ ticket: Int, _ state: JobState, attempt: Int? = nil, at time: Timestamp
  ) -> Job {
    Job(
      job: 100 + ticket, attempt: attempt ?? 100 + ticket, ticket: ticket, juice: "kiwi",
      quantity: 1, state: state, at: time)
  }

  private static func publish(
    _ scene: Scene, _ state: MachineReport.State, reason: String? = nil,
    _ jobs: [(ticket: Int, state: JobState)] = [], ready: [Int] = []
  ) async throws {
    let report = MachineReport(
      state: state, reason: reason, queue: jobs.count { $0.state == .queued }, juices: ["kiwi"],
      jobs: jobs.map { job($0.ticket, $0.state, at: scene.now) }, ready: ready)
    try await scene.kiosk("machine/bar", report.payload)
  }

  private static func answer(_ status: CommandResult.Status, id: KioskProtocol.Request.ID?)
    -> CommandResult
  {
    var result = CommandResult(status: status)
    result.id = id
    return result
  }

  @Test func aKioskWithoutMachinesLooksAsBefore() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let pages = try await [
        scene.get("/kiosks/k1").text, scene.get("/").text, scene.get("/kiosks/k1/display").text,
      ]
      for word in ["Machines", "Waiting for a person", "Needs attention", "Being made"] {
        #expect(!pages.contains { $0.contains(word) }, "\(word)")
      }
    }
  }

  @Test func aKiosksPageShowsWhatItsMachinesDo() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, .busy, [(42, .started), (43, .queued), (44, .queued)])
      let busy = try await scene.get("/kiosks/k1").text
      #expect(busy.contains("making juice") && busy.contains("2 waiting"))
      for ticket in 42...44 { #expect(busy.contains("<b class=\"ticket\">\(ticket)</b>")) }
      try await Self.publish(scene, .fault, reason: "no cups")
      let fault = try await scene.get("/kiosks/k1").text
      #expect(fault.contains("bar: out of order") && fault.contains("no cups"))
      #expect(try await scene.get("/").text.contains("bar: out of order"))
    }
  }

  @Test func onlyAnOperatorIsAskedAboutAJob() async throws {
    try await Scene.run { scene in
      try await Self.publish(scene, .idle, [(42, .needsDecision), (43, .lost)])
      try await scene.authenticate("vera")
      let seen = try await scene.get("/kiosks/k1").text
      #expect(seen.contains("Waiting for a person") && !seen.contains("name=\"decision\""))
      try await scene.authenticate("minji")
      let page = try await scene.get("/kiosks/k1").text
      for button in ["poured.142", "again.142", "give_back.142", "poured.143"] {
        #expect(page.contains("value=\"\(button)\""))
      }
      #expect(try await scene.get("/").text.contains("Ticket 43 needs a decision"))
      // The number that the machine and its decision have.
      #expect(page.contains("bar · job 142 ·"))
      let paid = MachineReport(
        state: .idle, queue: 0, juices: ["kiwi"],
        jobs: [Self.job(42, .needsDecision, attempt: 144, at: scene.now)], ready: [])
      try await scene.kiosk("machine/bar", paid.payload)
      let changed = try await scene.get("/kiosks/k1").text
      #expect(changed.contains("bar · job 142, at the machine 144 ·"))
      #expect(changed.contains("value=\"poured.144\""))
    }
  }

  @Test(arguments: [
    (JobDecision.Choice.poured, RejectionReason?.none, "Job 142: poured."),
    (.giveBack, nil, "Job 142: given back."), (.again, .conflict, "too little fruit"),
    (.again, .noDecisionNeeded, "another user has decided"),
  ])
  func aDecisionGoesOutInTheUsersName(
    choice: JobDecision.Choice, reason: RejectionReason?, words: String
  ) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/job", "csrf_token=\(scene.csrfToken)&id=d1&decision=\(choice.rawValue).142")
      let request = try await scene.nextRequest(.job)
      // Two buttons of one form are two commands.
      #expect(request.id?.text == "d1-\(choice.rawValue)-142" && request.sentAt == scene.now)
      #expect(request.command == .job(JobDecision(job: 142, choice: choice)))
      var result = CommandResult(status: reason == nil ? .applied : .rejected)
      result.reason = reason
      try await scene.answer(result, to: request)
      #expect(try await answer.text.contains(words))
    }
  }

  @Test func aDecisionThatNobodyCanReadIsNoDecision() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      for decision in [
        "", "poured", "poured.", "poured.x", "drunk.7", "poured.7.8",
        "poured.9223372036854775808",
      ] {
        let answer = try await scene.post(
          "/kiosks/k1/job", "csrf_token=\(scene.csrfToken)&id=d1&decision=\(decision)")
        #expect(answer.status == .badRequest, "\(decision)")
      }
    }
  }

  // MARK: Programs

  private static func publish(
    _ scene: Scene, _ state: MachineReport.State, _ program: MachineReport.Program
  ) async throws {
    let report = MachineReport(
      state: state, queue: 0, juices: ["kiwi"], jobs: [], ready: [], programs: [program])
    try await scene.kiosk("machine/bar", report.payload)
  }

  @Test func aKiosksPageShowsWhatIsDue() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      var clean = MachineReport.Program(.clean)
      (clean.glassesLeft, clean.dueAt, clean.last) = (12, scene.now, scene.now)
      try await Self.publish(scene, .idle, clean)
      let page = try await scene.get("/kiosks/k1").text
      #expect(page.contains("in 12 glasses") && page.contains("value=\"clean.bar\""))
      #expect(try !(await scene.get("/").text.contains("Clean:")))
      clean.glassesLeft = 1
      try await Self.publish(scene, .idle, clean)
      let last = try await scene.get("/kiosks/k1").text
      #expect(last.contains("in 1 glass") && !last.contains("in 1 glasses"))
      (clean.due, clean.isOverdue, clean.missing) = (.glasses, true, ["kiwi": 2])
      try await Self.publish(scene, .cleaningDue, clean)
      let overdue = try await scene.get("/kiosks/k1").text
      #expect(overdue.contains("missing: Kiwi 2") && overdue.contains("must be cleaned"))
      #expect(try await scene.get("/").text.contains("bar: Clean: overdue, no orders"))
      #expect(try await scene.get("/kiosks/k1/panel").text.contains("machine must be cleaned"))
      (clean.due, clean.isOverdue, clean.missing) = (nil, false, nil)
      (clean.job, clean.state) = (77, .needsDecision)
      try await Self.publish(scene, .cleaningDue, clean)
      let undecided = try await scene.get("/kiosks/k1").text
      #expect(undecided.contains("value=\"give_back.77\"") && undecided.contains("It was done"))
      #expect(!undecided.contains("value=\"clean.bar\""))
      try await scene.authenticate("vera")
      #expect(try !(await scene.get("/kiosks/k1").text.contains("value=\"give_back.77\"")))
    }
  }

  @Test(arguments: [
    (RejectionReason?.none, "is requested"), (.conflict, "its fruit is missing"),
    (.machineDown, "the machine is out of order"),
  ])
  func aProgramIsRequestedInTheUsersName(reason: RejectionReason?, words: String) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/program", "csrf_token=\(scene.csrfToken)&id=c1&program=rinse.bar")
      let request = try await scene.nextRequest(.program)
      #expect(request.command == .program(ProgramID(machine: "bar", program: .rinse)))
      var result = CommandResult(status: reason == nil ? .applied : .rejected)
      result.reason = reason
      try await scene.answer(result, to: request)
      #expect(try await answer.text.contains(words))
      for program in ["", "clean", "clean.", "polish.bar", "clean.a/b", "clean.bar.1"] {
        let answer = try await scene.post(
          "/kiosks/k1/program", "csrf_token=\(scene.csrfToken)&id=c2&program=\(program)")
        #expect(answer.status == .badRequest, "\(program)")
      }
    }
  }

  /// The id of a command has at most 64 characters, and so has the name of a machine.
  @Test func twoButtonsOfAMachineWithALongNameAreTwoCommands() async throws {
    try await Scene.run(answerTimeout: .zero) { scene in
      try await scene.authenticate("minji")
      let machine = String(repeating: "b", count: 64)
      var ids: [KioskProtocol.Request.ID?] = []
      for program in ["clean", "rinse", "rinse"] {
        _ = try await scene.post(
          "/kiosks/k1/program",
          "csrf_token=\(scene.csrfToken)&id=c1&program=\(program).\(machine)")
        ids.append(try await scene.nextRequest(.program).id)
      }
      #expect(Set(ids).count == 2 && ids[1] == ids[2])
      #expect(!ids.contains("c1"))
    }
  }

  @Test(arguments: [
    (CommandResult.Status.outOfStock, RejectionReason?.none, "Not enough fruit. Update the stock?"),
    (.ready, nil, "is ready. Enjoy!"), (.rejected, .closed, "We are closed right now."),
  ])
  func theVirtualPanelSpeaksTheLanguageOfThePage(
    status: CommandResult.Status, reason: RejectionReason?, text: String
  ) async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      async let answer = scene.post(
        "/kiosks/k1/panel", "csrf_token=\(scene.csrfToken)&id=p1&juice=kiwi")
      _ = try await scene.nextCommand()
      var result = Self.answer(status, id: "p1")
      (result.reason, result.juice, result.message) = (reason, "kiwi", "재료가 모자라요.")
      try await scene.kiosk("order/virtual/result", result.payload, retain: false)
      let page = try await answer.text
      #expect(page.contains(text) && !page.contains("재료가 모자라요."))
    }
  }

  @Test func anOrderIsFollowedUntilItIsReady() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, .busy, [(41, .started)])
      async let answer = scene.post(
        "/kiosks/k1/panel", "csrf_token=\(scene.csrfToken)&id=p1&juice=kiwi")
      _ = try await scene.nextCommand()
      var result = Self.answer(.accepted, id: "p1")
      (result.seq, result.ticket, result.place, result.juice) = (142, 42, 2, "kiwi")
      try await scene.kiosk("order/virtual/result", result.payload, retain: false)
      let page = try await answer.text
      #expect(page.contains("id=\"order-142\"") && page.contains("1 before you."))

      func shown() throws -> String {
        let kiosk = try #require(scene.dashboard.link.fleet["k1"])
        let progress = try #require(kiosk.progress.first { $0.job == 142 })
        return progress.part(
          LocalizedName(fallback: "Kiwi juice"), .english, isForCustomer: true
        ).html.text
      }
      try await Self.publish(scene, .busy, [(41, .started), (42, .queued)])
      #expect(try shown().contains("1 before you."))
      try await Self.publish(scene, .busy, [(42, .started)])
      #expect(try shown().contains("It is being made now."))
      try await Self.publish(scene, .idle, [(42, .needsDecision)])
      #expect(try shown().contains("Please ask us."))
      try await Self.publish(scene, .idle)
      let end = JobEnd(
        job: 142, machine: "bar", order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 42))
      try await Self.receive(scene, .made(end), seq: 150)
      #expect(try shown().contains("is ready. Enjoy!"))
    }
  }

  @Test func anOrderThatFailsSaysWhy() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let end = JobEnd(
        job: 7, machine: "bar", order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 3))
      try await Self.receive(scene, .returned(end, reason: "waited_too_long", changes: [:]), seq: 9)
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      for isForCustomer in [true, false] {
        let part = try #require(kiosk.progress.first)
          .part(LocalizedName(fallback: "Kiwi juice"), .korean, isForCustomer: isForCustomer)
          .html.text
        #expect(part.contains("만들지 못했습니다"))
        #expect(part.contains("너무 오래 기다림") != isForCustomer)
      }
      #expect(try await scene.get("/kiosks/k1").text.contains("not made: it had waited too long"))
    }
  }

  private static func receive(_ scene: Scene, _ outcome: LedgerEntry.Outcome, seq: Int) async throws
  {
    let entry = LedgerEntry(
      seq: seq, epoch: 0, at: scene.now, source: Source.virtualPanel, id: nil, outcome: outcome)
    try await scene.kiosk("events", entry.payload, retain: false)
  }

  @Test func aJuiceWhoseMachineIsDownIsNotOffered() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      try await Self.publish(scene, .offline)
      let panel = try await scene.get("/kiosks/k1/panel").text
      let wall = try await scene.get("/kiosks/k1/display").text
      #expect(panel.contains("machine out of order") && wall.contains("machine out of order"))
      #expect(panel.contains("5 left"), "no machine makes the others")
    }
  }

  @Test func whatAMachineSaysIsNeverMarkup() async throws {
    try await Scene.run { scene in
      try await scene.authenticate("minji")
      let evil = "<img src=x onerror=alert(1)>\"'"
      try await Self.publish(scene, .fault, reason: evil, [(42, .needsDecision)])
      let end = JobEnd(
        job: 7, machine: "bar", order: Order(juice: "kiwi"), ticket: Ticket(day: 0, number: 3))
      try await Self.receive(scene, .failed(end, reason: evil, changes: [:]), seq: 9)
      for path in ["/", "/kiosks/k1", "/kiosks/k1/panel", "/kiosks/k1/display"] {
        let page = try await scene.get(path).text
        #expect(!page.contains("<img src=x"), "\(path)")
      }
      #expect(try await scene.get("/kiosks/k1").text.contains("&lt;img src=x"))
      let kiosk = try #require(scene.dashboard.link.fleet["k1"])
      let part = try #require(kiosk.progress.first { $0.job == 7 })
      let shown = part.part(LocalizedName(fallback: "x"), .english, isForCustomer: false)
      #expect(!shown.html.text.contains("<img"))
    }
  }
}
