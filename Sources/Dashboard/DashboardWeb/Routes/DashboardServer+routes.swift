import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskProtocol
import Logging
import Postgres

extension DashboardServer {
  /// Adds the pages of routes.
  ///
  /// - Parameter router: The group of the path `routes`.
  func addRoutes(to router: RouterGroup<PageContext>) {
    router.get { _, context in
      let page = RoutesPage(
        routes: await routes.all.filter { maySee($0, context) }, problems: await routes.problems,
        now: link.time, context: context)
      return page.page().response(context)
    }
    router.get("new") { request, context in
      guard context.isOperator else { throw RequestError.notAllowed }
      let query = Form(request.uri.query ?? "")
      var form = routeForm(query, context)
      if let source = query["from"].flatMap({ Route.ID($0) }), let source = await routes[source],
        maySee(source, context)
      {
        form.source = source
        form.chosen = Set(source.stops.filter { !$0.isSkipped }.map(\.kiosk.text))
        if query["arrival"] == nil { form.plan = form.plan.lasting(as: source.plan) }
      }
      return form.page().response(context)
    }
    router.post { request, context in
      let form = try context.form(sessions)
      return try await createRoute(form, context)
    }
    let route = router.group(":route")
    route.get { _, context in try await routePage(context).page().response(context) }
    route.get("live") { request, context in
      let id = try await self.route(context).id
      return try live(request, context, interest: .route(id)) {
        try await routePage(context).liveParts
      }
    }
    route.get("edit") { _, context in
      guard context.isOperator else { throw RequestError.notAllowed }
      return editPage(try await self.route(context), context).page().response(context)
    }
    route.post("edit") { request, context in
      let form = try context.form(sessions)
      return try await edit(form, context)
    }
    route.get("stops.csv") { _, context in
      let route = try await self.route(context)
      return RouteCSV.response(RouteCSV.stops(route, context.language), name: "stops-\(route.id)")
    }
    route.get("load.csv") { _, context in
      let route = try await self.route(context)
      return RouteCSV.response(RouteCSV.load(route, context.language), name: "load-\(route.id)")
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
    router.get { _, context in try await stopPage(context).page().response(context) }
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
      return Response.redirect(to: "/routes/\(id)", type: .normal)
    }
    router.post("correct") { request, context in
      let form = try context.form(sessions)
      return try await correct(form, context)
    }
  }

  // MARK: Planning

  /// Returns the form with the values of the query, and with the default plan if the query has no
  /// valid one.
  private func routeForm(_ query: Form, _ context: PageContext, problem: String? = nil) -> RouteForm
  {
    let (fleet, now) = (fleet(context), link.time)
    let localTime = LocalTime(fleet.timeZone, now: now, context.language)
    var problem = problem
    var plan = RoutePlan.usual(at: now, localTime)
    if query["arrival"] != nil {
      do throws(RoutePlan.Problem) {
        plan = try RoutePlan(query, at: now, localTime)
      } catch {
        problem = problem ?? error.text(context.language)
      }
    }
    return RouteForm(
      drivers: drivers, fleet: fleet, plan: plan, filter: query["q"] ?? "", now: now,
      context: context,
      problem: problem, chosen: Set(query.names("kiosk.")), filled: query)
  }

  private func createRoute(_ form: Form, _ context: PageContext) async throws -> Response {
    guard let user = context.user else { throw RequestError.loggedOut }
    let (fleet, now) = (fleet(context), link.time)
    let plan: RoutePlan
    do throws(RoutePlan.Problem) {
      plan = try RoutePlan(form, at: now, LocalTime(fleet.timeZone, now: now, context.language))
    } catch {
      return routeForm(form, context, problem: error.text(context.language)).page().response(
        context)
    }
    var stops: [Route.Stop] = []
    let names = form.names("kiosk.")
    guard (1...Route.maximumKiosks).contains(names.count) else {
      let problem = context.language(
        "Choose 1 to \(Route.maximumKiosks) kiosks.", "키오스크를 1~\(Route.maximumKiosks)곳 골라 주세요.")
      return routeForm(form, context, problem: problem).page().response(context)
    }
    let kiosks = names.compactMap { KioskID($0).flatMap { fleet[$0] } }
    if form["mixed"] == nil, let mixed = await mixture(of: kiosks, context) {
      var page = routeForm(form, context)
      page.mixed = mixed
      return page.page().response(context)
    }
    for name in names {
      guard let id = KioskID(name), let kiosk = fleet[id] else { throw RequestError.badForm }
      guard let lines = plan.lines(for: kiosk, at: now) else { continue }
      stops.append(
        Route.Stop(
          kiosk: id, name: kiosk.name, place: kiosk.place, wasOnline: kiosk.isOnline, lines: lines,
          command: .random))
    }
    // Sort by the numbers of the form, then by name in numeric order: stop 4 precedes stop 10.
    stops.sort {
      let positions = [$0, $1].map { form.value("order.\($0.kiosk)") ?? .max }
      guard positions[0] == positions[1] else { return positions[0] < positions[1] }
      let order = $0.title(context.language).compare($1.title(context.language), options: .numeric)
      return order == .orderedSame ? $0.kiosk < $1.kiosk : order == .orderedAscending
    }
    let route = Route(
      id: .random, createdAt: now, createdBy: user.name.text, plan: plan, timeZone: fleet.timeZone,
      stops: stops, name: form.text("name"), driver: form.text("driver"))
    try await routes.add(route)
    await note(.plannedRoute, route, context)
    return .redirect(to: "/routes/\(route.id)", type: .normal)
  }

  /// Returns the currencies or regions of the kiosks if there are several. Compares only the
  /// currencies if there is no archive, or if it does not answer.
  private func mixture(of kiosks: [KioskState], _ context: PageContext) async -> MixedKiosks? {
    var regions: [KioskID: String] = [:]
    if let archive, let user = context.user {
      let ids = kiosks.map(\.id)
      do throws(ChainError) {
        regions = try await archive.query(user) { query throws(DatabaseError) in
          try query.regions(of: ids)
        }
      } catch {
        context.logger.warning("the regions of a route are not compared: \(error)")
      }
    }
    for kiosk in kiosks { regions[kiosk.id] = kiosk.region ?? regions[kiosk.id] }
    return MixedKiosks(kiosks, regions: regions, context.language)
  }

  /// The names of the users who are drivers.
  private var drivers: [String] {
    users.current.users.values.filter { $0.role == .driver }.map(\.name.text).sorted()
  }

  private func editPage(_ route: Route, _ context: PageContext) -> RouteEditPage {
    let others = fleet(context).kiosks.filter { route[$0.id] == nil && $0.menu != nil }
    func key(_ kiosk: KioskState) -> (String, KioskID) { (kiosk.title(context.language), kiosk.id) }
    return RouteEditPage(
      drivers: drivers, route: route, others: others.sorted { key($0) < key($1) }, context: context)
  }

  private func edit(_ form: Form, _ context: PageContext) async throws -> Response {
    let (fleet, now) = (fleet(context), link.time)
    let route = try await route(context)
    var added: Route.Stop?
    if let text = form["add"], !text.isEmpty {
      guard let id = KioskID(text), let kiosk = fleet[id], route[id] == nil,
        route.stops.count < Route.maximumKiosks,
        let lines = route.plan.lines(for: kiosk, at: now)
      else { throw RequestError.badForm }
      let kiosks = route.stops.compactMap { fleet[$0.kiosk] } + [kiosk]
      if form["mixed"] == nil, let mixed = await mixture(of: kiosks, context) {
        var page = editPage(route, context)
        (page.problem, page.filled) = (mixed, form)
        return page.page().response(context)
      }
      added = Route.Stop(
        kiosk: id, name: kiosk.name, place: kiosk.place, wasOnline: kiosk.isOnline, lines: lines,
        command: .random)
    }
    let isFound = try await routes.change(route.id) { [added] route in
      (route.name, route.driver) = (form.text("name"), form.text("driver"))
      if let added, route[added.kiosk] == nil { route.stops.append(added) }
      let positions = route.stops.enumerated().map { index, stop in
        (form.value("order.\(stop.kiosk)") ?? .max, index)
      }
      route.stops = zip(positions, route.stops).sorted { $0.0 < $1.0 }.map(\.1)
    }
    guard isFound else { throw RequestError.notFound }
    link.updates.changed(route.id)
    await note(.changedRoute, try await self.route(context), context)
    return .redirect(to: "/routes/\(route.id)", type: .normal)
  }

  /// Records that the user has planned, changed or deleted a route.
  private func note(
    _ verb: ActivityLog.Action.Verb, _ route: Route, _ context: PageContext
  ) async {
    let stops = route.stops.map(\.kiosk.text).joined(separator: ", ")
    let names = [route.name, route.driver, stops].compactMap(\.self)
    await activity.record(
      ActivityLog.Action(
        context.user?.name.text ?? "", verb,
        detail: names.joined(separator: ": ").visible(upTo: 500)))
  }

  // MARK: Stops

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
    if case (.send(let sent), let restock?) = step {
      let result = try await send(
        .restock(restock), to: kiosk, as: Source(kind: .restock, name: sent.user), form,
        id: sent.command)
      _ = try await routes.update(id, kiosk) {
        $0.updateOutcome(of: sent.command, with: result, next: .random)
      }
      link.updates.changed(id)
    }
    return try await stopPage(context).page().response(context)
  }

  /// Sends the stop report to the kiosk, or shows the result of an earlier attempt.
  private func confirm(_ form: Form, _ context: PageContext) async throws -> Response {
    guard let user = context.user else { throw RequestError.loggedOut }
    let (id, kiosk) = (try context.routeID(), try context.kioskID())
    let stop = try await self.stop(context)
    var new = try Route.StopReport(form, stop, user: user, at: link.time)
    if form["fit"] != nil, let kiosk = link.fleet[kiosk] {
      // A report that was confirmed without a network arrives later than the visit.
      let ago = max(0, form.value("ago") ?? 0)
      let visited = Timestamp(milliseconds: link.time.milliseconds - Int64(ago))
      new = new.fitting(kiosk, at: visited)
    }
    guard !new.brought.isEmpty || !new.counted.isEmpty else {
      return try await stopPage(context).page(.nothingToSend, filled: new).response(context)
    }
    // This check must precede the update, which stores the report as sent.
    guard link.connectionError == nil else { throw RequestError.notSent(form) }
    let step = try await routes.update(id, kiosk) { $0.confirm(new) }
    switch step {
    case nil: throw RequestError.notFound
    case .outdated:
      return try await stopPage(context).page(.outdated, filled: new).response(context)
    case .answered(let earlier):
      let notice = earlier.hasSameAmounts(as: new) ? nil : StopPage.NotSentReason.others(new)
      return try await stopPage(context).page(notice).response(context)
    case .send(let sent):
      // The stored report is sent unchanged, in the name of its first sender.
      let result = try await send(
        .restock(sent.restock), to: kiosk, as: Source(kind: .restock, name: sent.user), form,
        id: sent.command)
      _ = try await routes.update(id, kiosk) {
        $0.updateOutcome(of: sent.command, with: result, next: .random)
      }
      link.updates.changed(id)
      var page = try await stopPage(context)
      page.answeredStock = result?.stock ?? [:]
      return page.page(sent.hasSameAmounts(as: new) ? nil : .others(new)).response(context)
    }
  }

  /// Returns whether the user may see a route: all its kiosks, and for a driver only the own routes.
  private func maySee(_ route: Route, _ context: PageContext) -> Bool {
    guard let user = context.user else { return false }
    // guard: a driver sees only the own routes
    if user.role == .driver, !route.isDriven(by: user) { return false }
    return user.regions.isEmpty
      || route.stops.allSatisfy { link.fleet[$0.kiosk].map(context.maySee) ?? false }
  }

  /// Returns the route that the path names, and updates its unanswered stops with the outcomes that
  /// the kiosks have published.
  ///
  /// - Throws: `RequestError.notFound` if there is no such route that the user may see.
  func route(_ context: PageContext) async throws -> Route {
    let id = try context.routeID()
    guard let route = await routes[id], maySee(route, context) else { throw RequestError.notFound }
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

extension Route.ID {
  fileprivate static var random: Self {
    let number = UInt64.random(in: 0 ... .max)
    guard let id = Self("r\(String(number, radix: 36))") else {
      preconditionFailure("digits and letters make an id")
    }
    return id
  }
}

extension Route {
  /// Returns whether the driver of the route is a user. A person may have written the name.
  fileprivate func isDriven(by user: User) -> Bool {
    let name = driver?.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return name?.lowercased() == user.name.text.lowercased()
  }
}

extension Form {
  /// Returns the visible text of a field, truncated to `maximumName`, or `nil` if it is blank.
  fileprivate func text(_ name: String) -> String? {
    let text = (self[name] ?? "").visible(upTo: Route.maximumName)
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }
}

extension RoutePlan {
  /// Returns a plan with the arrival of this plan, and the length, the margin and the fill of
  /// another plan.
  fileprivate func lasting(as other: RoutePlan) -> Self {
    let length = other.end.milliseconds - other.arrival.milliseconds
    return Self(
      arrival: arrival, end: Timestamp(milliseconds: arrival.milliseconds + length),
      margin: other.margin, fill: other.fill) ?? self
  }

  /// The reason why a form contains no valid plan.
  fileprivate enum Problem: Error {
    case times, margin, tooFar

    func text(_ language: Language) -> String {
      switch self {
      case .times:
        language(
          "The arrival must be before the time until which the fruit must last.",
          "도착 시각이 다음 방문보다 앞서야 해요.")
      case .margin:
        language(
          "The margin is a whole number from \(margins.lowerBound) to \(margins.upperBound).",
          "여유는 \(margins.lowerBound)~\(margins.upperBound) 사이의 정수예요.")
      case .tooFar:
        language("A route cannot be planned for more than 60 days.", "60일이 넘는 방문 경로는 계획할 수 없어요.")
      }
    }
  }

  fileprivate init(_ form: Form, at now: Timestamp, _ localTime: LocalTime) throws(Problem) {
    guard let margin = form["margin"].flatMap({ Int($0) }), Self.margins.contains(margin) else {
      throw .margin
    }
    guard let arrival = form["arrival"].flatMap(localTime.time(field:)),
      let end = form["until"].flatMap(localTime.time(field:)),
      let plan = Self(
        arrival: arrival, end: end, margin: margin,
        fill: form["fill"].flatMap(Fill.init(rawValue:)) ?? .capacity)
    else { throw .times }
    let distances = [arrival, end].map { $0.since(now) }
    guard distances.allSatisfy({ abs($0 / .seconds(86_400)) <= 60 }) else { throw .tooFar }
    self = plan
  }

  /// Returns the default plan: from tomorrow at 08:00, for three days.
  fileprivate static func usual(at now: Timestamp, _ localTime: LocalTime) -> Self {
    let day = Int64(86_400_000)
    func morning(after days: Int64) -> Timestamp {
      let later = Timestamp(milliseconds: now.milliseconds + days * day)
      return localTime.time(field: "\(localTime.field(later).prefix(10))T08:00") ?? later
    }
    let plan = Self(
      arrival: morning(after: 1), end: morning(after: 4), margin: 20, fill: .capacity)
    guard let plan else { preconditionFailure("three days later comes later") }
    return plan
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
    self.init(
      command: command, user: user.name.text, at: now, brought: brought, counted: counted,
      ledger: FruitAmounts(ledger))
  }
}
