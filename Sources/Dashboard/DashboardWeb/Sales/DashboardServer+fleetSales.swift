import CommandLineSupport
import Fleet
import Hummingbird
import JuiceDomain
import KioskProtocol

extension DashboardServer {
  /// Adds `sales` and `sales.csv`: the sales of all kiosks that the user may see.
  func addFleetSales(to router: RouterGroup<PageContext>) {
    router.get("sales") { request, context in
      let (form, language) = (Form(request.uri.query ?? ""), context.language)
      let (fleet, now) = (fleet(context), link.time)
      let localTime = LocalTime(fleet.timeZone, now: now, language)
      let period = Self.period(form, localTime)
      var sales = FleetSales()
      for kiosk in fleet.kiosks {
        sales.add(kiosk, PublishedSales(of: kiosk, for: period, now: now), period)
      }
      let menus = fleet.kiosks.prefix(100).compactMap(\.menu?.menu)
      let page = SalesPage(
        title: language("Sales", "판매"), path: "/sales", period: period, sales: sales.all,
        notice: sales.missing == 0
          ? nil
          : language.notice(
            .hint, "Kiosks without sales here, because they have sent none yet: \(sales.missing)",
            "아직 판매 기록을 보내지 않아 빠진 키오스크: \(sales.missing)대"),
        unknownKiosks: sales.kiosks.count { !$0.sales.isComparable }, canChoose: true,
        groups: sales.groups(language, page: form["page"].flatMap { Int($0) } ?? 1) {
          "/sales?\(period.query)&page=\($0)"
        },
        name: { juice in
          menus.lazy.compactMap { $0.juice(juice) }.first?.name[language] ?? juice.text
        }, localTime: localTime)
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
    router.get("sales.csv") { request, context in
      try await salesFile(Form(request.uri.query ?? ""), context)
    }
  }

  /// Returns the CSV file, written one kiosk after the other: that of many kiosks is long.
  private func salesFile(_ form: Form, _ context: PageContext) async throws -> Response {
    let (fleet, now) = (fleet(context), link.time)
    let language = context.language
    let period = Self.period(form, LocalTime(fleet.timeZone, now: now, language))
    let isForExcel = form["excel"] != nil
    let csv = CSVWriter(forExcel: isForExcel)
    var response = RouteCSV.response("", name: "sales")
    response.body = ResponseBody { writer in
      func write(_ rows: [[CSVWriter.Cell]]) async throws {
        let text = rows.map { csv.line($0) + (isForExcel ? "\n" : "\r\n") }.joined()
        try await writer.write(ByteBuffer(string: text))
      }
      try await writer.write(ByteBuffer(string: isForExcel ? csv.start : "\u{FEFF}"))
      try await write([SalesCSV.kioskHeader + SalesCSV.header])
      for kiosk in fleet.kiosks.sorted(by: { $0.id < $1.id }) {
        guard let published = PublishedSales(of: kiosk, for: period, now: now)
        else { continue }
        let start: [CSVWriter.Cell] = [
          .text(kiosk.id.text), .text(kiosk.title(language)), .text(kiosk.place ?? ""),
        ]
        try await write(SalesCSV.rows(published.figures, period).map { start + $0 })
      }
      try await writer.finish(nil)
    }
    return response
  }

  /// Reads the periods of a query. The default is the last 14 days, compared with the 14 days before.
  private static func period(_ form: Form, _ localTime: LocalTime) -> SalesPeriod {
    SalesPeriod(form, today: localTime.today, dayCount: 14, canChoose: true)
  }
}
