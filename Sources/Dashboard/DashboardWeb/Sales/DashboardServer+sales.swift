import CommandLineSupport
import Fleet
import Foundation
import Hummingbird
import JuiceDomain
import KioskProtocol
import Postgres
import TimeZones

extension DashboardServer {
  /// Adds the page `sales` and its table: the sales in a kiosk's ledger. If the kiosk does not answer, the
  /// pages show the days that it has published.
  ///
  /// - Parameter router: The group of a kiosk's path.
  func addSales(to router: RouterGroup<PageContext>) {
    router.get("sales") { _, context in
      let sales = try await sales(context)
      let (kiosk, language) = (sales.kiosk, context.language)
      let name = kiosk.title(language)
      let page = SalesPage(
        title: language("Sales of \(name)", "\(name) 판매"), path: "/kiosks/\(kiosk.id)/sales",
        period: sales.period, filled: context.filled,
        sales: SalesComparison(
          sales.figures, since: sales.start, until: sales.end, sales.period),
        notice: sales.notice, canChoose: true, name: { kiosk.name(of: $0, language) },
        localTime: sales.localTime)
      return Page(
        title: page.title,
        body: """
          <p class="path"><a href="/kiosks/\(kiosk.id)">← \(name)</a></p>
          <h1>\(page.title)</h1>
          \(sales.readAt.map { "<p class=\"muted\">\(language("As of \(sales.localTime.text($0))", "기준: \(sales.localTime.text($0))"))</p>" as HTML } ?? .empty)
          \(page.body)
          """, timeZone: sales.localTime.clock.name
      ).response(context)
    }
    addTable("sales", to: router) { context in
      try SalesPeriod.requireOrder(context.filled)
      let sales = try await sales(context)
      return ExportTable(
        "sales-\(sales.kiosk.id)", SalesTable.header,
        rows: SalesTable.rows(sales.figures, sales.period))
    }
  }

  private func sales(_ context: PageContext) async throws -> (
    kiosk: KioskState, figures: HourlyFigures, start: Int64?, end: Int64?, period: SalesPeriod,
    localTime: LocalTime, notice: HTML?, readAt: Timestamp?
  ) {
    let kiosk = try kiosk(context)
    let (language, now) = (context.language, link.time)
    let localTime = LocalTime(kiosk.timeZone, now: now, language)
    let period = SalesPeriod(context.filled, today: localTime.today, canChoose: true)
    // Start one day earlier: a UTC offset is shorter than a day.
    let start = Timestamp(milliseconds: (period.start - 1) * 86_400_000)
    let sums = kiosk.isOnline ? await salesReader.sums(of: kiosk.id, since: start) : nil
    guard let sums else {
      let report = link.sales.report(of: kiosk)
      let time = report.map { localTime.text($0.at) } ?? "–"
      let notice = language.notice(
        .hint,
        "The kiosk does not answer. These are the 13 months that it has published, as of \(time).",
        "키오스크가 응답하지 않아요. 키오스크가 보내 둔 13개월의 기록이에요. 기준: \(time)")
      let published = report.map {
        PublishedSales($0, earlier: kiosk.dailySales, for: period, isCurrent: false)
      }
      return (
        kiosk, published?.figures ?? HourlyFigures(), published?.first, published?.last, period,
        localTime, notice, nil
      )
    }
    let isPartial = sums.next != nil && sums.start >= start
    let notice =
      isPartial
      ? language.notice(
        .hint,
        "The ledger is long. It is read back to \(localTime.text(sums.start)): load the page again for the rest.",
        "장부가 길어 \(localTime.text(sums.start))까지 읽었어요. 나머지는 페이지를 새로 고치면 보여요.") : nil
    let zone = LocalTime(sums.timeZone, now: now, language)
    // A ledger that was read to its beginning begins with its first sale. Of a ledger that was not
    // read far enough, the earliest day is incomplete.
    let first =
      sums.next == nil
      ? sums.figures.firstDay
      : isPartial ? zone.date(of: sums.start).daysSinceEpoch + 1 : nil
    return (kiosk, sums.figures, first, nil, period, zone, notice, sums.readAt)
  }

  /// Adds the sales of a chain, from the archive.
  ///
  /// - Parameter router: The group of the path `chain`.
  func addSales(_ archive: ChainArchive, to router: RouterGroup<PageContext>) {
    router.get("sales") { _, context in
      let chainRequest = try chainRequest(context, archive, .sales)
      let localTime = chainRequest.layout.localTime
      let period = SalesPeriod(chainRequest.form, today: localTime.today)
      let choice = ChainSales(chainRequest.form)
      let (names, language) = (names(context), context.language)
      return try await chainRequest.answer { query throws(DatabaseError) in
        guard try query.contains(choice) else { return nil }
        let summedUp = try query.summedUp()
        var sales = try query.sales(period, choice, timeZone: archive.settings.timeZone)
        let last = chainRequest.layout.lastSummedUpDay(summedUp)
        sales.knownUntil = last.flatMap { $0 < period.end ? $0 : nil }
        let page = SalesPage(
          title: language("Sales", "판매"), path: "/chain/sales", query: choice.query,
          period: period, filled: chainRequest.form, sales: sales,
          notice: chainRequest.layout.summedUp(summedUp),
          name: { juice in
            choice.kiosk.map { names.kiosk($0).name(of: juice, language) }
              ?? names.name(of: juice)?[language] ?? juice.text
          }, localTime: localTime)
        return chainRequest.layout.page(
          "\(choice.form(try query.regionNames(), period, chainRequest.layout))\(page.body)")
      }
    }
    addTable("sales", to: router) { context in
      let chainRequest = try chainRequest(context, archive, .sales)
      try SalesPeriod.requireOrder(chainRequest.form)
      let period = SalesPeriod(chainRequest.form, today: chainRequest.layout.localTime.today)
      let choice = ChainSales(chainRequest.form)
      guard let user = context.user else { throw RequestError.loggedOut }
      let rows = try await archive.query(user) {
        query throws(DatabaseError) -> [ExportTable.Row]? in
        try query.contains(choice) ? query.salesRows(period, choice) : nil
      }
      guard let rows else { throw RequestError.notFound }
      return ExportTable("sales", SalesTable.header, rows: rows)
    }
  }
}

/// The region and the kiosk whose sales the page of a chain shows.
struct ChainSales: Sendable {
  /// The region, or `nil` for all regions.
  let region: String?
  /// The kiosk, or `nil` for all kiosks.
  let kiosk: KioskID?

  init(_ form: Form) {
    region = form["region"].flatMap { $0.isEmpty || $0.utf8.count > 200 ? nil : $0 }
    kiosk = form["kiosk"].flatMap { KioskID($0) }
  }

  var query: [(name: String, value: String)] {
    [("region", region), ("kiosk", kiosk?.text)].compactMap { name, value in
      value.map { (name, $0) }
    }
  }

  /// Returns the form in which the user chooses a region and a kiosk.
  func form(_ regions: [String], _ period: SalesPeriod, _ layout: ChainLayout) -> HTML {
    let language = layout.language
    let options: [HTML] = regions.map { name in
      """
      <option value="\(name)"\(name == region ? " selected" : .empty)>\(layout.region(name))</option>
      """
    }
    return """
      <form class="dates">
      \(HTML.hidden("from", "\(CivilDate(daysSinceEpoch: period.days.lowerBound))"))\
      \(HTML.hidden("to", "\(CivilDate(daysSinceEpoch: period.days.upperBound))"))
      <label>\(language("Region", "지역"))<select name="region"><option value="">\(language("all", "전체"))</option>\(options)</select></label>
      <label>\(language("Kiosk", "키오스크"))<input name="kiosk" value="\(kiosk?.text ?? "")" maxlength="64" \
      placeholder="\(language("all", "전체"))"></label>
      <button>\(language("Show", "보기"))</button>
      </form>
      """
  }
}
