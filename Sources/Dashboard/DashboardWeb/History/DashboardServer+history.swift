import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol
import Postgres

extension DashboardServer {
  /// Adds the pages and tables of the history: of all kiosks, and of one.
  func addHistory(to router: RouterGroup<PageContext>) {
    router.get("history") { _, context in
      try await historyPage(context, of: nil).page().response(context)
    }
    addTable("history", to: router) { context in
      try await historyPage(context, of: nil).table
    }
    router.get("kiosks/:kiosk/history") { _, context in
      try await historyPage(context, of: context.kioskID()).page().response(context)
    }
    addTable("kiosks/:kiosk/history", to: router) { context in
      try await historyPage(context, of: context.kioskID()).table
    }
  }

  private func historyPage(_ context: PageContext, of kiosk: KioskID?) async throws -> HistoryPage {
    let fleet = fleet(context)
    if let kiosk, fleet[kiosk] == nil { throw RequestError.notFound }
    let isLimited = context.user?.regions.isEmpty == false
    let choice = HistoryChoice(context.filled)
    let now = link.time
    let (records, isCut) = await activity.records(since: choice.start(before: now)) { record in
      if record.kind == .actions || isLimited && record.kiosk.map({ fleet[$0] == nil }) ?? false {
        return false
      }
      // The page of a kind also counts the kiosks that went offline at the same time.
      if let kind = choice.kind, record.kind != kind, record.kind != .outages { return false }
      // The page of a kiosk also counts the other kiosks that went offline at the same time.
      return kiosk == nil || record.kiosk == kiosk || record.kind == .outages
    }
    let zone = kiosk.flatMap { fleet[$0]?.timeZone } ?? fleet.timeZone
    return HistoryPage(
      kiosk: kiosk, menus: names(context), choice: choice, records: records, isCut: isCut,
      localTime: LocalTime(zone, now: now, context.language), context: context)
  }

  /// Adds the pages and tables of the history of a chain: entries and stockouts from the archive,
  /// outages and faults of the kiosks in the fleet, and current outages of other kiosks from the
  /// archive.
  ///
  /// - Parameter router: The group of the path `chain`.
  func addHistory(_ archive: ChainArchive, to router: RouterGroup<PageContext>) {
    addHistory(archive, "history", to: router) { _ in nil }
    addHistory(archive, "kiosks/:kiosk/history", to: router) { context in try context.kioskID() }
  }

  private func addHistory(
    _ archive: ChainArchive, _ path: String, to router: RouterGroup<PageContext>,
    of kiosk: @escaping @Sendable (PageContext) throws -> KioskID?
  ) {
    router.get(RouterPath(path)) { _, context in
      let (chainRequest, page) = try await chainHistory(context, archive, of: kiosk(context))
      return try await chainRequest.answer { query throws(DatabaseError) in try page(query)?.page()
      }
    }
    addTable(path, to: router) { context in
      let (chainRequest, page) = try await chainHistory(context, archive, of: kiosk(context))
      guard let shown = try await archive.query(chainRequest.user, page) else {
        throw RequestError.notFound
      }
      return shown.table
    }
  }

  /// Returns the request, and the function that returns its page, or `nil` if the user may not see
  /// the kiosk.
  private func chainHistory(
    _ context: PageContext, _ archive: ChainArchive, of kiosk: KioskID?
  ) async throws -> (
    request: ChainRequest, page: @Sendable (ChainQuery) throws(DatabaseError) -> HistoryPage?
  ) {
    let chainRequest = try chainRequest(context, archive, .history)
    let choice = HistoryChoice(chainRequest.form, ofWholeChain: kiosk == nil)
    let (fleet, menus, now) = (link.fleet, names(context), link.time)
    let start = choice.start(before: now)
    let seen = await activity.records(since: start) { record in
      guard [.outages, .machines, .payments, .safety].contains(record.kind) else { return false }
      if case .entry = record.event { return false }
      return kiosk == nil || record.kiosk == kiosk || record.kind == .outages
    }
    let page: @Sendable (ChainQuery) throws(DatabaseError) -> HistoryPage? = {
      query throws(DatabaseError) in
      if let kiosk, try !query.contains(kiosk) { return nil }
      let (records, names, isCut) = try query.history(
        of: kiosk, choice.kind, since: start, in: fleet)
      let own = query.isOfRegions ? try query.kiosks() : nil
      let all =
        records
        + seen.records.filter { record in
          record.kiosk.map { own?.contains($0) ?? true } ?? true
        }
      return HistoryPage(
        kiosk: kiosk, menus: menus, names: names, layout: chainRequest.layout, choice: choice,
        records: all.sorted { $0.at > $1.at },
        isCut: seen.isCut || isCut,
        localTime: chainRequest.layout.localTime, context: context)
    }
    return (chainRequest, page)
  }
}
