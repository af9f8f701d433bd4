import Fleet
import HTTPTypes
import Hummingbird
import JuiceDomain
import KioskProtocol
import TimeZones

extension DashboardServer {
  /// Adds the pages of administrators: the users and their sessions, and the actions of users.
  ///
  /// - Parameter router: The group of the path `users`, with `RequireAdmin`.
  func addUsers(to router: RouterGroup<PageContext>) {
    router.get { _, context in await usersPage(context).page().response(context) }
    router.post { request, context in
      let form = try context.form(sessions)
      guard let admin = context.user else { throw RequestError.loggedOut }
      if form["do"] == "end" {
        let ended = sessions.end(listedAs: form["session"] ?? "", of: nil)
        await sessions.save()
        if let ended { await note(admin, .endedSession, ended) }
        return await usersPage(context).page(.ended).response(context)
      }
      let name = form["user"].flatMap { form["do"] == "add" ? User.newName($0) : User.Name($0) }
      guard let name else {
        return await usersPage(context).page(.badName, filled: form).response(context)
      }
      do {
        let outcome = try await change(
          name, form, by: admin, context.origin + context.basePath.text)
        let isRefused =
          switch outcome {
          case .badRegion, .unknownRegions: true
          default: false
          }
        let filled = isRefused && form["do"] == "add" ? form : nil
        return await usersPage(context).page(outcome, filled: filled).response(context)
      } catch let problem as UserAdministration.Problem {
        return await usersPage(context).page(.refused(problem), filled: form).response(context)
      }
    }
    router.get("messages") { _, context in
      let title = context.language("Sent messages", "보낸 알림")
      let list = SentMessageList(
        messages: await sent.all, localTime: localTime(context), language: context.language)
      return Page(
        title: title,
        body: """
          <p class="path"><a href="/users">← \(context.language("Users", "사용자"))</a></p>
          <h1>\(title)</h1><div class="card">\(list.html)</div>
          """, timeZone: list.localTime.clock.name
      ).response(context)
    }
    router.get("audit") { _, context in await auditPage(context).page().response(context) }
    addTable("audit", to: router) { context in await auditPage(context).table }
  }

  private func auditPage(_ context: PageContext) async -> AuditPage {
    let choice = AuditChoice(context.filled)
    let (fleet, language) = (link.fleet, context.language)
    let start = choice.history.start(before: link.time)
    let (records, isCut) = await activity.records(since: start) { record in
      switch record.event {
      case .alert, .stopped: return false
      case .entry(_, let entry):
        // Customers order at panels; machines and payment devices report.
        guard let kind = entry.source?.kind, ![.order, .made, .paid].contains(kind) else {
          return false
        }
        return choice.includes(record, in: fleet, language)
      case .action: return choice.includes(record, in: fleet, language)
      }
    }
    return AuditPage(
      fleet: fleet, names: names(context), choice: choice, records: records, isCut: isCut,
      localTime: localTime(context), context: context)
  }

  private func change(
    _ name: User.Name, _ form: Form, by admin: User, _ origin: String
  ) async throws -> UsersPage.Outcome {
    switch form["do"] {
    case "add":
      guard let role = form["role"].flatMap(User.Role.init(rawValue:)) else {
        throw RequestError.badForm
      }
      let regions = form.regions
      if let refusal = await refusal(of: regions) { return refusal }
      let token = try await administration.add(
        name, role, regions: regions, by: admin, at: link.time)
      await note(admin, .addedUser, name, ([role.rawValue] + regions).joined(separator: ", "))
      return .link(name, "\(origin)/password/\(token)")
    case "role":
      guard let role = form["role"].flatMap(User.Role.init(rawValue:)) else {
        throw RequestError.badForm
      }
      try await administration.set(role, of: name, by: admin)
      await note(admin, .changedRole, name, role.rawValue)
      return .changed(name)
    case "regions":
      let regions = form.regions
      let before = users.current.users[name]?.regions ?? []
      let added = regions.filter { !before.contains($0) }
      if !added.isEmpty, let refusal = await refusal(of: added) { return refusal }
      try await administration.set(regions: regions, of: name, by: admin)
      await note(
        admin, .changedRegions, name, regions.isEmpty ? nil : regions.joined(separator: ", "))
      return .changed(name)
    case "reset":
      let token = try await administration.link(for: name, by: admin, at: link.time)
      await note(admin, .madeLink, name)
      return .link(name, "\(origin)/password/\(token)")
    case "remove":
      try await administration.remove(name, by: admin)
      await note(admin, .removedUser, name)
      return .removed(name)
    default: throw RequestError.badForm
    }
  }

  /// The regions that kiosks publish and those of the archive's list, or `nil` if it does not answer.
  private var knownRegions: [String]? {
    get async {
      guard let archive else { return link.fleet.regions }
      return await archive.regions().map { Set(link.fleet.regions + $0).sorted() }
    }
  }

  /// Returns why a user cannot have these regions, or `nil` if the user can.
  private func refusal(of regions: [String]) async -> UsersPage.Outcome? {
    // The page had no choice of regions then, and a user without regions sees all kiosks.
    guard let known = await knownRegions else { return .unknownRegions }
    // guard: a region without a kiosk is refused
    return regions.first { !known.contains($0) }.map { .badRegion($0) }
  }

  private func usersPage(_ context: PageContext) async -> UsersPage {
    let regions = await knownRegions
    return UsersPage(
      users: users.current.users.values.sorted { $0.name < $1.name },
      sessions: listed(of: nil, context), localTime: localTime(context), context: context,
      regions: regions ?? link.fleet.regions, lacksRegions: regions == nil)
  }

  private func listed(of user: User.Name?, _ context: PageContext) -> [Sessions.Listed] {
    let current = users.current.users
    return sessions.list(of: user, at: now(), token: context.sessionToken) {
      current[$0.name] == $0
    }
  }

  private func localTime(_ context: PageContext) -> LocalTime {
    LocalTime(link.fleet.timeZone, now: link.time, context.language)
  }

  private func note(
    _ user: User, _ verb: ActivityLog.Action.Verb, _ subject: User.Name? = nil,
    _ detail: String? = nil
  ) async {
    await activity.record(
      ActivityLog.Action(
        user.name.text, verb, subject: subject?.text, detail: detail?.visible(upTo: 500)))
  }

  // MARK: Account

  /// Adds the page of the user's own password and sessions.
  ///
  /// - Parameter router: The group of the path `account`, for all users.
  func addAccount(to router: RouterGroup<PageContext>) {
    router.get { _, context in try accountPage(context).page().response(context) }
    router.post("password") { request, context in
      let form = try context.form(sessions)
      guard let user = context.user else { throw RequestError.loggedOut }
      let page = try accountPage(context)
      let new = form["new"] ?? ""
      if let problem = NewPassword.problem(new, form["again"] ?? "") {
        return page.page(problem.notice(context.language)).response(context)
      }
      let known = try await authenticator.user(
        name: user.name.text, password: form["password"] ?? "",
        from: AddressBlock(context.address), at: now(), deviceCookie: { request.cookies[$0]?.value }
      )
      guard known == user else {
        return page.page(
          context.language.notice(.bad, "The current password is wrong.", "현재 비밀번호가 틀렸어요."),
          status: .unauthorized
        ).response(context)
      }
      let hash = try await authenticator.hash(new, cost: cost)
      guard let changed = try await administration.setPassword(hash, of: user) else {
        throw RequestError.loggedOut
      }
      await note(user, .setPassword)
      return await logIn(changed, request, context, to: "/account?done")
    }
    router.post("sessions") { request, context in
      let form = try context.form(sessions)
      guard let user = context.user else { throw RequestError.loggedOut }
      if sessions.end(listedAs: form["session"] ?? "", of: user.name) != nil {
        await sessions.save()
        await note(user, .endedSession)
      }
      return Response.redirect(to: "/account", type: .normal)
    }
  }

  private func accountPage(_ context: PageContext) throws -> AccountPage {
    guard let user = context.user else { throw RequestError.loggedOut }
    return AccountPage(
      sessions: listed(of: user.name, context), localTime: localTime(context), context: context)
  }

  /// Adds the page on which a user sets a password with a link, without a login.
  ///
  /// - Parameter router: The group of the path `password/:token`.
  func addPassword(to router: RouterGroup<PageContext>) {
    router.get { _, context in
      let (token, user) = try await redeemer(context)
      return NewPassword(token: token, user: user).page(context).response(context)
    }
    router.post { request, context in
      let form = try context.form(sessions)
      let (token, user) = try await redeemer(context)
      let new = form["new"] ?? ""
      if let problem = NewPassword.problem(new, form["again"] ?? "") {
        return NewPassword(token: token, user: user)
          .page(context, problem.notice(context.language)).response(context)
      }
      let hash = try await authenticator.hash(new, cost: cost)
      guard let changed = try await administration.redeem(token, hash, at: link.time) else {
        throw RequestError.linkUsed
      }
      await note(changed, .setPassword, nil, "link")
      return await logIn(changed, request, context, to: "/")
    }
  }

  private func redeemer(_ context: PageContext) async throws -> (token: String, user: User.Name) {
    let token = context.coreContext.parameters.get("token") ?? ""
    guard let user = await administration.user(of: token, at: link.time) else {
      throw RequestError.linkUsed
    }
    return (token, user)
  }
}

extension Form {
  /// The regions that the user has chosen.
  var regions: [String] { names("region.").compactMap { self["region.\($0)"] } }
}

/// Restricts pages to administrators.
struct RequireAdmin: RouterMiddleware {
  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard let user = context.user else { throw RequestError.loggedOut }
    guard user.isAdmin else { throw RequestError.onlyAdmins }
    return try await next(request, context)
  }
}
