import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskMessages

extension DashboardServer {
  /// - Parameter router: below `rounds`.
  func addRounds(to router: RouterGroup<PageContext>) {
    router.get { _, visit in
      let page = RoundsPage(
        rounds: await rounds.all, problems: await rounds.problems, now: link.time, visit: visit)
      return page.page().response(visit)
    }
    router.get("new") { request, visit in
      guard visit.isOperator else { throw Refusal.notAllowed }
      let query = Form(request.uri.query ?? "")
      return roundForm(query, visit).page().response(visit)
    }
    router.post { request, visit in
      let form = try await request.form(from: visit, sessions)
      return try await makeRound(form, visit)
    }
    let round = router.group(":round")
    round.get { _, visit in try await roundPage(visit).page().response(visit) }
    round.get("live") { request, visit in
      let id = try visit.roundID()
      return try live(request, visit, interest: .round(id)) {
        try await roundPage(visit).liveParts
      }
    }
    round.get("sheets.csv") { _, visit in
      let round = try await self.round(visit)
      return RoundCSV.response(RoundCSV.sheets(round, visit.language), name: "sheets-\(round.id)")
    }
    round.get("load.csv") { _, visit in
      let round = try await self.round(visit)
      return RoundCSV.response(RoundCSV.load(round, visit.language), name: "load-\(round.id)")
    }
    round.post("delete") { request, visit in
      _ = try await request.form(from: visit, sessions)
      guard try await rounds.remove(visit.roundID()) else {
        let stays = visit.language.notice(
          .warn, "This round is begun: it stays.", "이미 시작한 순회라 지울 수 없어요.")
        return try await roundPage(visit).page(notice: stays).response(visit)
      }
      return .redirect(to: "/rounds", type: .normal)
    }
    addSheet(to: round.group("kiosks/:kiosk"))
  }

  /// - Parameter router: below the path of a kiosk of a round.
  private func addSheet(to router: RouterGroup<PageContext>) {
    router.get { _, visit in try await sheetPage(visit).page().response(visit) }
    router.get("live") { request, visit in
      try live(request, visit, interest: .kiosk(visit.kioskID())) {
        try await sheetPage(visit).liveParts
      }
    }
    router.post { request, visit in
      let form = try await request.form(from: visit, sessions)
      return try await confirm(form, visit)
    }
  }

  // MARK: Planning

  /// Filled in by the query; without one, for tomorrow morning and three days.
  private func roundForm(_ query: Form, _ visit: PageContext, problem: String? = nil) -> RoundForm {
    let (fleet, now) = (link.fleet, link.time)
    let moment = LocalTime(fleet.timeZone, now: now, visit.language)
    var problem = problem
    var plan = RoundPlan.usual(at: now, moment)
    if query["arrival"] != nil {
      do throws(RoundPlan.Problem) {
        plan = try RoundPlan(query, at: now, moment)
      } catch {
        problem = problem ?? error.words(visit.language)
      }
    }
    return RoundForm(
      fleet: fleet, plan: plan, filter: query["q"] ?? "", now: now, visit: visit, problem: problem)
  }

  private func makeRound(_ form: Form, _ visit: PageContext) async throws -> Response {
    guard let user = visit.user else { throw Refusal.loggedOut }
    let (fleet, now) = (link.fleet, link.time)
    let plan: RoundPlan
    do throws(RoundPlan.Problem) {
      plan = try RoundPlan(form, at: now, LocalTime(fleet.timeZone, now: now, visit.language))
    } catch {
      return roundForm(form, visit, problem: error.words(visit.language)).page().response(visit)
    }
    var sheets: [Round.Sheet] = []
    let names = form.names("kiosk.")
    guard (1...Round.maximumKiosks).contains(names.count) else {
      let problem = visit.language(
        "Choose 1 to \(Round.maximumKiosks) kiosks.", "키오스크를 1~\(Round.maximumKiosks)곳 골라 주세요.")
      return roundForm(form, visit, problem: problem).page().response(visit)
    }
    for name in names {
      guard let id = KioskID(name), let kiosk = fleet[id] else { throw Refusal.badForm }
      guard let lines = plan.lines(for: kiosk, at: now) else { continue }
      sheets.append(
        Round.Sheet(
          kiosk: id, name: kiosk.name, place: kiosk.place, wasOnline: kiosk.isOnline, lines: lines,
          command: .random))
    }
    // Stop 4 comes before stop 10.
    sheets.sort {
      let order = $0.title(visit.language).compare($1.title(visit.language), options: .numeric)
      return order == .orderedSame ? $0.kiosk < $1.kiosk : order == .orderedAscending
    }
    let round = Round(
      id: .random, madeAt: now, madeBy: user.name.text, plan: plan, timeZone: fleet.timeZone,
      sheets: sheets)
    try await rounds.add(round)
    return .redirect(to: "/rounds/\(round.id)", type: .normal)
  }

  // MARK: On the spot

  /// Sends the sheet to the kiosk, or shows what has become of it earlier.
  private func confirm(_ form: Form, _ visit: PageContext) async throws -> Response {
    guard let user = visit.user else { throw Refusal.loggedOut }
    let (id, kiosk) = (try visit.roundID(), try visit.kioskID())
    let sheet = try await self.sheet(visit)
    let new = try Round.Visit(form, sheet, user: user, at: link.time)
    guard !new.brought.isEmpty || !new.counted.isEmpty else {
      return try await sheetPage(visit).page(.nothingToSend, filled: new).response(visit)
    }
    let step = try await rounds.update(id, kiosk) { $0.confirm(new) }
    switch step {
    case nil: throw Refusal.notFound
    case .outdated:
      return try await sheetPage(visit).page(.outdated, filled: new).response(visit)
    case .answered(let earlier):
      let notice = earlier.saysTheSame(as: new) ? nil : SheetPage.Notice.others(new)
      return try await sheetPage(visit).page(notice).response(visit)
    case .send(let sent):
      // A sheet that may have been sent already is sent as it was then, in the name of its first sender.
      let result = await link.send(
        .restock(sent.restock), to: kiosk, as: Source(kind: .restock, name: sent.user),
        id: sent.command)
      _ = try await rounds.update(id, kiosk) { $0.settle(sent.command, result, next: .random) }
      link.updates.changed(id)
      var page = try await sheetPage(visit)
      page.heard = result?.stock ?? [:]
      return page.page(sent.saysTheSame(as: new) ? nil : .others(new)).response(visit)
    }
  }

  /// The round of the path. Kiosks may have told since of restocks that they did not answer.
  private func round(_ visit: PageContext) async throws -> Round {
    let id = try visit.roundID()
    guard let round = await rounds[id] else { throw Refusal.notFound }
    let fleet = link.fleet
    for sheet in round.sheets where sheet.visit?.outcome == .unknown {
      guard let kiosk = fleet[sheet.kiosk] else { continue }
      _ = try await rounds.update(id, sheet.kiosk) { $0.settle(by: kiosk) }
    }
    return await rounds[id] ?? round
  }

  private func sheet(_ visit: PageContext) async throws -> Round.Sheet {
    guard let sheet = try await round(visit)[try visit.kioskID()] else { throw Refusal.notFound }
    return sheet
  }

  private func roundPage(_ visit: PageContext) async throws -> RoundPage {
    RoundPage(round: try await round(visit), now: link.time, visit: visit)
  }

  private func sheetPage(_ visit: PageContext) async throws -> SheetPage {
    let (round, kiosk) = (try await round(visit), try visit.kioskID())
    guard let sheet = round[kiosk] else { throw Refusal.notFound }
    return SheetPage(
      round: round, sheet: sheet, kiosk: link.fleet[kiosk], trouble: link.trouble, now: link.time,
      visit: visit)
  }
}

extension Round.ID {
  fileprivate static var random: Self {
    let number = UInt64.random(in: 0 ... .max)
    guard let id = Self("r\(String(number, radix: 36))") else {
      preconditionFailure("digits and letters make an id")
    }
    return id
  }
}

extension RoundPlan {
  /// Why a form makes no plan.
  fileprivate enum Problem: Error {
    case times, margin, tooFar

    func words(_ language: Language) -> String {
      switch self {
      case .times:
        language(
          "The arrival must come first, and then the time until which it must last.",
          "도착 시각이 다음 순회보다 앞서야 해요.")
      case .margin:
        language(
          "The margin is a whole number from \(margins.lowerBound) to \(margins.upperBound).",
          "여유는 \(margins.lowerBound)~\(margins.upperBound) 사이의 정수예요.")
      case .tooFar: language("No round is planned for more than 60 days.", "60일보다 먼 계획은 만들 수 없어요.")
      }
    }
  }

  fileprivate init(_ form: Form, at now: Timestamp, _ moment: LocalTime) throws(Problem) {
    guard let margin = form["margin"].flatMap({ Int($0) }), Self.margins.contains(margin) else {
      throw .margin
    }
    guard let arrival = form["arrival"].flatMap(moment.time(field:)),
      let end = form["until"].flatMap(moment.time(field:)),
      let plan = Self(
        arrival: arrival, end: end, margin: margin,
        fill: form["fill"].flatMap(Fill.init(rawValue:)) ?? .capacity)
    else { throw .times }
    let distances = [arrival, end].map { $0.since(now) }
    guard distances.allSatisfy({ abs($0 / .seconds(86_400)) <= 60 }) else { throw .tooFar }
    self = plan
  }

  /// Tomorrow at eight, for three days.
  fileprivate static func usual(at now: Timestamp, _ moment: LocalTime) -> Self {
    let day = Int64(86_400_000)
    func morning(after days: Int64) -> Timestamp {
      let later = Timestamp(milliseconds: now.milliseconds + days * day)
      return moment.time(field: "\(moment.field(later).prefix(10))T08:00") ?? later
    }
    let plan = Self(
      arrival: morning(after: 1), end: morning(after: 4), margin: 20, fill: .capacity)
    guard let plan else { preconditionFailure("three days later comes later") }
    return plan
  }
}

extension Round.Visit {
  /// Reads a sheet that somebody has confirmed. It may name only fruits that are on it.
  fileprivate init(
    _ form: Form, _ sheet: Round.Sheet, user: User, at now: Timestamp
  ) throws(Refusal) {
    guard let command = form.commandID else { throw .badForm }
    let counted = try form.amounts("counted.")
    let ledger = try form.amounts("ledger.").filter { counted[$0.fruit] != nil }
    let brought = try form.amounts("brought.", isChange: true)
    guard (counted + ledger + brought).allSatisfy({ sheet.line(of: $0.fruit) != nil }),
      counted.allSatisfy({ $0.amount >= 0 })
    else { throw .badForm }
    self.init(
      command: command, user: user.name.text, at: now, brought: brought, counted: counted,
      ledger: FruitAmounts(ledger))
  }
}
