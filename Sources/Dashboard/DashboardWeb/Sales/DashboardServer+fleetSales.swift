import CommandLineSupport
import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds the page `sales` and its table: the sales of all kiosks that the user may see.
  func addFleetSales(to router: RouterGroup<PageContext>) {
    router.get("sales") { _, context in
      let (form, language) = (context.filled, context.language)
      let (fleet, now) = (fleet(context), link.time)
      let localTime = LocalTime(fleet.timeZone, now: now, language)
      let period = Self.period(form, localTime)
      var sales = FleetSales()
      for kiosk in fleet.kiosks {
        sales.add(kiosk, PublishedSales(of: kiosk, for: period, now: now), period)
      }
      let names = names(context)
      let page = SalesPage(
        title: language("Sales", "판매"), path: "/sales", period: period, filled: form,
        sales: sales.all,
        notice: sales.missing == 0
          ? nil
          : language.notice(
            .hint, "Kiosks without sales here, because they have sent none yet: \(sales.missing)",
            "아직 판매 기록을 보내지 않아 빠진 키오스크: \(sales.missing)대"),
        unknownKiosks: sales.kiosks.count { !$0.sales.isComparable }, canChoose: true,
        groups: sales.groups(language, page: form["page"].flatMap { Int($0) } ?? 1) {
          "/sales?\(period.query)&page=\($0)"
        },
        name: { names.name(of: $0)?[language] ?? $0.text }, localTime: localTime)
      return Page(
        title: page.title,
        body: """
          <p class="path"><a href="/">← \(language("Kiosks", "키오스크"))</a></p>
          <h1>\(page.title)</h1>
          <p class="muted">\(language(
            "Each kiosk publishes its last 13 months; its days are those of its own time zone.",
            "키오스크마다 자기 시간대의 최근 13개월을 보내요."))</p>
          \(page.body)
          """
      ).response(context)
    }
    addTable("sales", to: router) { context in
      try SalesPeriod.requireOrder(context.filled)
      let (fleet, now, language) = (fleet(context), link.time, context.language)
      let period = Self.period(context.filled, LocalTime(fleet.timeZone, now: now, language))
      return ExportTable(
        "sales", SalesTable.kioskHeader + SalesTable.header,
        fleet.kiosks.sorted { $0.id < $1.id }.map { kiosk in
          {
            let start: ExportTable.Row = [
              .text(kiosk.id.text), .text(kiosk.title(language)), .text(kiosk.place ?? ""),
            ]
            let published = PublishedSales(of: kiosk, for: period, now: now)
            return published.map { SalesTable.rows($0.figures, period).map { start + $0 } } ?? []
          }
        })
    }
  }

  /// Reads the periods of a query. The default is the last 14 days, compared with the 14 days before.
  private static func period(_ form: Form, _ localTime: LocalTime) -> SalesPeriod {
    SalesPeriod(form, today: localTime.today, dayCount: 14, canChoose: true)
  }
}
