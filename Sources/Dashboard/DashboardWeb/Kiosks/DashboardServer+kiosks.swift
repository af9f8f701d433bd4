import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  func addFleet(to router: RouterGroup<PageContext>) {
    router.get("/") { _, context in fleetPage(context).page().response(context) }
    router.get("live") { request, context in
      try live(request, context, interest: .fleet, pause: .seconds(1)) {
        fleetPage(context).liveParts
      }
    }
  }

  private func fleetPage(_ context: PageContext) -> FleetPage {
    FleetPage(
      fleet: fleet(context), connectionError: link.connectionError, now: link.time,
      language: context.language, brokerLines: settings.brokerLines,
      isLimited: context.user?.regions.isEmpty == false,
      filter: context.filled["q"] ?? "", number: context.filled["page"].flatMap { Int($0) } ?? 1)
  }

  /// Adds the pages of one kiosk.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addKiosk(to router: RouterGroup<PageContext>) {
    router.get { _, context in
      var page = try await kioskPage(context)
      let wanted = context.filled["fruit"] ?? ""
      page.preselected = wanted.split(separator: ",").compactMap { Fruit.ID($0) }
      let refund = context.filled["refund"].flatMap(ChargeDecision.charge)
      let question =
        if let refund { await question(refunding: refund, page, context) } else {
          try await foundCharges(page, context)
        }
      return page.page(notice: context.isOperator ? question : nil).response(context)
    }
    router.get("live") { request, context in
      try live(request, context, interest: .kiosk(context.kioskID())) {
        try kioskPageWithoutLink(context).liveParts
      }
    }
    router.post("review") { request, context in
      let form = try context.form(sessions)
      let page = RestockPage(kiosk: try kiosk(context), now: link.time, context: context)
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
      let form = try context.form(sessions)
      let (times, days) = try kiosk(context).bestBefore(form, at: link.time)
      let restock = Restock(
        add: try form.amounts("add."), set: try form.amounts("set."),
        expect: try form.amounts("expect."), bestBefore: times, bestBeforeDay: days)
      guard let id = form.commandID,
        !restock.add.isEmpty || !restock.set.isEmpty
      else { throw RequestError.badForm }
      return try await outcome(of: restock, form, context, id: id)
    }
    for kind in CommandForm.Kind.allCases {
      router.post(RouterPath(kind.rawValue)) { request, context in
        let form = try context.form(sessions)
        return try await send(kind, form, context).response(context)
      }
    }
  }

  /// Returns the question about a refund, with the charge from the kiosk's ledger unless it is one of
  /// the latest. The end of a refund may be only in the ledger.
  private func question(
    refunding charge: Int, _ page: KioskPage, _ context: PageContext
  ) async -> HTML? {
    guard context.isOperator else { return nil }
    var cards = page.payment
    var isAnswered = false
    let isKnown = cards.charge(charge).map { $0.refund?.status != .refund } ?? false
    if !isKnown, page.kiosk.isOnline {
      let search = ChargeSearch("\(charge)", page.localTime)
      let outcome = await ChargeFinder(link: link, kiosk: page.kiosk.id, search: search)
        .charges(before: charge + 1)
      (cards.ledger, isAnswered) = (outcome?.found ?? [], outcome != nil)
    }
    return cards.question(refunding: charge, isAnswered: isAnswered)
  }

  /// Returns the charges that match the query of the page's address, or `nil` if there is no query.
  private func foundCharges(_ page: KioskPage, _ context: PageContext) async throws -> HTML? {
    guard context.isOperator, let query = context.filled["charge"] else { return nil }
    let search = ChargeSearch(query, page.localTime)
    let finder = ChargeFinder(link: link, kiosk: page.kiosk.id, search: search)
    let before = context.filled["before"].flatMap { Int($0) }
    let outcome = page.kiosk.isOnline ? await finder.charges(before: before) : nil
    var cards = page.payment
    cards.ledger = outcome?.found ?? []
    return cards.found(query, outcome)
  }

  /// Sends the command of a form, and returns the kiosk's page with the answer.
  private func send(
    _ kind: CommandForm.Kind, _ form: Form, _ context: PageContext
  ) async throws -> Page {
    var context = context
    let notice = try await send(kind, form, from: "/kiosks/\(kiosk(context).id)", &context)
    return try await kioskPage(context).page(notice: notice)
  }

  /// Sends the command of a form to the kiosk that the path names, and returns the notice with the
  /// answer. Sets `filled` of the context to the entered values if the page must show them again.
  ///
  /// - Parameter path: The path of the page with the form.
  func send(
    _ kind: CommandForm.Kind, _ form: Form, from path: String, _ context: inout PageContext
  ) async throws -> HTML {
    let kiosk = try kiosk(context)
    do {
      let sent = try CommandForm(kind, form, at: kiosk, now: link.time, context.language)
      guard let id = sent.id ?? form.commandID(kind) else { throw RequestError.badForm }
      let result = try await send(sent.command, form, context, id: id)
      if result?.reason.map({ $0 != .rateLimited }) == true { context.filled = form }
      let again = context.again(form, to: "\(path)/\(kind.rawValue)", sent.name)
      return sent.notice(result, again: again, at: kiosk, context.language)
    } catch let problem as CommandForm.Incomplete {
      context.filled = form
      return .notice(.warn, problem.text)
    }
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
    let result = try await send(.restock(restock), form, context, id: id)
    return RestockPage(kiosk: try kiosk(context), now: link.time, context: context)
      .outcome(result, of: restock, id: id).response(context)
  }

  /// Sends a command with the user as its source, which the ledger records.
  private func send(
    _ command: Command, _ form: Form, _ context: PageContext, id: CommandID
  ) async throws -> CommandResult? {
    guard let user = context.user else { throw RequestError.loggedOut }
    return try await send(
      command, to: kiosk(context).id, as: Source(kind: command.kind, name: user.name.text), form,
      id: id)
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
    let room = (reports.menu?.menu.fruits ?? []).compactMap { fruit -> FruitAmounts.Element? in
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
      reports.stock?.fruits[fruit].map { (fruit, $0) }
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
    for fruit in reports.menu?.menu.fruits ?? [] {
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
