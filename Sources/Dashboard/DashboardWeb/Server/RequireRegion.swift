import Fleet
import Hummingbird
import JuiceDomain
import Postgres

/// Restricts users with a region to the kiosks of that region, to their list, and to the pages of the
/// chain. Throws `notFound` for all other paths, so a new page is not accessible by
/// default; without an archive, for all paths.
struct RequireRegion: RouterMiddleware {
  let archive: ChainArchive?

  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard let user = context.user, user.region != nil else {
      return try await next(request, context)
    }
    guard let archive else { throw RequestError.notFound }
    // `addFleet` and `addFleetSales` limit the list.
    if ["/", "/live", "/sales", "/sales.csv"].contains(request.uri.path) {
      return try await next(request, context)
    }
    if request.uri.path.split(separator: "/").first == "chain" {
      return try await next(request, context)
    }
    // Of all other pages, such a user may see only those of a single kiosk.
    let path = request.uri.path.split(separator: "/")
    guard path.first == "kiosks" else { throw RequestError.notFound }
    let kiosk = try context.kioskID()
    guard
      try await archive.query(user, { query throws(DatabaseError) in try query.contains(kiosk) })
    else { throw RequestError.notFound }
    return try await next(request, context)
  }
}
