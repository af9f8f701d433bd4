import CommandLineSupport
import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the record of food safety of one kiosk, from its ledger.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addSafety(to router: RouterGroup<PageContext>) {
    router.get("safety") { request, context in
      let page = try await safetyPage(request, context)
      let kiosk = page.kiosk
      return Page(
        title: page.title,
        body: """
          <p class="path"><a href="/kiosks/\(kiosk.id)">← \(kiosk.title(context.language))</a></p>
          <h1>\(page.title)</h1>
          <div class="safety">\(page.body)</div>
          """, timeZone: page.localTime.zone.identifier
      ).response(context)
    }
    router.get("safety.csv") { request, context in
      let page = try await safetyPage(request, context)
      let lines = ([SafetyDay.header] + page.days.flatMap(\.rows)).map {
        CSVWriter().line($0, numbers: SafetyDay.numberColumns) + "\r\n"
      }
      return RouteCSV.response("\u{FEFF}" + lines.joined(), name: "safety-\(page.kiosk.id)")
    }
  }

  private func safetyPage(_ request: Request, _ context: PageContext) async throws -> SafetyPage {
    let kiosk = try kiosk(context)
    let localTime = LocalTime(kiosk.timeZone, now: link.time, context.language)
    let today = localTime.today.daysSinceEpoch
    let from = Form(request.uri.query ?? "")["from"].flatMap { CivilDate($0) }
    let first = from?.daysSinceEpoch ?? today - SafetyPage.dayCount + 1
    var days: [SafetyDay] = []
    for day in first..<first + SafetyPage.dayCount where day <= today && kiosk.isOnline {
      let request = SafetyRequest(id: .random, day: CivilDate(daysSinceEpoch: day))
      // A kiosk that does not answer would make the page wait for each day.
      guard let answer = try? await link.ask(request, of: kiosk.id) else { break }
      days.append(answer)
    }
    return SafetyPage(
      kiosk: kiosk, first: CivilDate(daysSinceEpoch: first), days: days, localTime: localTime,
      context: context)
  }
}
