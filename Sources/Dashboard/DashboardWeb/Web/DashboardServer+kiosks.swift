import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  func addFleet(to router: RouterGroup<PageContext>) {
    router.get("/") { request, context in
      fleetPage(request, context).page().response(context)
    }
    router.get("live") { request, context in
      try live(request, context, interest: .fleet, pause: .seconds(1)) {
        fleetPage(request, context).liveParts
      }
    }
  }

  private func fleetPage(_ request: Request, _ context: PageContext) -> FleetPage {
    let query = Form(request.uri.query ?? "")
    return FleetPage(
      fleet: link.fleet, connectionError: link.connectionError, now: link.time,
      language: context.language,
      filter: query["q"] ?? "", number: query["page"].flatMap { Int($0) } ?? 1)
  }

  /// Adds the pages of one kiosk.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addKiosk(to router: RouterGroup<PageContext>) {
    router.get { request, context in
      var page = try await kioskPage(context)
      let wanted = Form(request.uri.query ?? "")["fruit"] ?? ""
      page.preselected = wanted.split(separator: ",").compactMap { Fruit.ID($0) }
      let refund = Form(request.uri.query ?? "")["refund"].flatMap(ChargeDecision.charge)
      let question = context.isOperator ? refund.map(page.payment.question(refunding:)) : nil
      return page.page(notice: question).response(context)
    }
    router.get("live") { request, context in
      try live(request, context, interest: .kiosk(context.kioskID())) {
        try kioskPageWithoutLink(context).liveParts
      }
    }
    router.post("review") { request, context in
      let form = try await request.form(from: context, sessions)
      let page = RestockPage(kiosk: try kiosk(context), context: context)
      if form["do"] == "fill" {
        return page.review(page.kiosk.fillingAll, id: .random).response(context)
      }
      let restock = try page.kiosk.restock(form)
      if form["do"] == "now", let id = form.commandID,
        let seen = restock.expecting(try form.amounts("expect.")), !page.isDoubtful(seen)
      {
        return try await outcome(of: seen, form, context, id: id)
      }
      return page.review(restock, id: .random).response(context)
    }
    router.post("restock") { request, context in
      let form = try await request.form(from: context, sessions)
      let (times, days) = try kiosk(context).bestBefore(form, at: link.time)
      let restock = Restock(
        add: try form.amounts("add."), set: try form.amounts("set."),
        expect: try form.amounts("expect."), bestBefore: times, bestBeforeDay: days)
      guard let id = form.commandID,
        !restock.add.isEmpty || !restock.set.isEmpty
      else { throw RequestError.badForm }
      return try await outcome(of: restock, form, context, id: id)
    }
    router.post("remove") { request, context in
      let form = try await request.form(from: context, sessions)
      let removal = try Removal(form)
      guard let id = form.commandID else { throw RequestError.badForm }
      guard !removal.amounts.isEmpty else {
        let notice = context.language.notice(
          .warn, "Nothing was recorded: enter how much you have taken out.",
          "꺼낸 수량을 적어 주세요. 아무것도 기록하지 않았어요.")
        return try await kioskPage(context).page(notice: notice).response(context)
      }
      let result = try await send(.remove(removal), .restock, form, context, id: id)
      let notice = try context.notice(result, of: removal, at: kiosk(context))
      return try await kioskPage(context).page(notice: notice).response(context)
    }
    router.post("undo") { request, context in
      let form = try await request.form(from: context, sessions)
      guard let seq = try form.number("undo") else { throw RequestError.badForm }
      let kiosk = try kiosk(context)
      guard let entry = kiosk.service(seq), let undo = kiosk.undo(of: entry, at: link.time) else {
        let notice = context.language.notice(
          .warn, "Nothing was changed: this entry cannot be undone any more.",
          "이제 되돌릴 수 없는 기록이라 아무것도 바꾸지 않았어요.")
        return try await kioskPage(context).page(notice: notice).response(context)
      }
      let result = try await send(.restock(undo.restock), .restock, form, context, id: undo.id)
      return try await kioskPage(context).page(
        notice: context.notice(result, undoing: seq, undo.restock, kiosk)
      ).response(
        context)
    }
    router.post("job") { request, context in
      let form = try await request.form(from: context, sessions)
      guard let id = form.commandID,
        let decision = form["decision"].flatMap({ JobDecision(field: $0) })
      else { throw RequestError.badForm }
      let result = try await send(.job(decision), .job, form, context, id: id)
      let notice = try context.notice(result, of: decision, id: id, at: context.kioskID())
      return try await kioskPage(context).page(notice: notice).response(context)
    }
    router.post("program") { request, context in
      let form = try await request.form(from: context, sessions)
      guard let id = form.commandID, let program = form["program"].flatMap({ ProgramID(field: $0) })
      else { throw RequestError.badForm }
      let result = try await send(.program(program), .program, form, context, id: id)
      return try await kioskPage(context).page(notice: context.notice(result, of: program))
        .response(context)
    }
    router.post("charge") { request, context in
      let form = try await request.form(from: context, sessions)
      guard let id = form.commandID,
        let decision = form["decision"].flatMap({ ChargeDecision(field: $0) })
      else { throw RequestError.badForm }
      let result = try await send(.charge(decision), .job, form, context, id: id)
      let notice = try context.notice(result, of: decision, id: id, at: context.kioskID())
      return try await kioskPage(context).page(notice: notice).response(context)
    }
    router.post("sensor") { request, context in
      let form = try await request.form(from: context, sessions)
      let parts = (form["decision"] ?? "").split(separator: ".", omittingEmptySubsequences: false)
      guard let id = form.commandID, parts.count == 2, let sensor = SensorID(String(parts[1])),
        let choice = SensorDecision.Choice(rawValue: String(parts[0]))
      else { throw RequestError.badForm }
      let word = (form["word.\(sensor)"] ?? "").visible(upTo: SensorDecision.maximumWord)
      let language = context.language
      guard word.contains(where: { !$0.isWhitespace }) else {
        let notice = language.notice(
          .warn, "Nothing was decided: write the reason.", "사유를 적어 주세요. 아무것도 바꾸지 않았어요.")
        return try await kioskPage(context).page(notice: notice).response(context)
      }
      let decision = SensorDecision(sensor: sensor, choice: choice, word: word)
      let result = try await send(.sensor(decision), .job, form, context, id: id)
      let notice: HTML =
        switch (result?.status, result?.reason) {
        case (.applied, _): language.notice(.good, "Your decision is recorded.", "결정을 기록했어요.")
        case (_, .conflict):
          language.notice(
            .bad,
            "Nothing was discarded: an open order still has some of the fruit. "
              + "Decide about its job first, or wait until it ends.",
            "끝나지 않은 주문에 이 과일이 쓰여서 폐기하지 않았어요. "
              + "먼저 그 작업을 정하거나 끝날 때까지 기다려 주세요.")
        case (_, let reason?): .notice(.bad, reason.text(language))
        default:
          language.notice(
            .warn, "No answer yet. The kiosk may or may not have applied it: try again.",
            "아직 응답이 없어요. 다시 시도해 주세요.")
        }
      return try await kioskPage(context).page(notice: notice).response(context)
    }
    router.post("service") { request, context in
      let form = try await request.form(from: context, sessions)
      guard let id = form.commandID,
        let service = form["service"].flatMap(ServiceState.init(rawValue:))
      else { throw RequestError.badForm }
      let result = try await send(.service(service), .service, form, context, id: id)
      return try await kioskPage(context).page(
        notice: context.notice(result, of: service, hours: kiosk(context).settings?.hours)
      ).response(
        context)
    }
  }

  /// Returns the kiosk that the path names.
  ///
  /// - Throws: `RequestError.notFound` if the fleet does not contain the kiosk.
  func kiosk(_ context: PageContext) throws -> KioskState {
    guard let kiosk = link.fleet[try context.kioskID()] else { throw RequestError.notFound }
    return kiosk
  }

  private func kioskPage(_ context: PageContext) async throws -> KioskPage {
    var page = try kioskPageWithoutLink(context)
    if context.isOperator { page.screenTokens = await screens.tokens(of: page.kiosk.id) }
    return page
  }

  /// Returns the page without the links to screens, which no live part contains.
  private func kioskPageWithoutLink(_ context: PageContext) throws -> KioskPage {
    let kiosk = try kiosk(context)
    return KioskPage(
      kiosk: kiosk, salesReport: link.sales.report(of: kiosk),
      connectionError: link.connectionError,
      now: link.time, context: context)
  }

  private func outcome(
    of restock: Restock, _ form: Form, _ context: PageContext, id: CommandID
  ) async throws -> Response {
    let result = try await send(.restock(restock), .restock, form, context, id: id)
    return RestockPage(kiosk: try kiosk(context), context: context)
      .outcome(result, of: restock, id: id).response(context)
  }

  /// Sends a command with the user as its source, which the ledger records.
  private func send(
    _ command: Command, _ kind: Command.Kind, _ form: Form, _ context: PageContext, id: CommandID
  ) async throws -> CommandResult? {
    guard let user = context.user else { throw RequestError.loggedOut }
    // The buttons of a form share its id, and the kiosk executes only one command with an id.
    let button = form["decision"] ?? form["program"] ?? form["expired"]
    let own = button.flatMap { button in
      // A name can be too long for an id.
      CommandID("\(id)-\(button.replacing(".", with: "-"))")
        ?? CommandID("\(id)-\(UserAdministration.hash(of: button).prefix(16))")
    }
    return try await send(
      command, to: kiosk(context).id, as: Source(kind: kind, name: user.name.text), form,
      id: own ?? id)
  }

  /// Sends the command of a form.
  ///
  /// - Throws: `RequestError.notSent` if the broker is not connected.
  func send(
    _ command: Command, to kiosk: KioskID, as source: Source, _ form: Form, id: CommandID
  ) async throws(RequestError) -> CommandResult? {
    do {
      return try await link.send(command, to: kiosk, as: source, id: id)
    } catch {
      throw .notSent(form)
    }
  }
}

extension KioskState {
  /// A restock that fills all fruits to their capacity.
  fileprivate var fillingAll: Restock {
    let room = (menu?.menu.fruits ?? []).compactMap { fruit -> FruitAmounts.Element? in
      self.room(for: fruit.id).flatMap { $0 > 0 ? (fruit.id, $0) : nil }
    }
    return Restock(add: FruitAmounts(room))
  }

  /// Reads the restock from the form of the kiosk's page. The kiosk rejects the command if the
  /// stock of a counted fruit changes between this call and the arrival of the command.
  fileprivate func restock(_ form: Form) throws(RequestError) -> Restock {
    let set = try form.amounts("set.")
    let add = FruitAmounts(
      try form.amounts("add.", isChange: true).filter { set[$0.fruit] == nil })
    let expect = set.compactMap { fruit, _ -> FruitAmounts.Element? in
      stock?.fruits[fruit].map { (fruit, $0) }
    }
    return Restock(add: add, set: set, expect: FruitAmounts(expect))
  }
}

extension KioskState {
  /// Reads the best-before dates in a form: times in the time zone of the kiosk, in milliseconds
  /// since 1970, and days, counted from 1970-01-01.
  fileprivate func bestBefore(
    _ form: Form, at now: Timestamp
  ) throws(RequestError) -> (times: [Fruit.ID: Int64], days: [Fruit.ID: Int64]) {
    let localTime = LocalTime(timeZone, now: now, .english)
    var (times, days): ([Fruit.ID: Int64], [Fruit.ID: Int64]) = ([:], [:])
    for fruit in menu?.menu.fruits ?? [] {
      guard let text = form["best.\(fruit.id)"], !text.isEmpty else { continue }
      if case .day(let day) = BestBefore(text) {
        days[fruit.id] = day.daysSinceEpoch
        continue
      }
      guard let time = localTime.time(field: text) else { throw .badDate }
      times[fruit.id] = time.milliseconds
    }
    return (times, days)
  }
}

extension Restock {
  /// Returns the same restock, which the kiosk rejects if the stock of an added fruit is not the
  /// one that the page showed. Returns `nil` if a number was counted, if nothing is added, or if
  /// the page did not show the stock of an added fruit.
  fileprivate func expecting(_ shown: FruitAmounts) -> Restock? {
    guard set.isEmpty, !add.isEmpty, add.allSatisfy({ shown[$0.fruit] != nil }) else { return nil }
    return Restock(add: add, set: [:], expect: FruitAmounts(shown.filter { add[$0.fruit] != nil }))
  }
}

extension JobDecision {
  /// Reads the value of a button, such as `poured.1234`.
  fileprivate init?(field: String) {
    let parts = field.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let choice = Choice(rawValue: String(parts[0])),
      let job = Int(parts[1])
    else { return nil }
    self.init(job: job, choice: choice)
  }
}

extension ProgramID {
  /// Reads the value of a button, such as `clean.bar`.
  fileprivate init?(field: String) {
    let parts = field.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let program = MachineProgram(rawValue: String(parts[0])),
      let machine = MachineID(String(parts[1]))
    else { return nil }
    self.init(machine: machine, program: program)
  }
}

extension ChargeDecision {
  /// Reads the value of a button, such as `refund.1795251600`.
  fileprivate init?(field: String) {
    let parts = field.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let choice = Choice(rawValue: String(parts[0])),
      let charge = Self.charge(String(parts[1]))
    else { return nil }
    self.init(charge: charge, choice: choice)
  }

  /// Reads the number of a charge: 1 to 2^53 - 1.
  fileprivate static func charge(_ text: String) -> Int? {
    Int(text).flatMap { (1..<1 << 53).contains($0) ? $0 : nil }
  }
}

extension PageContext {
  fileprivate func notice(
    _ result: CommandResult?, undoing seq: Int, _ undo: Restock, _ kiosk: KioskState
  ) -> HTML {
    switch (result?.status, result?.reason) {
    case (.applied, _):
      let changes = undo.add.map { fruit, amount in
        "\(signed(amount)) \(kiosk.name(of: fruit, language))"
      }.joined(separator: ", ")
      return language.notice(
        .good, "Entry #\(seq) is undone by a counter-entry: \(changes).",
        "#\(seq) 기록을 반대 기록으로 되돌렸어요: \(changes).")
    case (_, .belowZero):
      return language.notice(
        .bad, "Nothing was changed: some of the fruit has been used since.",
        "그사이 과일을 써서 아무것도 바꾸지 않았어요.")
    case (_, let reason?): return .notice(.bad, reason.text(language))
    default:
      return language.notice(
        .warn, "No answer yet. Undoing again is safe: the kiosk applies it only once.",
        "아직 응답이 없어요. 다시 되돌려도 한 번만 처리되니 안심하세요.")
    }
  }

  fileprivate func notice(
    _ result: CommandResult?, of service: ServiceState, hours: OpeningHours?
  ) -> HTML {
    switch (result?.status, result?.reason) {
    case (.applied, _) where service == .open && hours != nil:
      return language.notice(
        .good, "The kiosk takes orders within its opening hours.", "이제 영업시간에 주문을 받아요.")
    case (.applied, _):
      return service == .open
        ? language.notice(.good, "The kiosk is open.", "영업을 시작했어요.")
        : language.notice(.good, "The kiosk is closed.", "영업을 종료했어요.")
    case (_, let reason?): return .notice(.bad, reason.text(language))
    default:
      return language.notice(
        .warn, "No answer yet. The kiosk may or may not have applied it: try again.",
        "아직 응답이 없어요. 다시 시도해 주세요.")
    }
  }
}
