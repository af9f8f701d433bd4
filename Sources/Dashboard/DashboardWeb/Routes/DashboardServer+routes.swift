import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskProtocol
import TimeZones

extension DashboardServer {
  /// Adds the pages of routes.
  ///
  /// - Parameter router: The group of the path `routes`.
  func addRoutes(to router: RouterGroup<PageContext>) {
    router.get { _, context in
      let routes = await self.routes.all.filter { maySee($0, context) == true }
      let page = RoutesPage(
        routes: routes, problems: await self.routes.problems,
        driverProblems: context.isOperator ? await driverProblems(of: routes, context) : [:],
        now: link.time, context: context)
      return page.page().response(context)
    }
    router.get("new") { request, context in
      guard context.isOperator else { throw RequestError.notVisible }
      return await routeForm(Form(request.uri.query ?? ""), context).page().response(context)
    }
    router.post { request, context in
      let form = try context.form(sessions)
      return try await createRoute(form, context)
    }
    let route = router.group(":route")
    route.get { _, context in
      var page = try await routePage(context)
      if context.isOperator {
        page.driverProblem = await driverProblems(of: [page.route], context)[page.route.id]
      }
      return page.page().response(context)
    }
    route.get("live") { request, context in
      let id = try await self.route(context).id
      return try live(request, context, interest: .route(id)) {
        try await routePage(context).liveParts
      }
    }
    route.get("edit") { _, context in
      guard context.isOperator else { throw RequestError.notVisible }
      return editPage(try await self.route(context), context).page().response(context)
    }
    route.post("edit") { request, context in
      let form = try context.form(sessions)
      return try await edit(form, context)
    }
    addTable("stops", to: route) { context in
      try await self.route(context).stopTable(context.language)
    }
    addTable("load", to: route) { context in
      try await self.route(context).loadTable(context.language)
    }
    route.post("delete") { request, context in
      let form = try context.form(sessions)
      guard form["sure"] != nil else {
        return try await routePage(context).deletionPage.response(context)
      }
      let route = try await self.route(context)
      guard try await routes.remove(route.id) else {
        let stays = context.language.notice(
          .warn, "This route has started and cannot be deleted.", "이미 시작한 방문 경로라 삭제할 수 없어요.")
        return try await routePage(context).page(notice: stays).response(context)
      }
      await note(.deletedRoute, route, context)
      return .redirect(to: "/routes", type: .normal)
    }
    addStop(to: route.group("kiosks/:kiosk"))
  }

  /// Adds the pages of a stop.
  ///
  /// - Parameter router: The group of a kiosk's path within a route.
  private func addStop(to router: RouterGroup<PageContext>) {
    // The pages that answer a correction and a removal have the other paths.
    for path: RouterPath in ["", "correct", "remove"] {
      router.get(path) { _, context in try await stopPage(context).page().response(context) }
    }
    router.get("live") { request, context in
      let kiosk = try await stop(context).kiosk
      return try live(request, context, interest: .kiosk(kiosk)) {
        try await stopPage(context).liveParts
      }
    }
    router.post { request, context in
      let form = try context.form(sessions)
      return try await confirm(form, context)
    }
    router.post("skip") { request, context in
      let form = try context.form(sessions)
      guard let skip = form["skip"], ["0", "1"].contains(skip) else { throw RequestError.badForm }
      let (id, kiosk) = (try await route(context).id, try context.kioskID())
      guard try await routes.update(id, kiosk, { $0.skip(skip == "1") }) != nil else {
        throw RequestError.notFound
      }
      link.updates.changed(id)
      await note(.changedRoute, try await route(context), context)
      return Response.redirect(to: "/routes/\(id)", type: .normal)
    }
    router.post("correct") { request, context in
      let form = try context.form(sessions)
      return try await correct(form, context)
    }
    router.post("remove") { request, context in
      let form = try context.form(sessions)
      return try await takeOut(form, context)
    }
  }

  // MARK: Stops

  /// Records the expired fruit that was taken out at a stop, by the command of the kiosk's page.
  private func takeOut(_ form: Form, _ context: PageContext) async throws -> Response {
    var context = context
    let (id, kiosk) = (try context.routeID(), try await stop(context).kiosk)
    // Other fruit is taken out only on the kiosk's page, which is not for drivers.
    guard form[CommandForm.Kind.remove.field] != nil else { throw RequestError.badForm }
    let notice = try await send(.remove, form, from: "/routes/\(id)/kiosks/\(kiosk)", &context)
    var page = try await stopPage(context)
    page.removal = notice
    return page.page().response(context)
  }

  /// Sends the difference between the corrected numbers of a stop and those that the kiosk has
  /// applied.
  private func correct(_ form: Form, _ context: PageContext) async throws -> Response {
    guard let user = context.user else { throw RequestError.loggedOut }
    let (id, kiosk) = (try context.routeID(), try context.kioskID())
    let stop = try await self.stop(context)
    let new = try Route.StopReport(form, stop, user: user, at: link.time)
    guard link.connectionError == nil else { throw RequestError.notSent(form) }
    let step = try await routes.update(id, kiosk) { stop in
      let step = stop.correct(new)
      return (step, stop.correction.map { stop.restock(of: $0) })
    }
    guard let step else { throw RequestError.notFound }
    var notice: StopPage.NotSentReason?
    if case (.send(let sent), let restock?) = step {
      let late = restock.putIn(
        at: sent.at, by: restock.add, into: link.fleet[kiosk], now: link.time)
      let result = try await send(
        .restock(late), to: kiosk, as: Source(kind: .restock, name: sent.user), form,
        id: sent.command)
      _ = try await routes.update(id, kiosk) {
        $0.updateOutcome(of: sent.command, with: result, next: .random)
      }
      link.updates.changed(id)
      // An earlier correction without an answer is sent in place of this one.
      if let own = stop.corrected(by: new), !sent.isSame(as: own) { notice = .others(own) }
    }
    return try await stopPage(context).page(notice).response(context)
  }

  /// Sends the stop report to the kiosk, or shows the result of an earlier attempt.
  private func confirm(_ form: Form, _ context: PageContext) async throws -> Response {
    guard let user = context.user else { throw RequestError.loggedOut }
    let (id, kiosk) = (try context.routeID(), try context.kioskID())
    let route = try await self.route(context)
    guard let stop = route[kiosk] else { throw RequestError.notFound }
    // A report that was confirmed without a network arrives later than the visit.
    let ago = max(0, form.value("ago") ?? 0)
    let visited = max(
      route.createdAt, Timestamp(milliseconds: link.time.milliseconds - Int64(ago) * 1000))
    var new = try Route.StopReport(form, stop, user: user, at: visited)
    // The kiosk has the fruit of a report that was sent before: none of it needs room again.
    let wasSent = stop.report.map { $0.command == new.command || !stop.isOpen } ?? false
    if !wasSent, form["fit"] != nil, let kiosk = link.fleet[kiosk] {
      new = new.fitting(kiosk, at: visited)
    }
    guard wasSent || !new.brought.isEmpty || !new.counted.isEmpty else {
      return try await stopPage(context).page(.nothingToSend(new), filled: new).response(context)
    }
    // This check must precede the update, which stores the report as sent.
    guard link.connectionError == nil else { throw RequestError.notSent(form) }
    let step = try await routes.update(id, kiosk) { $0.confirm(new) }
    switch step {
    case nil: throw RequestError.notFound
    case .answered(let earlier) where earlier.isSame(as: new):
      return try await stopPage(context).page().response(context)
    case .outdated, .answered:
      let stop = try await self.stop(context)
      guard let applies = stop.report, !stop.isOpen else {
        return try await stopPage(context).page(.outdated, filled: new).response(context)
      }
      let notice = applies.isSame(as: new) ? nil : StopPage.NotSentReason.others(new)
      return try await stopPage(context).page(notice).response(context)
    case .send(let sent):
      // The stored report is sent unchanged, in the name of its first sender.
      let restock = sent.restock.putIn(
        at: sent.at, by: sent.changes, into: link.fleet[kiosk], now: link.time)
      let result = try await send(
        .restock(restock), to: kiosk, as: Source(kind: .restock, name: sent.user), form,
        id: sent.command)
      _ = try await routes.update(id, kiosk) {
        $0.updateOutcome(of: sent.command, with: result, next: .random)
      }
      link.updates.changed(id)
      var page = try await stopPage(context)
      page.answeredStock = result?.stock ?? [:]
      return page.page(sent.isSame(as: new) ? nil : .others(new)).response(context)
    }
  }

  /// Returns whether the user may see a route: all its kiosks, and for a driver only the own routes.
  /// Returns `nil` if the fleet does not contain a kiosk of the route, for example because the broker
  /// has not sent its messages yet. A driver may see such a kiosk on the own routes.
  func maySee(_ route: Route, _ context: PageContext) -> Bool? {
    guard let user = context.user else { return false }
    // guard: a driver sees only the own routes
    if user.role == .driver, !route.isDriven(by: user) { return false }
    if user.regions.isEmpty { return true }
    let kiosks = route.stops.compactMap { link.fleet[$0.kiosk] }
    guard kiosks.allSatisfy(context.maySee) else { return false }
    return kiosks.count == route.stops.count || user.role == .driver ? true : nil
  }

  /// Returns the route that the path names, and updates its unanswered stops with the outcomes that
  /// the kiosks have published.
  ///
  /// - Throws: `RequestError.notFound` if there is no such route that the user may see, and
  ///   `.unknownKiosk` if that is not known.
  func route(_ context: PageContext) async throws -> Route {
    let id = try context.routeID()
    guard let route = await routes[id] else { throw RequestError.notFound }
    guard let isVisible = maySee(route, context) else { throw RequestError.unknownKiosk }
    guard isVisible else { throw RequestError.notFound }
    let fleet = link.fleet
    for stop in route.stops where stop.isUnanswered {
      guard let kiosk = fleet[stop.kiosk] else { continue }
      _ = try await routes.update(id, stop.kiosk) { $0.updateOutcome(from: kiosk) }
    }
    return await routes[id] ?? route
  }

  private func stop(_ context: PageContext) async throws -> Route.Stop {
    guard let stop = try await route(context)[try context.kioskID()] else {
      throw RequestError.notFound
    }
    return stop
  }

  private func routePage(_ context: PageContext) async throws -> RoutePage {
    RoutePage(route: try await route(context), now: link.time, context: context)
  }

  private func stopPage(_ context: PageContext) async throws -> StopPage {
    let (route, kiosk) = (try await route(context), try context.kioskID())
    guard let stop = route[kiosk] else { throw RequestError.notFound }
    return StopPage(
      route: route, stop: stop, kiosk: link.fleet[kiosk], connectionError: link.connectionError,
      now: link.time,
      context: context)
  }
}

extension Restock {
  /// Returns the restock of fruit that was put in at an earlier time. A kiosk determines the age of
  /// fruit from the arrival of the command, so a restock that is at least a minute late contains the
  /// time at which the fruit expires, unless the day on its package ends earlier.
  ///
  /// - Parameter changes: The changes of the stock. Only fruit of which there is more has a date.
  fileprivate func putIn(
    at time: Timestamp, by changes: FruitAmounts, into kiosk: KioskState?, now: Timestamp
  ) -> Restock {
    // guard: the age of fruit counts from the visit
    guard now.since(time) >= .seconds(60), let kiosk else { return self }
    let clock = LocalTime(kiosk.timeZone, now: now, .english).clock
    var (times, days) = (bestBefore, bestBeforeDay)
    for fruit in kiosk.reports.menu?.menu.fruits ?? [] {
      guard let hours = fruit.keepsHours, changes[fruit.id] ?? 0 > 0 else { continue }
      let end = time.milliseconds + Int64(hours) * 3_600_000
      if let day = days[fruit.id], clock.start(ofDay: day + 1).milliseconds <= end { continue }
      (times[fruit.id], days[fruit.id]) = (end, nil)
    }
    return Restock(
      add: add, set: set, expect: expect, bestBefore: times, bestBeforeDay: days)
  }
}

extension Route {
  /// Returns whether the driver of the route is a user. A person may have written the name.
  func isDriven(by user: User) -> Bool {
    let name = driver?.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return name?.lowercased() == user.name.text.lowercased()
  }
}

extension Route.StopReport {
  /// Reads the form of a confirmed stop. The form may contain only fruits that are on the stop.
  fileprivate init(
    _ form: Form, _ stop: Route.Stop, user: User, at now: Timestamp
  ) throws(RequestError) {
    guard let command = form.commandID else { throw .badForm }
    let counted = try form.amounts("counted.")
    let ledger = try form.amounts("ledger.").filter { counted[$0.fruit] != nil }
    let brought = try form.amounts("brought.", isChange: true)
    guard (counted + ledger + brought).allSatisfy({ stop.line(of: $0.fruit) != nil }),
      counted.allSatisfy({ $0.amount >= 0 })
    else { throw .badForm }
    var days: [Fruit.ID: CivilDate] = [:]
    for fruit in stop.lines.map(\.fruit.id) {
      guard let text = form["best.\(fruit)"], !text.isEmpty else { continue }
      guard let day = CivilDate(text) else { throw .badDate }
      days[fruit] = day
    }
    // The fruit of a rejected report may have been put in then.
    let earlier = stop.report.flatMap { report -> Timestamp? in
      let isSame = brought.allSatisfy { report.entered[$0.fruit] == $0.amount }
      return isSame && !brought.isEmpty ? report.at : nil
    }
    self.init(
      command: command, user: user.name.text, at: min(now, earlier ?? now),
      brought: brought, counted: counted, ledger: FruitAmounts(ledger), bestBefore: days)
  }
}
