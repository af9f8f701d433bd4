import Fleet
import Hummingbird
import JuiceDomain
import Logging
import Postgres

/// Restricts users with regions to the kiosks of these regions, and to the paths in `common`; drivers to
/// their routes. A new path is accessible to none of them by default.
///
/// A kiosk has the region that it publishes; one that publishes none has that of the archive's list, if
/// there is an archive. While the archive does not answer, no user with regions sees such a kiosk, and each
/// page says so.
struct RequireAccess: RouterMiddleware {
  /// The first parts of the paths whose handlers show only kiosks of `DashboardServer.fleet(_:)`, or, for
  /// the chain, of `ChainArchive.query(_:_:)`.
  static let common: Set = [
    "", "live", "kiosks", "routes", "sales", "sales.csv", "sales.xlsx", "history", "history.csv",
    "history.xlsx", "chain",
  ]

  let server: DashboardServer

  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard let user = context.user, !user.regions.isEmpty || user.role == .driver else {
      return try await next(request, context)
    }
    let names = request.uri.path.split(separator: "/").map { String($0) }
    let first = names.first ?? ""
    if user.role == .driver {
      if names.isEmpty, request.method == .get { return .redirect(to: "/routes", type: .normal) }
      // guard: a driver sees only routes and reports only stops
      guard first == "routes", request.method == .get || names.count > 3 else {
        throw RequestError.notVisible
      }
    }
    guard Self.common.contains(first) else { throw RequestError.notFound }
    if first == "chain" { return try await next(request, context) }
    var context = context
    if !user.regions.isEmpty, let archive = server.archive,
      server.link.fleet.kiosks.contains(where: { $0.region == nil })
    {
      do throws(ChainError) {
        context.listedKiosks = try await archive.query(user) { query throws(DatabaseError) in
          try query.kiosks()
        }
      } catch {
        // The list's live updates begin again later, and a form for all kiosks would omit some.
        let form = try? context.sent.get()
        let isForAll = ["all", "same_region", "same_currency"].contains { form?[$0] != nil }
        if names == ["live"] || isForAll { throw error }
        if await server.namesKioskWithoutRegion(context) { throw error }
        context.lacksKiosks = true
        if case .database(let error) = error { context.logger.error("archive: \(error)") }
      }
    }
    // guard: a path names only kiosks and routes of the user
    try await server.checkAccess(context)
    return try await next(request, context)
  }
}

extension PageContext {
  /// Returns whether the user may see a kiosk.
  func maySee(_ kiosk: KioskState) -> Bool {
    guard let user else { return false }
    // guard: a user sees only the kiosks of the own regions
    if user.regions.isEmpty { return true }
    return kiosk.region.map(user.regions.contains) ?? listedKiosks.contains(kiosk.id)
  }
}

extension DashboardServer {
  /// Returns the kiosks that the user may see. Each page with several kiosks takes them from here.
  func fleet(_ context: PageContext) -> KioskFleet {
    context.user?.regions.isEmpty == true ? link.fleet : link.fleet.limited(where: context.maySee)
  }

  /// Returns the kiosk that the path names.
  ///
  /// - Throws: `RequestError.notFound` if there is no such kiosk that the user may see.
  func kiosk(_ context: PageContext) throws -> KioskState {
    guard let kiosk = link.fleet[try context.kioskID()], context.maySee(kiosk) else {
      throw RequestError.notFound
    }
    return kiosk.named(by: names(context).otherNames)
  }

  /// Returns the names on the menus of the kiosks that the user may see. Each page that names juices or
  /// fruits takes them from here.
  func names(_ context: PageContext) -> MenuNames {
    MenuNames(of: link.fleet) { context.maySee($0) }
  }

  /// Returns whether the path names a kiosk, or a route to one, that publishes no region.
  fileprivate func namesKioskWithoutRegion(_ context: PageContext) async -> Bool {
    let fleet = link.fleet
    var kiosks: [KioskID] = []
    if let kiosk = try? context.kioskID() { kiosks.append(kiosk) }
    if let id = try? context.routeID(), let route = await routes[id] {
      kiosks += route.stops.map(\.kiosk)
    }
    return kiosks.contains { id in fleet[id].map { $0.region == nil } ?? false }
  }

  /// Throws `RequestError.notFound` if the user may not see the kiosk or the route that the path names.
  fileprivate func checkAccess(_ context: PageContext) async throws {
    let names = context.coreContext.parameters
    if names.get("route") != nil {
      _ = try await route(context)
    } else if names.get("kiosk") != nil {
      _ = try kiosk(context)
    }
  }
}
