import Foundation
import JuiceDomain
import KioskCore
import KioskDaemon
import KioskProtocol
import Testing
import TimeZones

/// A simulated year of sales of a kiosk. The same seed produces the same year.
///
/// Customers arrive at random, at a rate that depends on the hour of the week, the season, the
/// weather and the trend. Each orders one glass. The fruit is restocked twice a week, and may run
/// out before. There are holidays, afternoons in which the kiosk is closed, a week in which it is
/// broken, and a juice that is added in summer and replaces sales of the others. The computation
/// uses only + - * /, so that it gives the same year on every system.
struct MadeUpYear: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Glasses on an average day.
  let glasses: Double
  /// Weights by hour of the day.
  let hours: [Double]
  /// Weights of the weekdays, from Monday on.
  let weekdays: [Double]
  /// The fraction by which sales are higher in the middle of the year.
  let season: Double
  /// The fraction by which sales are higher at the end of the year.
  let trend: Double
  let weather: Double
  let seed: UInt64

  static let all = [
    MadeUpYear(
      testDescription: "office", glasses: 60,
      hours: [0, 0, 0, 0, 0, 0, 1, 4, 8, 9, 5, 6, 14, 12, 5, 7, 9, 5, 2, 1, 0, 0, 0, 0],
      weekdays: [1.2, 1.3, 1.4, 1.3, 1.2, 0.3, 0.3], season: 0.1, trend: 0.4, weather: 0.15,
      seed: 11
    ),
    MadeUpYear(
      testDescription: "station", glasses: 120,
      hours: [1, 0, 0, 0, 1, 3, 9, 14, 12, 6, 4, 4, 5, 5, 4, 5, 8, 14, 15, 9, 6, 4, 3, 2],
      weekdays: [1, 1, 1, 1.1, 1.3, 0.9, 0.7], season: 0.2, trend: -0.3, weather: 0.2, seed: 12),
    MadeUpYear(
      testDescription: "swimming pool", glasses: 35,
      hours: [0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 8, 9, 9, 8, 7, 5, 2, 0, 0, 0],
      weekdays: [0.8, 0.8, 1, 0.9, 1, 1.3, 1.2], season: 0.6, trend: 0, weather: 0.3, seed: 13),
  ]

  private static let dayCount = 365
  private static let before: [(Juice.ID, Double)] = [
    ("strawberry", 0.2), ("banana", 0.2), ("kiwi", 0.15), ("pineapple", 0.1),
    ("strawberry_banana", 0.2), ("mango", 0.15),
  ]
  private static let after: [(Juice.ID, Double)] = [
    ("strawberry", 0.17), ("banana", 0.18), ("kiwi", 0.1), ("pineapple", 0.1),
    ("strawberry_banana", 0.17), ("mango", 0.1), ("mango_kiwi", 0.18),
  ]

  /// Returns the errors at the end of the year. One forecast in 30 hours covers each hour of the
  /// day in turn, and is fast enough for a test.
  func backtest() throws -> Backtest? {
    let begin = try #require(Timestamp("2025-01-01T00:00:00Z"))
    let end = Timestamp(milliseconds: begin.milliseconds + Int64(Self.dayCount) * 86_400_000)
    var history = SalesHistory(
      menu: .standard, wallClock: .utc, through: 0, at: end, dayCount: Self.dayCount + 1)
    var (seq, stock) = (0, FruitAmounts())
    func tell(_ outcome: LedgerEntry.Outcome, at seconds: Int) {
      seq += 1
      for (fruit, amount) in outcome.changes { stock[fruit] = (stock[fruit] ?? 0) + amount }
      history.add(
        LedgerEntry(
          seq: seq, epoch: 0,
          at: Timestamp(milliseconds: begin.milliseconds + Int64(seconds) * 1000),
          source: Source(kind: .order, name: "p1"), id: nil, outcome: outcome))
    }
    var random = Random(seed: seed)
    let holidays = Set((0..<12).map { _ in random.number(below: Self.dayCount) })
    let closings = Set((0..<12).map { _ in random.number(below: Self.dayCount) })
    let broken = 15 + random.number(below: 20)
    let newJuice = 160 + random.number(below: 40)
    // The usual use in four and a half days.
    var capacity = FruitAmounts()
    for (id, share) in Self.before {
      for (fruit, amount) in try #require(Menu.standard.juice(id)).recipe.amounts {
        capacity[fruit] = (capacity[fruit] ?? 0) + Int(share * glasses * Double(amount) * 4.5)
      }
    }
    tell(.opened(capacity), at: 0)
    var weatherNow = 0.0
    for day in 0..<Self.dayCount {
      weatherNow = 0.7 * weatherNow + 0.6 * (2 * random.unit() - 1)
      let (weekday, part) = ((day + 2) % 7, Double(day) / Double(Self.dayCount))
      let seasonNow = 1 + season * (1 - abs(4 * part - 2)) + trend * part
      var rate = glasses * weekdays[weekday] * seasonNow * max(0.1, 1 + weather * weatherNow)
      if holidays.contains(day) { rate *= 0.3 }
      if day / 7 == broken { continue }
      let closes = closings.contains(day)
      if closes { tell(.service(.closed), at: (day * 24 + 12) * 3600) }
      for hour in 0..<(closes ? 12 : 24) {
        let start = (day * 24 + hour) * 3600
        if hour == 10, weekday == 0 || weekday == 3 {
          tell(
            .restocked(
              changes: FruitAmounts(capacity.map { ($0.fruit, $0.amount - (stock[$0.fruit] ?? 0)) })
            ), at: start)
        }
        // The chance of a customer in each 20 seconds.
        let chance = rate * hours[hour] / hours.reduce(0, +) / 180
        for slot in 0..<180 where random.unit() < chance {
          let juice = random.choice(of: day < newJuice ? Self.before : Self.after)
          let recipe = try #require(Menu.standard.juice(juice)).recipe.amounts
          let (order, seconds) = (Order(juice: juice), start + slot * 20)
          if recipe.allSatisfy({ (stock[$0.fruit] ?? 0) >= $0.amount }) {
            tell(.ready(order, used: recipe, ticket: Ticket(day: day, number: seq)), at: seconds)
          } else {
            tell(.outOfStock(order, missing: recipe), at: seconds)
          }
        }
      }
      if closes { tell(.service(.open), at: (day + 1) * 86_400) }
    }
    return history.backtest(stock: stock, at: end, every: 30)
  }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
private struct Random {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// Returns a number from 0 to below 1.
  mutating func unit() -> Double {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return Double((bits ^ (bits >> 31)) >> 11) / 9_007_199_254_740_992
  }

  mutating func number(below limit: Int) -> Int { Int(unit() * Double(limit)) }

  mutating func choice<Element>(of shares: [(Element, Double)]) -> Element {
    var left = unit()
    for (element, share) in shares.dropLast() {
      guard left >= share else { return element }
      left -= share
    }
    return shares[shares.count - 1].0
  }
}
