import CommandLineSupport
import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskProtocol
import Postgres
import TimeZones

extension DashboardServer {
  /// Adds the record of food safety of one kiosk, from its ledger or from the archive of the chain.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addSafety(_ archive: ChainArchive? = nil, to router: RouterGroup<PageContext>) {
    @Sendable func load(_ context: PageContext) async throws -> SafetyPage {
      if let archive { return try await safetyPage(context, archive) }
      return try await safetyPage(context)
    }
    router.get("safety") { _, context in
      let page = try await load(context)
      return Page(
        title: page.title,
        body: """
          <p class="path"><a href="\(page.kioskAddress)">← \(page.kioskTitle)</a></p>
          <h1>\(page.title)</h1>
          <div class="safety">\(page.body)</div>
          """, timeZone: page.localTime.clock.name
      ).response(context)
    }
    addTable("safety", to: router) { context in
      let page = try await load(context)
      return ExportTable(
        "safety-\(page.kiosk.id)", SafetyDay.header.map { .text($0) }, rows: page.table)
    }
  }

  private func safetyPage(
    _ context: PageContext, _ archive: ChainArchive
  ) async throws -> SafetyPage {
    guard let user = context.user else { throw RequestError.loggedOut }
    let id = try context.kioskID()
    let kiosk = names(context).kiosk(id)
    let localTime = LocalTime(
      kiosk.timeZone ?? archive.settings.timeZone, now: link.time, context.language)
    let (first, today) = days(of: context, localTime)
    let page = try await archive.query(user) { query throws(DatabaseError) -> SafetyPage? in
      guard try query.contains(id) else { return nil }
      var days: [SafetyDay] = []
      for day in first..<first + SafetyPage.dayCount where day <= today {
        days.append(
          try query.safety(
            of: id, on: CivilDate(daysSinceEpoch: day), localTime,
            timeZone: archive.settings.timeZone))
      }
      return SafetyPage(
        kiosk: kiosk, first: CivilDate(daysSinceEpoch: first), days: days, localTime: localTime,
        context: context, isOfChain: true, name: try query.name(of: id))
    }
    guard let page else { throw RequestError.notFound }
    return page
  }

  /// Returns the first day of the requested week, and today, in days since 1970-01-01.
  private func days(of context: PageContext, _ localTime: LocalTime) -> (first: Int64, today: Int64)
  {
    let today = localTime.today.daysSinceEpoch
    let from = context.filled["from"].flatMap { CivilDate($0) }
    return (from?.daysSinceEpoch ?? today - SafetyPage.dayCount + 1, today)
  }

  private func safetyPage(_ context: PageContext) async throws -> SafetyPage {
    let kiosk = try kiosk(context)
    let localTime = LocalTime(kiosk.timeZone, now: link.time, context.language)
    let (first, today) = days(of: context, localTime)
    var days: [SafetyDay] = []
    for day in first..<first + SafetyPage.dayCount where day <= today && kiosk.isOnline {
      let request = SafetyRequest(id: .random, day: CivilDate(daysSinceEpoch: day))
      // Stop at the first day without an answer. Otherwise, the page would wait for each later day.
      guard let answer = try? await link.ask(request, of: kiosk.id) else { break }
      days.append(answer)
      for _ in 1..<SafetyPage.maximumPages {
        guard let after = days.last?.next else { break }
        let more = SafetyRequest(id: .random, day: request.day, after: after)
        guard let page = try? await link.ask(more, of: kiosk.id) else { break }
        days[days.count - 1].append(page)
      }
    }
    return SafetyPage(
      kiosk: kiosk, first: CivilDate(daysSinceEpoch: first), days: days, localTime: localTime,
      context: context)
  }
}
