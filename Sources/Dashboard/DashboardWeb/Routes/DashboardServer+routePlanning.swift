import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskProtocol
import Logging
import Postgres

// Planning and changing routes.
extension DashboardServer {
  /// Returns the form with the values of the query, and with the default plan if the query has no
  /// valid one.
  ///
  /// - Parameter proposesAgain: Whether kiosks are proposed again. What the user has selected, or not
  ///   selected, against the earlier proposal stays.
  func routeForm(
    _ query: Form, _ context: PageContext, problem: String? = nil, proposesAgain: Bool = false
  ) async -> RouteForm {
    let now = link.time
    var source: Route?
    if let id = query["from"].flatMap({ Route.ID($0) }), let route = await routes[id],
      maySee(route, context) == true
    {
      source = route
    }
    let area = RouteArea(query, of: fleet(context), source)
    let localTime = LocalTime(area.timeZone, now: now, context.language)
    var problem = problem
    var plan = RoutePlan.usual(at: now, localTime)
    if query["arrival"] != nil {
      do throws(RoutePlan.Problem) {
        plan = try RoutePlan(query, at: now, localTime)
      } catch {
        problem = problem ?? error.text(context.language)
      }
    } else if let source {
      plan = plan.lasting(as: source.plan)
    }
    var form = RouteForm(
      drivers: drivers(for: context.user), area: area, visits: await visits(), plan: plan,
      filter: query["q"] ?? "",
      now: now, context: context, problem: problem, filled: query, source: source)
    let selected = Set(query.names("kiosk."))
    let proposed = query["proposed"].map { Set($0.split(separator: " ").map(String.init)) }
    form.removed = proposed?.subtracting(selected) ?? []
    if proposesAgain, let proposed {
      form.added = selected.subtracting(proposed)
    } else if proposed != nil || !selected.isEmpty {
      form.chosen = selected
    }
    return form
  }

  /// Returns the visits that routes plan, except those of one route.
  private func visits(except route: Route.ID? = nil) async -> [KioskID: [RouteVisit]] {
    RouteVisit.planned(await routes.all.filter { $0.id != route }, at: link.time)
  }

  func createRoute(_ form: Form, _ context: PageContext) async throws -> Response {
    guard let user = context.user else { throw RequestError.loggedOut }
    if form["do"] == "propose" {
      return await routeForm(form, context, proposesAgain: true).page().response(context)
    }
    var id = form.routeID(by: user.name)
    while let earlier = await routes[id] {
      // The same entries plan another route if the earlier one has been driven or is over.
      guard
        earlier.hasStarted || earlier.stops.contains(where: \.isSkipped)
          || earlier.isOver(at: link.time)
      else { return .redirect(to: "/routes/\(id)?existed=1", type: .normal) }
      id = form.routeID(by: user.name, after: id)
    }
    let (fleet, now) = (fleet(context), link.time)
    let timeZone = RouteArea(form, of: fleet).timeZone
    let plan: RoutePlan
    do throws(RoutePlan.Problem) {
      plan = try RoutePlan(form, at: now, LocalTime(timeZone, now: now, context.language))
    } catch {
      let problem = error.text(context.language)
      return await routeForm(form, context, problem: problem).page().response(context)
    }
    var stops: [Route.Stop] = []
    let visits = await visits()
    let names = form.names("kiosk.")
    guard (1...Route.maximumKiosks).contains(names.count) else {
      let problem = context.language(
        "Choose 1 to \(Route.maximumKiosks) kiosks.", "키오스크를 1~\(Route.maximumKiosks)곳 골라 주세요.")
      return await routeForm(form, context, problem: problem).page().response(context)
    }
    let kiosks = names.compactMap { KioskID($0).flatMap { fleet[$0] } }
    let regions = await regions(of: kiosks, context)
    let driver = form.text("driver")
    let reporter = reporters.first { $0.name.text == driver }
    if let problem = driver.flatMap({
      problem(of: reporter, $0, regions: regions, context.language)
    }) {
      return await routeForm(form, context, problem: problem).page().response(context)
    }
    if form["mixed"] == nil,
      let mixed = MixedKiosks(kiosks, regions: regions, context.language)
    {
      var page = await routeForm(form, context)
      page.mixed = mixed
      return page.page().response(context)
    }
    for name in names {
      guard let id = KioskID(name), let kiosk = fleet[id] else { throw RequestError.badForm }
      guard let lines = plan.lines(for: kiosk, after: visits[id] ?? [], at: now) else { continue }
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
      id: id, createdAt: now, createdBy: user.name.text, plan: plan, timeZone: timeZone,
      stops: stops, name: form.text("name"), driver: driver)
    guard try await routes.add(route) else {
      let problem = context.language(
        "There are already \(RouteStore.maximumRoutes) routes that are not over. Delete one that has not started.",
        "아직 끝나지 않은 방문 경로가 이미 \(RouteStore.maximumRoutes)개 있어요. 시작하지 않은 것을 하나 지워 주세요.")
      return await routeForm(form, context, problem: problem).page().response(context)
    }
    await note(.plannedRoute, route, context)
    return .redirect(to: "/routes/\(route.id)", type: .normal)
  }

  /// Returns the regions of kiosks, with an empty text for a kiosk that has none. Omits kiosks whose
  /// region only the archive has if it does not answer.
  private func regions(
    of kiosks: [KioskState], _ context: PageContext
  ) async -> [KioskID: String] {
    var regions: [KioskID: String] = [:]
    for kiosk in kiosks { regions[kiosk.id] = kiosk.region }
    let unpublished = kiosks.filter { $0.region == nil }.map(\.id)
    var listed: [KioskID: String] = [:]
    if let archive, let user = context.user, !unpublished.isEmpty {
      do throws(ChainError) {
        listed = try await archive.query(user) { query throws(DatabaseError) in
          try query.regions(of: unpublished)
        }
      } catch {
        context.logger.warning("the regions of a route are not compared: \(error)")
        return regions
      }
    }
    for kiosk in unpublished { regions[kiosk] = listed[kiosk] ?? "" }
    return regions
  }

  /// The users who may report stops, the drivers first.
  private var reporters: [User] {
    let users = users.current.users.values.filter(\.canReport).sorted { $0.name < $1.name }
    return users.filter { $0.role == .driver } + users.filter { $0.role != .driver }
  }

  /// Returns the users who may report stops in a region of a user.
  private func drivers(for user: User?) -> [RouteForm.Driver] {
    reporters.compactMap { reporter in
      let regions = reporter.regions.filter {
        user?.regions.isEmpty == true || user?.regions.contains($0) == true
      }
      guard reporter.regions.isEmpty || !regions.isEmpty else { return nil }
      return RouteForm.Driver(name: reporter.name.text, regions: regions)
    }
  }

  /// Returns the problems of the routes with open stops whose drivers cannot report them. A user who was
  /// removed, or has lost a role or a region, stays the driver of earlier routes.
  func driverProblems(of routes: [Route], _ context: PageContext) async -> [Route.ID: String] {
    let open = routes.filter {
      $0.driver != nil && !$0.isOver(at: link.time) && $0.next() != nil
    }
    let kiosks = Set(open.flatMap { $0.stops.map(\.kiosk) })
    let (fleet, users) = (link.fleet, reporters)
    let regions = await regions(of: kiosks.compactMap { fleet[$0] }, context)
    var problems: [Route.ID: String] = [:]
    for route in open {
      guard let driver = route.driver else { continue }
      let own = regions.filter { route[$0.key] != nil }
      problems[route.id] = problem(
        of: users.first(where: route.isDriven), driver, regions: own, context.language)
    }
    return problems
  }

  /// Returns the reason for which a driver cannot report the stops of a route, or `nil` if there is none.
  ///
  /// - Parameter user: The user, or `nil` if no user with the name of the driver may report stops.
  /// - Parameter regions: The regions of the route's kiosks.
  private func problem(
    of user: User?, _ driver: String, regions: [KioskID: String], _ language: Language
  ) -> String? {
    guard let user else {
      return language(
        "There is no user \(driver) who can report stops. Choose another driver.",
        "\(driver): 방문을 기록할 수 있는 사용자가 아니에요. 다른 운전자를 골라 주세요.")
    }
    let hidden = user.regions.isEmpty ? [:] : regions.filter { !user.regions.contains($0.value) }
    guard !hidden.isEmpty else { return nil }
    let titles = hidden.keys.compactMap { link.fleet[$0]?.title(language) }.sorted()
    let more = titles.count > 5 ? " +\(titles.count - 5)" : ""
    let listed = titles.prefix(5).joined(separator: ", ") + more
    return language(
      "These kiosks are not in a region of \(driver): \(listed). Choose another driver.",
      "\(driver) 님의 지역이 아닌 키오스크예요: \(listed). 다른 운전자를 골라 주세요.")
  }

  func editPage(_ route: Route, _ context: PageContext) -> RouteEditPage {
    let others = fleet(context).kiosks.filter {
      route[$0.id] == nil && $0.menu != nil && $0.stock != nil
    }
    func key(_ kiosk: KioskState) -> (String, KioskID) { (kiosk.title(context.language), kiosk.id) }
    var page = RouteEditPage(
      drivers: drivers(for: context.user), route: route,
      others: others.sorted { key($0) < key($1) }, context: context, filled: context.filled)
    if !context.filled.names("").isEmpty {
      page.problem = CommonNotices.notSentYet(context.language)
    }
    return page
  }

  func edit(_ form: Form, _ context: PageContext) async throws -> Response {
    let (fleet, now) = (fleet(context), link.time)
    let route = try await route(context)
    let (isNamed, isDriven) = (form.isChanged("name"), form.isChanged("driver"))
    let driver = isDriven ? form.text("driver") : route.driver
    var kiosks = route.stops.compactMap { link.fleet[$0.kiosk] }
    var new: KioskState?
    if let text = form["add"], !text.isEmpty {
      guard let id = KioskID(text), let kiosk = fleet[id] else { throw RequestError.badForm }
      if route[id] == nil { new = kiosk }
    }
    kiosks += [new].compactMap(\.self)
    let regions = await regions(of: kiosks, context)
    // A driver who keeps the route may have been removed or have lost a region: a new kiosk is compared.
    let isKept = driver == route.driver
    let compared = isKept ? regions.filter { $0.key == new?.id } : regions
    let user = reporters.first { isKept ? route.isDriven(by: $0) : $0.name.text == driver }
    if !isKept || user != nil,
      let problem = driver.flatMap({ problem(of: user, $0, regions: compared, context.language) })
    {
      var page = editPage(route, context)
      (page.problem, page.filled) = (HTML.notice(.bad, problem), form)
      return page.page().response(context)
    }
    var added: Route.Stop?
    if let new {
      let visits = await visits(except: route.id)
      guard route.stops.count < Route.maximumKiosks,
        let lines = route.plan.lines(for: new, after: visits[new.id] ?? [], at: now)
      else { throw RequestError.badForm }
      if form["mixed"] == nil,
        let mixed = MixedKiosks(kiosks, regions: regions, context.language)
      {
        var page = editPage(route, context)
        (page.problem, page.filled) = (mixed.notice(context.language), form)
        return page.page().response(context)
      }
      added = Route.Stop(
        kiosk: new.id, name: new.name, place: new.place, wasOnline: new.isOnline, lines: lines,
        command: .random)
    }
    let isFound = try await routes.change(route.id) { [added] route in
      // What the user has not changed may have been changed by another since.
      if isNamed { route.name = form.text("name") }
      if isDriven { route.driver = driver }
      if let added, route[added.kiosk] == nil { route.stops.append(added) }
      guard route.stops.contains(where: { form.isChanged("order.\($0.kiosk)") }) else { return }
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
  func note(
    _ verb: ActivityLog.Action.Verb, _ route: Route, _ context: PageContext
  ) async {
    func detail(_ language: Language) -> String {
      let stops = route.stops.map { $0.title(language) }.joined(separator: ", ")
      return [route.name, route.driver, stops].compactMap(\.self).joined(separator: ": ")
        .visible(upTo: 500)
    }
    var action = ActivityLog.Action(
      context.user?.name.text ?? "", verb, detail: detail(.english))
    action.koreanDetail = detail(.korean)
    await activity.record(action)
  }
}

extension Form {
  /// Returns the id of the route that the form creates. It is the same if a user sends the same entries
  /// again. A hidden field with an id would not be: the browser's Back loads the page again, and fills
  /// in only what the user has entered.
  ///
  /// - Parameter earlier: The earlier route with the same entries, which has been used, or `nil`.
  fileprivate func routeID(by user: User.Name, after earlier: Route.ID? = nil) -> Route.ID {
    let others: Set = ["csrf_token", "proposed", "q", "do", "mixed"]
    let entries = names("").filter { !others.contains($0) }.compactMap { name -> String? in
      guard let value = self[name], !value.isEmpty else { return nil }
      return "\(name.percentEncoded)=\(value.percentEncoded)"
    }
    let parts = [user.text] + entries + [earlier?.text].compactMap(\.self)
    let hash = UserAdministration.hash(of: parts.joined(separator: "&"))
    guard let id = Route.ID("r\(hash.prefix(16))") else {
      preconditionFailure("digits and letters make an id")
    }
    return id
  }

  /// Returns the visible text of a field, truncated to `maximumName`, or `nil` if it is blank.
  fileprivate func text(_ name: String) -> String? {
    let text = (self[name] ?? "").visible(upTo: Route.maximumName)
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }
}
