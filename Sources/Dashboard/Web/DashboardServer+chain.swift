import Fleet
import Hummingbird
import JuiceDomain
import KioskMessages
import Logging
import Postgres

extension DashboardServer {
  /// - Parameter router: below `chain`.
  func addChain(_ archive: ChainArchive, to router: RouterGroup<PageContext>) {
    router.get { request, visit in
      let asked = try question(request, visit, archive, .regions)
      return try await asked.answer { query throws(DatabaseError) in
        var matters: [ChainMatter: Int] = [:]
        for matter in ChainMatter.allCases { matters[matter] = try query.count(of: matter) }
        return ChainRegionsPage(
          frame: asked.frame, period: asked.period, regions: try query.regions(asked.period),
          takings: try query.takings(asked.period),
          glassesToday: try query.glassesToday(asked.period), matters: matters
        ).page()
      }
    }
    router.get("kiosks") { request, visit in
      let asked = try question(request, visit, archive, .kiosks)
      let filter = String(
        String.UnicodeScalarView(
          (asked.form["q"] ?? "").unicodeScalars.filter { !$0.isControl }.prefix(100)))
      let region = asked.form["region"]
      return try await asked.answer { query throws(DatabaseError) in
        let slice = ListSlice(
          page: asked.number, of: try query.count(matching: filter, in: region))
        let kiosks = try query.kiosks(matching: filter, in: region, slice, asked.period)
        return ChainKiosksPage(
          frame: asked.frame, period: asked.period, filter: filter, region: region, slice: slice,
          kiosks: kiosks,
          takings: try query.takings(of: kiosks.compactMap { $0.kiosk(0) }, asked.period)
        ).page()
      }
    }
    router.get("kiosks/:kiosk") { request, visit in
      let asked = try question(request, visit, archive, .kiosks)
      let id = try visit.kioskID()
      let isLive = link.fleet[id] != nil
      return try await asked.answer { query throws(DatabaseError) in
        guard let kiosk = try query.kiosk(id, asked.period) else { return nil }
        let first = ListSlice(page: 1, of: 1)
        var matters: [(matter: ChainMatter, rows: [ChainQuery.Row])] = []
        for matter in ChainMatter.allCases {
          matters.append((matter, try query.rows(of: matter, first, at: id)))
        }
        return ChainKioskPage(
          frame: asked.frame, period: asked.period, id: id, kiosk: kiosk,
          takings: try query.takings(of: [id], asked.period),
          juices: try query.juices(of: id, asked.period), entries: try query.entries(of: id),
          matters: matters, isLive: isLive
        ).page()
      }
    }
    for matter in ChainMatter.allCases {
      router.get(RouterPath(matter.rawValue)) { request, visit in
        let asked = try question(request, visit, archive, .matter(matter))
        return try await asked.answer { query throws(DatabaseError) in
          let slice = ListSlice(page: asked.number, of: try query.count(of: matter))
          return ChainMatterPage(
            frame: asked.frame, matter: matter, slice: slice,
            rows: try query.rows(of: matter, slice)
          ).page()
        }
      }
    }
  }

  private func question(
    _ request: Request, _ visit: PageContext, _ archive: ChainArchive, _ tab: ChainFrame.Tab
  ) throws(Refusal) -> ChainQuestion {
    guard let user = visit.user else { throw .loggedOut }
    return ChainQuestion(
      archive: archive, user: user, form: Form(request.uri.query ?? ""), visit: visit,
      frame: ChainFrame(
        visit: visit, tab: tab,
        moment: LocalTime(archive.settings.timeZone, now: link.time, visit.language)))
  }
}

/// A request for a page of the chain.
private struct ChainQuestion {
  let archive: ChainArchive
  let user: User
  let form: Form
  let visit: PageContext
  let frame: ChainFrame

  /// From 1.
  var number: Int { form["page"].flatMap { Int($0) } ?? 1 }

  var period: ChainPeriod {
    let days = form["days"].flatMap { Int($0) } ?? ChainPeriod.lengths[0]
    return ChainPeriod(
      today: frame.moment.today,
      days: ChainPeriod.lengths.contains(days) ? days : ChainPeriod.lengths[0])
  }

  /// - Parameter page: `nil` if there is no such page for this user.
  func answer(
    _ page: @Sendable (ChainQuery) throws(DatabaseError) -> Page?
  ) async throws -> Response {
    let shown: Page?
    do throws(ChainTrouble) { shown = try await archive.ask(user, page) } catch {
      if case .database(let error) = error { visit.logger.error("archive: \(error)") }
      var response = frame.page(error).response(visit)
      response.headers[.retryAfter] = "5"
      return response
    }
    guard let shown else { throw Refusal.notFound }
    return shown.response(visit)
  }
}

/// Keeps users with a region from the kiosks elsewhere, and from pages that list all kiosks.
struct WithinRegion: RouterMiddleware {
  let archive: ChainArchive?

  func handle(
    _ request: Request, context: PageContext, next: (Request, PageContext) async throws -> Response
  ) async throws -> Response {
    guard let user = context.user, user.region != nil else {
      return try await next(request, context)
    }
    guard let archive else { throw Refusal.notFound }
    if request.uri.path == "/" { return .redirect(to: "/chain", type: .normal) }
    if request.uri.path.split(separator: "/").first == "chain" {
      return try await next(request, context)
    }
    // Of all other pages such a user may see those of one kiosk.
    let path = request.uri.path.split(separator: "/")
    guard path.first == "kiosks" else { throw Refusal.notFound }
    let kiosk = try context.kioskID()
    guard try await archive.ask(user, { query throws(DatabaseError) in try query.knows(kiosk) })
    else { throw Refusal.notFound }
    return try await next(request, context)
  }
}
