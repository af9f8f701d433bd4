import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol
import Logging
import Postgres

extension DashboardServer {
  /// Adds the pages of the chain.
  ///
  /// - Parameter router: The group of the path `chain`.
  func addChain(_ archive: ChainArchive, to router: RouterGroup<PageContext>) {
    router.get { _, context in
      let chainRequest = try chainRequest(context, archive, .regions)
      return try await chainRequest.answer { query throws(DatabaseError) in
        var issues: [ChainIssue: Int] = [:]
        for issue in ChainIssue.allCases { issues[issue] = try query.count(of: issue) }
        return ChainRegionsPage(
          layout: chainRequest.layout, period: chainRequest.period,
          regions: try query.regions(chainRequest.period),
          takings: try query.takings(chainRequest.period),
          summedUp: try query.summedUp(), issues: issues
        ).page()
      }
    }
    router.get("kiosks") { _, context in
      let chainRequest = try chainRequest(context, archive, .kiosks)
      let filter = (chainRequest.form["q"] ?? "").visible(upTo: 100)
      let region = chainRequest.form["region"]
      return try await chainRequest.answer { query throws(DatabaseError) in
        let slice = ListSlice(
          page: chainRequest.number, of: try query.count(matching: filter, in: region))
        let kiosks = try query.kiosks(matching: filter, in: region, slice, chainRequest.period)
        return ChainKiosksPage(
          layout: chainRequest.layout, period: chainRequest.period, filter: filter, region: region,
          slice: slice,
          kiosks: kiosks,
          takings: try query.takings(of: kiosks.compactMap { $0.kiosk(0) }, chainRequest.period),
          summedUp: try query.summedUp()
        ).page()
      }
    }
    router.get("kiosks/:kiosk") { _, context in
      let chainRequest = try chainRequest(context, archive, .kiosks)
      let id = try context.kioskID()
      // The archive's list decides about a kiosk that publishes no region.
      let isLive = link.fleet[id].map { $0.region == nil || context.maySee($0) } ?? false
      return try await chainRequest.answer { query throws(DatabaseError) in
        guard let kiosk = try query.kiosk(id, chainRequest.period) else { return nil }
        let first = ListSlice(page: 1, of: 1)
        var issues: [(issue: ChainIssue, rows: [ChainQuery.Row], count: Int)] = []
        for issue in ChainIssue.allCases
        where context.isAdmin || !ChainLayout.Tab.issue(issue).isTechnical {
          let rows = try query.rows(of: issue, first, at: id)
          var count = rows.count
          if count == ListSlice.length { count = try query.count(of: issue, at: id) }
          issues.append((issue, rows, count))
        }
        return ChainKioskPage(
          layout: chainRequest.layout, period: chainRequest.period, id: id, kiosk: kiosk,
          takings: try query.takings(of: [id], chainRequest.period),
          juices: try query.juices(of: id, chainRequest.period), entries: try query.entries(of: id),
          summedUp: try query.summedUp(), issues: issues, isLive: isLive
        ).page()
      }
    }
    router.get("rollouts") { _, context in
      let chainRequest = try chainRequest(context, archive, .rollouts)
      return try await chainRequest.answer { query throws(DatabaseError) in
        ChainRolloutsPage(
          layout: chainRequest.layout, rollouts: try query.rollouts(),
          failures: try query.failures()
        ).page()
      }
    }
    for issue in ChainIssue.allCases {
      router.get(RouterPath(issue.rawValue)) { _, context in
        let chainRequest = try chainRequest(context, archive, .issue(issue))
        return try await chainRequest.answer { query throws(DatabaseError) in
          let slice = ListSlice(page: chainRequest.number, of: try query.count(of: issue))
          return ChainIssuePage(
            layout: chainRequest.layout, issue: issue, slice: slice,
            rows: try query.rows(of: issue, slice)
          ).page()
        }
      }
    }
  }

  func chainRequest(
    _ context: PageContext, _ archive: ChainArchive, _ tab: ChainLayout.Tab
  ) throws(RequestError) -> ChainRequest {
    guard let user = context.user else { throw .loggedOut }
    // guard: the technical pages of a chain are for administrators
    guard user.isAdmin || !tab.isTechnical else { throw .onlyAdmins }
    return ChainRequest(
      archive: archive, user: user, context: context,
      layout: ChainLayout(
        context: context, tab: tab,
        localTime: LocalTime(archive.settings.timeZone, now: link.time, context.language),
        menus: names(context)))
  }
}

/// A request for a page of the chain.
struct ChainRequest {
  let archive: ChainArchive
  let user: User
  let context: PageContext
  let layout: ChainLayout

  var form: Form { context.filled }

  /// The requested page number; `ListSlice` limits it to the existing pages.
  var number: Int { form["page"].flatMap { Int($0) } ?? 1 }

  var period: ChainPeriod {
    let days = form["days"].flatMap { Int($0) } ?? ChainPeriod.lengths[0]
    return ChainPeriod(
      today: layout.localTime.today,
      days: ChainPeriod.lengths.contains(days) ? days : ChainPeriod.lengths[0])
  }

  /// Answers the request with a page from the archive.
  ///
  /// - Parameter page: Queries the archive and returns the page, or `nil` if the page does not
  ///   exist for this user.
  func answer(
    _ page: @Sendable (ChainQuery) throws(DatabaseError) -> Page?
  ) async throws -> Response {
    let shown: Page?
    do throws(ChainError) { shown = try await archive.query(user, page) } catch {
      if case .database(let error) = error { context.logger.error("archive: \(error)") }
      var response = layout.page(error).response(context)
      response.headers[.retryAfter] = "5"
      return response
    }
    guard let shown else { throw RequestError.notFound }
    return shown.response(context)
  }
}
