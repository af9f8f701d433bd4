import CommandLineSupport
import Foundation
import JuiceDomain
import KioskProtocol

/// The sums of a period by juice, hour and day, and the sums of the period before, from a kiosk's
/// ledger or from the archive of a chain.
struct SalesComparison: Sendable {
  struct Pair: Sendable {
    var now = SalesFigures()
    var before = SalesFigures()

    static func += (left: inout Self, right: Self) {
      left.now += right.now
      left.before += right.before
    }
  }

  var juices: [Juice.ID: Pair] = [:]
  /// The sums by hour of the day, or empty if the hours are unknown.
  var hours: [Int: Pair] = [:]
  /// Number of glasses by day of the period. The key is the day, in days since 1970-01-01.
  var days: [Int64: Int] = [:]
  /// The sums of all juices, including figures that belong to no known juice.
  var total = Pair()
  /// The sums of the period in each currency. Empty if nothing was taken by a device.
  var money: [(currency: Currency, sums: MoneySums)] = []
  /// Whether the takings of each juice are known.
  var hasTakingsOfJuices = true
  /// The first day of which sales are known, or `nil` if all days of both periods are known.
  var knownSince: Int64?
  /// The last day of which all sales are known, or `nil` if all days of both periods are known.
  var knownUntil: Int64?

  /// Whether all days of both periods are known.
  var isComparable: Bool { knownSince == nil && knownUntil == nil }

  init() {}

  /// Creates the comparison of the sales of a kiosk.
  ///
  /// - Parameters:
  ///   - first: The first day that the figures cover.
  ///   - last: The last day that the figures cover, or `nil` if they cover today.
  init(
    _ figures: HourlyFigures, since first: Int64?, until last: Int64? = nil, _ period: SalesPeriod
  ) {
    knownSince = first.flatMap { $0 > period.start ? $0 : nil }
    knownUntil = last.flatMap { $0 < period.end ? $0 : nil }
    func pairs<Group: Hashable>(by key: (HourlyFigures.Key) -> Group?) -> [Group: Pair] {
      let now = figures.sums(of: period.days, by: key)
      let before = figures.sums(of: period.before, by: key)
      return Dictionary(
        Set(now.keys).union(before.keys).map {
          ($0, Pair(now: now[$0] ?? SalesFigures(), before: before[$0] ?? SalesFigures()))
        }
      ) { first, _ in first }
    }
    juices = pairs(by: \.juice)
    hours = pairs(by: \.hour)
    days = figures.sums(of: period.days, by: \.day).mapValues(\.glasses)
    money = figures.money(of: period.days)
    for pair in juices.values { total += pair }
  }

  /// Adds the sales of another kiosk. Only days that are known of both count as known.
  static func += (left: inout Self, right: Self) {
    for (juice, pair) in right.juices { left.juices[juice, default: Pair()] += pair }
    left.days.merge(right.days) { $0.plus($1) }
    left.total += right.total
    left.knownSince = [left.knownSince, right.knownSince].compactMap(\.self).max()
    left.knownUntil = [left.knownUntil, right.knownUntil].compactMap(\.self).min()
  }
}
