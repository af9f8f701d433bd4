import Fleet
import JuiceDomain
import KioskProtocol

/// The cards with the state of a kiosk's machines, and with the jobs that need a person's decision.
struct MachineCards {
  let kiosk: KioskState
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  /// The undecided jobs, or an empty part if there are none.
  var decisions: LivePart {
    let jobs = kiosk.undecidedJobs
    if jobs.isEmpty { return LivePart("decisions", .empty) }
    return LivePart(
      "decisions", tag: "section", class: "card ask",
      """
      <h2>\(language("Waiting for a person", "사람의 확인이 필요해요"))</h2>
      <p class="muted">\(language(
        "The machine has not reported whether these were poured. Look, and decide.",
        "음료가 나갔는지 기계가 확인하지 못한 주문이에요. 직접 보고 정해 주세요."))</p>
      <ul class="feed">\(jobs.map(undecided))</ul>
      """)
  }

  private func undecided(_ job: KioskState.Job) -> HTML {
    let buttons: [HTML] = JobDecision.Choice.allCases.map { choice in
      let (name, ticket) = (choice.name(language), job.job.ticket)
      return context.button(
        .job, "\(choice.rawValue).\(job.job.attempt)", name,
        label: language("\(name): ticket \(ticket)", "\(name): \(ticket)번"))
    }
    let actions: HTML? = context.isOperator ? "<div class=\"actions\">\(buttons)</div>" : nil
    let why =
      job.job.state == .lost
      ? language("the machine is offline", "기계 연결 끊김")
      : language("started, but no result was reported", "만들기 시작한 뒤 결과 보고 없음")
    // After the hold of a payment, or when it is made again, the machine has it under another number.
    let (order, attempt) = (job.job.job, job.job.attempt)
    let number =
      order == attempt
      ? language("job \(order)", "작업 \(order)")
      : language("job \(order), at the machine \(attempt)", "작업 \(order), 기계에서는 \(attempt)")
    return "<li>\(row(job, "\(job.machine.text) · \(number) · \(why)"))\(actions)</li>"
  }

  /// The state of the machines, or an empty part if there are none.
  var machines: LivePart {
    if kiosk.machines.isEmpty { return LivePart("machines", .empty) }
    let machines: [HTML] = kiosk.machineReports.map(machine)
    return LivePart(
      "machines", tag: "section", class: "card",
      "<h2>\(language("Machines", "기계"))</h2>\(CommonNotices.age(kiosk, kiosk.lastMessageAt, localTime.now, language))<ul class=\"machines\">\(machines)</ul>"
    )
  }

  private func machine(_ machine: MachineID, _ report: MachineReport) -> HTML {
    let style: HTML =
      report.state.isProblem
      ? "bad"
      : [.waiting, .cleaning].contains(report.state)
        ? "warn" : report.state == .busy ? "good" : .empty
    let reason: HTML? = report.reason.map { " <span class=\"muted\">\($0)</span>" }
    let fruits = report.out.map { kiosk.name(of: $0, language) }.joined(separator: ", ")
    let out: HTML? =
      report.out.isEmpty
      ? nil : " <span class=\"chip bad\">\(language("no \(fruits)", "\(fruits) 없음"))</span>"
    let inHand: [HTML] = report.jobs.filter { $0.state == .started || $0.state == .sent }.map {
      "<li class=\"good\">\(row((machine, $0), $0.waiting ?? ""))</li>"
    }
    let queued = report.jobs.filter { $0.state == .queued }
    let tickets: [HTML] = queued.map { "<b class=\"ticket\">\($0.ticket)</b> " }
    let more: HTML? = report.queue > queued.count ? "…" : nil
    let queue: HTML? =
      report.queue > 0
      ? """
      <p class="queue"><span class="muted">\(language("\(report.queue) waiting", "대기 \(report.queue)건"))\
      </span> \(tickets)\(more)</p>
      """ : nil
    let programs: [HTML] = report.programs.map { program($0, machine, report) }
    return """
      <li><p class="head"><b>\(machine)</b> \
      <span class="chip \(style)">\(report.state.text(language))</span>\(reason)\(out)</p>
      \(inHand.isEmpty ? nil : "<ol class=\"feed\">\(inHand)</ol>" as HTML)\(queue)\
      \(programs.isEmpty ? nil : "<ul class=\"feed\">\(programs)</ul>" as HTML)</li>

      """
  }

  private func program(
    _ program: MachineReport.Program, _ machine: MachineID, _ report: MachineReport
  ) -> HTML {
    let style: HTML =
      program.needsAttention ? "bad" : program.state != nil || program.due != nil ? "warn" : .empty
    var notes: [HTML] = []
    if program.needsAttention {
      notes.append("\(program.problem(language))")
    } else if program.state != nil {
      notes.append("\(language("runs", "진행 중"))")
    } else if program.due != nil {
      notes.append("\(language("due", "필요"))")
    } else if let due = program.dueAt {
      notes.append("\(language("due", "예정")) \(localTime.html(due))")
    }
    if let glasses = program.glassesLeft, program.due == nil {
      notes.append(
        "\(language("in \(language.count(glasses, "glass", "glasses"))", "\(glasses)잔 뒤"))")
    }
    if let missing = program.missing {
      let fruits = kiosk.inMenuOrder(missing)
        .map { "\(kiosk.name(of: $0.fruit, language)) \($0.amount)" }
        .joined(separator: ", ")
      notes.append("\(language("missing: \(fruits)", "부족: \(fruits)"))")
    }
    if let last = program.last {
      notes.append("\(language("last", "마지막")) \(localTime.html(last))")
    }
    let who = notes.dropFirst().reduce(notes.first ?? .empty) { "\($0) · \($1)" }
    let buttons = context.isOperator ? buttons(of: program, machine, report) : []
    // Several buttons do not fit beside the text.
    let place: HTML = buttons.count > 1 ? "actions below" : "actions"
    let actions: HTML? = buttons.isEmpty ? nil : "<div class=\"\(place)\">\(buttons)</div>"
    return """
      <li class="\(style)"><span class="what">\(program.program.name(language))</span>
      <span class="who">\(who)</span>\(actions)</li>
      """
  }

  /// Returns the buttons of the decision about an undecided program. Otherwise returns the button
  /// that starts the program, or none while a program of the machine has a job.
  private func buttons(
    of program: MachineReport.Program, _ machine: MachineID, _ report: MachineReport
  ) -> [HTML] {
    if let job = program.job, program.state?.isUndecided == true {
      return JobDecision.Choice.allCases.map { choice in
        context.button(.job, "\(choice.rawValue).\(job)", choice.programName(language))
      }
    }
    guard report.programs.allSatisfy({ $0.job == nil }) else { return [] }
    let name = program.program
    return [context.button(.program, "\(name.rawValue).\(machine)", name.name(language))]
  }

  private func row(_ job: KioskState.Job, _ note: String) -> HTML {
    """
    <b class="ticket">\(job.job.ticket)</b>\
    <span class="what">\(kiosk.name(of: job.job.juice, language).times(job.job.quantity))</span>
    <span class="who">\(note)</span>\(localTime.html(job.job.at))
    """
  }
}
