import Fleet
import JuiceDomain
import KioskProtocol

/// The cards with the state of a kiosk's machines, and with the jobs that need a person's decision.
struct MachineCards {
  let kiosk: KioskState
  let localTime: LocalTime
  let context: PageContext

  private var language: Language { context.language }

  /// The form of the decision buttons. It is separate, because the list of jobs is replaced by live
  /// updates.
  var form: HTML? {
    context.isOperator
      ? """
      <form id="decide" method="post" action="/kiosks/\(kiosk.id)/job">
      \(context.fields(id: .random))
      </form>
      """ : nil
  }

  /// The undecided jobs, or an empty part.
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
      return """
        <button id="\(choice.rawValue)-\(job.job.attempt)" form="decide" name="decision" \
        value="\(choice.rawValue).\(job.job.attempt)" \
        aria-label="\(language("\(name): ticket \(ticket)", "\(name): \(ticket)번"))">\(name)</button>

        """
    }
    let actions: HTML? = context.isOperator ? "<div class=\"actions\">\(buttons)</div>" : nil
    let why =
      job.job.state == .lost
      ? language("the machine is offline", "기계 연결 끊김")
      : language("started, but no result was reported", "만들기 시작한 뒤 결과 보고 없음")
    let number = language("job \(job.job.attempt)", "작업 \(job.job.attempt)")
    return "<li>\(row(job, "\(job.machine.text) · \(number) · \(why)"))\(actions)</li>"
  }

  /// The state of the machines, or an empty part.
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
      ? "bad" : report.state == .waiting ? "warn" : report.state == .busy ? "good" : .empty
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
    return """
      <li><p class="head"><b>\(machine)</b> \
      <span class="chip \(style)">\(report.state.text(language))</span>\(reason)\(out)</p>
      \(inHand.isEmpty ? nil : "<ol class=\"feed\">\(inHand)</ol>" as HTML)\(queue)</li>

      """
  }

  private func row(_ job: KioskState.Job, _ note: String) -> HTML {
    let times: HTML = job.job.quantity == 1 ? "" : " × \(job.job.quantity)"
    return """
      <b class="ticket">\(job.job.ticket)</b>\
      <span class="what">\(kiosk.name(of: job.job.juice, language))\(times)</span>
      <span class="who">\(note)</span>\(localTime.html(job.job.at))
      """
  }
}

extension PageContext {
  /// Returns a notice with the result of a decision.
  func notice(
    _ result: CommandResult?, of decision: JobDecision, id: CommandID, at kiosk: KioskID
  ) -> HTML {
    switch (result?.status, result?.reason) {
    case (.applied, _):
      return language.notice(
        .good, "Job \(decision.job): \(decision.choice.text(language)).",
        "작업 \(decision.job): \(decision.choice.text(language)).")
    case (_, .conflict):
      return language.notice(
        .bad,
        "There is too little fruit for another attempt. Restock first, or give the fruit back.",
        "다시 만들 재료가 모자라요. 먼저 재고를 채우거나 재료 되돌리기를 골라 주세요.")
    case (_, .noDecisionNeeded):
      return language.notice(
        .warn, "Nothing was changed: another user has decided, or the machine has answered.",
        "다른 사람이 이미 정했거나 기계가 응답해서 아무것도 바꾸지 않았어요.")
    case (_, let reason?): return .notice(.bad, reason.text(language))
    default:
      return .notice(
        .warn,
        html: """
          <p>\(language(
            "No answer yet. Sending it again is safe: the kiosk applies it only once.",
            "아직 응답이 없어요. 다시 보내도 한 번만 처리되니 안심하세요."))</p>
          <form method="post" action="/kiosks/\(kiosk)/job">
          \(fields(id: id))
          <button name="decision" value="\(decision.choice.rawValue).\(decision.job)">\
          \(language("Send again", "다시 보내기")): \(decision.choice.name(language))</button>
          </form>
          """, tag: "div")
    }
  }
}
