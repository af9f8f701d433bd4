import Fleet
import Foundation
import JuiceDomain
import KioskProtocol

/// Reads the sales of kiosks from their ledgers, a page at a time, and keeps the sums for five
/// minutes.
actor SalesReader {
  /// Time for which sums are kept.
  private static let lifetime = Duration.seconds(300)
  /// Maximum number of kiosks whose sums are kept. At this number, a reading removes all others.
  private static let maximumKiosks = 16

  /// The sums of the entries that were read, from the newest entry backwards.
  struct Sums: Sendable {
    let readAt: Timestamp
    fileprivate let epoch: Int
    let timeZone: String
    /// The `seq` of the newest entry that is not read yet, or `nil` if all entries are read.
    fileprivate(set) var next: Int?
    /// The time since which all entries are read.
    fileprivate(set) var start: Timestamp
    fileprivate(set) var figures = HourlyFigures()
  }

  private let link: KioskLink
  private var sums: [KioskID: Sums] = [:]
  private var running: [KioskID: Task<Sums?, Never>] = [:]

  init(link: KioskLink) { self.link = link }

  /// Returns the sums of a kiosk since a time, read at most five minutes ago. A reading that takes
  /// longer than the link waits for an answer requests no further page.
  ///
  /// - Returns: The sums, or `nil` if no page has arrived or a restore has changed the ledger.
  ///   After an early stop, `next` is not `nil`, and `start` is not before the given time.
  func sums(of kiosk: KioskID, since start: Timestamp) async -> Sums? {
    // One reading of a kiosk at a time: two would add the same page. A second caller gets the
    // result of the running reading.
    if let running = running[kiosk] { return await running.value }
    var known = sums[kiosk]
    if let readAt = known?.readAt, !(.zero..<Self.lifetime).contains(link.time.since(readAt)) {
      known = nil
    }
    if let known, known.next == nil || known.start <= start { return known }
    let link = link
    let reading = Task { await Self.read(kiosk, since: start, after: known, link) }
    running[kiosk] = reading
    let result = await reading.value
    running[kiosk] = nil
    if sums.count >= Self.maximumKiosks { sums = [:] }
    sums[kiosk] = result
    return result
  }

  /// Reads the pages that follow the known sums.
  private static func read(
    _ kiosk: KioskID, since start: Timestamp, after known: Sums?, _ link: KioskLink
  ) async -> Sums? {
    var sums = known
    let began = ContinuousClock.now
    repeat {
      let request = SalesRequest(
        id: .random, last: sums?.next, since: Timestamp(milliseconds: 0))
      guard let page = try? await link.ask(request, of: kiosk) else { return sums }
      // Never add the pages of two ledgers: after a restore the next reading begins anew.
      guard sums == nil || page.epoch == sums?.epoch else { return nil }
      guard sums == nil || page.last == sums?.next else { return sums }
      var read =
        sums
        ?? Sums(readAt: link.time, epoch: page.epoch, timeZone: page.timeZone, start: link.time)
      read.figures.add(page, LocalTime(page.timeZone, now: link.time, .english))
      read.next = page.next
      // The kiosk's clock may jump, but not for all entries of a page: if the latest time of a page
      // is before the requested time, so are the times of all pages with older entries.
      if let last = page.sums.map(\.at).max() { read.start = min(read.start, last) }
      sums = read
    } while sums?.next != nil && (sums?.start ?? start) >= start
      && ContinuousClock.now - began < link.answerTimeout
    return sums
  }
}

/// Numbers of glasses and of out-of-stock orders, and takings.
struct SalesFigures: Sendable, Equatable {
  var glasses = 0
  var outOfStock = 0
  /// The amount in each currency, in its smallest unit. `Int.max` is an amount that is too large.
  var takings: [Currency: Int] = [:]

  static func += (left: inout Self, right: Self) {
    left.glasses = left.glasses.plus(right.glasses)
    left.outOfStock = left.outOfStock.plus(right.outOfStock)
    left.takings.merge(right.takings) { $0.plus($1) }
  }
}

/// The figures of a kiosk for each hour and juice.
struct HourlyFigures: Sendable {
  struct Key: Hashable, Sendable, Comparable {
    /// The day, in days since 1970-01-01.
    let day: Int64
    /// The hour, from 0 to 23, or `nil` if only the day is known.
    let hour: Int?
    let juice: Juice.ID

    static func < (left: Self, right: Self) -> Bool {
      (left.day, left.hour ?? -1, left.juice) < (right.day, right.hour ?? -1, right.juice)
    }
  }

  private(set) var figures: [Key: SalesFigures] = [:]
  private var money: [Int64: [Currency: MoneySums]] = [:]

  /// The first day with a figure, in days since 1970-01-01, or `nil` without figures.
  var firstDay: Int64? { figures.keys.lazy.map(\.day).min() }

  init() {}

  /// Reads the hours of today and the earlier days of a kiosk's report.
  init(_ report: SalesReport) {
    for hour in report.hours { add(report.today.daysSinceEpoch, hour: hour.hour, hour.tally) }
    for day in report.days where day.day != report.today {
      add(day.day.daysSinceEpoch, day.tally)
    }
  }

  mutating func add(_ day: Int64, hour: Int? = nil, _ tally: SalesReport.Tally) {
    for juice in tally.juices {
      let takings = tally.takings[juice].map { ($0.currency, $0.units) }
      figures[Key(day: day, hour: hour, juice: juice), default: SalesFigures()] += SalesFigures(
        glasses: tally.made[juice] ?? 0, outOfStock: tally.outOfStock[juice] ?? 0,
        takings: Dictionary(takings) { first, _ in first })
    }
  }

  mutating func add(_ page: SalesExtract, _ localTime: LocalTime) {
    for part in page.money {
      let day = localTime.date(of: part.at).daysSinceEpoch
      money[day, default: [:]][part.currency, default: MoneySums()] += part.sums
    }
    for sum in page.sums {
      let key = Key(
        day: localTime.date(of: sum.at).daysSinceEpoch, hour: localTime.hour(of: sum.at),
        juice: sum.juice)
      figures[key, default: SalesFigures()] += SalesFigures(
        glasses: sum.glasses, outOfStock: sum.status == .outOfStock ? sum.orders : 0,
        takings: sum.amount.map { [$0.currency: $0.units] } ?? [:])
    }
  }

  /// Returns the money of the given days in each currency, if a device has taken any.
  func money(of days: ClosedRange<Int64>) -> [(currency: Currency, sums: MoneySums)] {
    var sums: [Currency: MoneySums] = [:]
    for (day, money) in money where days.contains(day) { sums.merge(money) { $0 + $1 } }
    return sums.filter { $0.value.taken > 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Returns the figures of the given days, summed by group.
  ///
  /// - Parameter key: Returns the group of a figure, or `nil` to omit the figure.
  func sums<Group: Hashable>(
    of days: ClosedRange<Int64>, by key: (Key) -> Group?
  ) -> [Group: SalesFigures] {
    figures.reduce(into: [:]) { sums, figure in
      guard days.contains(figure.key.day), let group = key(figure.key) else { return }
      sums[group, default: SalesFigures()] += figure.value
    }
  }
}
