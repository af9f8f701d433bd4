import Fleet
import JuiceDomain
import KioskProtocol

/// The sales that a kiosk has published, and the days that they cover.
struct PublishedSales: Sendable {
  let figures: HourlyFigures
  /// The first day with sales. Earlier days may be missing in the ledger, so they count as unknown.
  let first: Int64
  /// The last day of which all sales are known, or `nil` if they are known up to now.
  let last: Int64?

  /// Creates the sales of a kiosk's reports.
  ///
  /// - Parameters:
  ///   - period: Earlier days than those of the period may be omitted.
  ///   - isCurrent: Whether the kiosk would have published later sales.
  init(
    _ report: SalesReport, earlier: @autoclosure () -> DailySales?, for period: SalesPeriod,
    isCurrent: Bool
  ) {
    var figures = HourlyFigures(report)
    let today = report.today.daysSinceEpoch
    last = isCurrent ? nil : today - 1
    let start = today - Int64(SalesReport.dayCount) + 1
    let first = max(start, figures.firstDay ?? today)
    // Of the earlier days, none may be missing before those of the report.
    if period.start < first, let earlier = earlier(), earlier.timeZone == report.timeZone,
      earlier.to.daysSinceEpoch >= start - 1
    {
      self.first = min(first, earlier.from.daysSinceEpoch)
      for day in max(self.first, period.start)..<max(self.first, period.start, start) {
        figures.add(day, earlier.tally(of: day))
      }
    } else {
      self.first = first
    }
    self.figures = figures
  }

  /// Returns the sales that a kiosk has published, or `nil` if it has published none.
  init?(of kiosk: KioskState, for period: SalesPeriod, now: Timestamp) {
    guard let report = kiosk.sales else { return nil }
    let today = LocalTime(report.timeZone, now: now, .english).today
    self.init(
      report, earlier: kiosk.dailySales, for: period,
      isCurrent: kiosk.isOnline && report.today.daysSinceEpoch >= today.daysSinceEpoch)
  }
}

/// The published sales of several kiosks in two periods: of all, by kiosk and by place.
struct FleetSales: Sendable {
  private(set) var all = SalesComparison()
  private(set) var kiosks: [(kiosk: KioskState, sales: SalesComparison)] = []
  private(set) var places: [String: SalesComparison] = [:]
  /// Number of kiosks that have not published their sales. No sum contains them.
  private(set) var missing = 0

  mutating func add(_ kiosk: KioskState, _ published: PublishedSales?, _ period: SalesPeriod) {
    guard let published else {
      missing += 1
      return
    }
    var sales = SalesComparison(
      published.figures, since: published.first, until: published.last, period)
    // Hours are published of today only.
    sales.hours = [:]
    all += sales
    kiosks.append((kiosk, sales))
    places[kiosk.place ?? "", default: SalesComparison()] += sales
  }

  /// Returns the tables by kiosk and by place, those with the most glasses first.
  ///
  /// - Parameters:
  ///   - number: The requested page number of the table by kiosk.
  ///   - address: Returns the address of a page of that table.
  func groups(
    _ language: Language, page number: Int, _ address: (Int) -> String
  ) -> [SalesPage.Group] {
    let kiosks = kiosks.sorted {
      ($0.sales.total.now.glasses, $1.kiosk.id) > ($1.sales.total.now.glasses, $0.kiosk.id)
    }
    let slice = ListSlice(page: number, of: kiosks.count)
    let shown: [(name: HTML, sales: SalesComparison)] = kiosks.dropFirst(slice.start)
      .prefix(ListSlice.length).map { kiosk, sales in
        ("<a href=\"/kiosks/\(kiosk.id)/sales\">\(kiosk.title(language))</a>", sales)
      }
    let named = places.filter { !$0.key.isEmpty }.sorted {
      ($0.value.total.now.glasses, $1.key) > ($1.value.total.now.glasses, $0.key)
    }
    var groups: [SalesPage.Group] = []
    if !named.isEmpty {
      var rows: [(name: HTML, sales: SalesComparison)] = named.prefix(ListSlice.length).map {
        ("\($0.key)", $0.value)
      }
      let others = named.dropFirst(ListSlice.length)
      if !others.isEmpty {
        let name = language(
          others.count == 1 ? "1 other place" : "\(others.count) other places",
          "그 밖의 위치 \(others.count)곳")
        let sum = others.reduce(into: SalesComparison()) { $0 += $1.value }
        rows.append((name: "\(name)", sales: sum))
      }
      if let rest = places[""] {
        rows.append((name: "\(language("without a place", "위치 없음"))", sales: rest))
      }
      groups.append(SalesPage.Group(title: language("Place", "위치"), id: "places", rows: rows))
    }
    groups.append(
      SalesPage.Group(
        title: language("Kiosk", "키오스크"), id: "by-kiosk", rows: shown,
        links: slice.links(language, address)))
    return groups
  }
}
