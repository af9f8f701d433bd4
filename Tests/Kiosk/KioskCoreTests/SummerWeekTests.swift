import Foundation
import JuiceDomain
import KioskProtocol
import Ledger
import MessageBroker
import Testing

@testable import KioskCore

/// A made-up week in summer of five kiosks, with the same orders in each variant. Prints the table of
/// deploy/docs/food-safety.md. `SUMMER_SEED` is another seed.
///
/// A week before it, by the same rules, does not count. Glasses are ordered from 9 to 21 o'clock, a
/// random juice each, as many an hour as `glasses` says on average. At 8 o'clock a person takes out
/// expired fruit, and restocks.
@Suite struct SummerWeekTests {
  private static let seed =
    ProcessInfo.processInfo.environment["SUMMER_SEED"].flatMap(UInt64.init) ?? 33
  /// Average number of glasses an hour of each kiosk.
  private static let glasses = [2, 4, 6, 9, 14]
  private static let opening = 9..<21
  private static let fruits: [(id: Fruit.ID, keeps: Int, capacity: Int, cost: String)] = [
    ("strawberry", 36, 800, "0.12"), ("banana", 96, 100, "0.25"), ("pineapple", 48, 70, "0.60"),
    ("kiwi", 120, 130, "0.40"), ("mango", 72, 160, "0.90"),
  ]

  /// The way in which a person restocks, and in which the kiosk knows dates.
  private enum Variant: String, CaseIterable {
    /// No dates: a restock fills the kiosk up, and the fruit on top, the newest, is used first.
    case without = "no dates, no limit"
    /// A restock fills the kiosk up.
    case dates = "first expired, first out"
    /// A restock brings what is expected to sell before it expires, as a route does.
    case both = "and the limit of the route"
  }

  private struct Outcome {
    var made = 0
    var missed = 0
    /// Pieces that were used after their date, and pieces that were thrown away with their cost.
    var usedExpired = 0
    var waste = Waste()

    static func += (left: inout Outcome, right: Outcome) {
      left.made += right.made
      left.missed += right.missed
      left.usedExpired += right.usedExpired
      left.waste += right.waste
    }
  }

  /// The fruit without dates in the kiosk, the oldest first.
  private struct Shelf {
    var pieces: [Fruit.ID: [(amount: Int, expires: Timestamp)]] = [:]

    /// Takes the newest, and returns how much of it had expired.
    mutating func take(_ amount: Int, of fruit: Fruit.ID, at now: Timestamp) -> Int {
      var (rest, expired) = (amount, 0)
      while rest > 0, let newest = pieces[fruit]?.popLast() {
        let part = min(rest, newest.amount)
        rest -= part
        if newest.expires <= now { expired += part }
        if newest.amount > part {
          pieces[fruit]?.append((newest.amount - part, newest.expires))
        }
      }
      return expired
    }

    mutating func takeExpired(at now: Timestamp) -> FruitAmounts {
      pieces.reduce(into: [:]) { taken, shelf in
        let expired = shelf.value.filter { $0.expires <= now }.reduce(0) { $0 + $1.amount }
        pieces[shelf.key]?.removeAll { $0.expires <= now }
        if expired > 0 { taken += [shelf.key: expired] }
      }
    }
  }

  private func settings(_ variant: Variant) throws -> KioskSettings {
    let known = Dictionary(Self.fruits.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let menu = try Menu(
      fruits: Menu.standard.fruits.map { fruit in
        Fruit(
          id: fruit.id, name: fruit.name,
          keepsHours: variant == .without ? nil : known[fruit.id]?.keeps,
          cost: known[fruit.id].flatMap { Money($0.cost, .euro) })
      }, juices: Menu.standard.juices)
    var settings = KioskSettings.test(menu: menu)
    settings.orders.maximumPerSecond = 0
    settings.stock.capacities = FruitAmounts(Self.fruits.map { ($0.id, $0.capacity) })
    return settings
  }

  /// Returns the average use of the fruit in hours from 8 o'clock on.
  private func use(of fruit: Fruit.ID, glasses: Int, hours: Int) -> Double {
    let open = (8..<8 + hours).count { Self.opening.contains($0 % 24) }
    let juices = Menu.standard.juices
    let pieces = juices.reduce(0) { $0 + ($1.recipe.amounts[fruit] ?? 0) }
    return Double(glasses * open * pieces) / Double(juices.count)
  }

  private func week(_ variant: Variant, kiosk number: Int) throws -> Outcome {
    let glasses = Self.glasses[number]
    var dice = Dice(state: Self.seed &* 1_000 &+ UInt64(number))
    let kiosk = try TestKiosk(settings: settings(variant), stock: [:])
    kiosk.pass(.seconds(23 * 3_600))  // 8 o'clock
    var (outcome, shelf) = (Outcome(), Shelf())
    func receive(_ deliveries: [Delivery], _ day: Int) throws {
      let before = kiosk.core.batches.held
      let now = kiosk.now.timestamp
      for record in try kiosk.receive(deliveries).transaction.records {
        let entry = record.row.entry
        var one = Outcome()
        switch entry.status {
        case .ready: one.made = 1
        case .outOfStock: one.missed = 1
        case .removed:
          guard case .removed(let removal) = entry.outcome else { break }
          one.waste.add(removal.amounts, removal.reason, cost: [entry.amount].compactMap(\.self))
        default: break
        }
        if entry.status == .ready {
          for (fruit, amount) in entry.changes where variant == .without {
            one.usedExpired += shelf.take(-amount, of: fruit, at: now)
          }
          for part in entry.batches {
            if let batch = before[part.id], batch.expires <= now { one.usedExpired -= part.amount }
          }
        }
        if day >= 7 { outcome += one }
      }
    }
    for day in 0..<14 {
      try receive([], day)
      let expired =
        variant == .without
        ? shelf.takeExpired(at: kiosk.now.timestamp) : kiosk.core.batches.expiredAmounts
      if !expired.isEmpty {
        let removal =
          variant == .without
          ? Removal(stock: expired, reason: .spoiled) : Removal(expired: expired, reason: .spoiled)
        try receive([restock(.remove(removal))], day)
      }
      var brought: FruitAmounts = [:]
      for fruit in Self.fruits {
        let held = kiosk.stock[fruit.id] ?? 0
        let sells = Int(use(of: fruit.id, glasses: glasses, hours: fruit.keeps))
        let bring = min(fruit.capacity, variant == .both ? sells : .max) - held
        guard bring > 0 else { continue }
        brought += [fruit.id: bring]
        let expires = kiosk.now.timestamp.milliseconds + Int64(fruit.keeps) * 3_600_000
        shelf.pieces[fruit.id, default: []].append((bring, Timestamp(milliseconds: expires)))
      }
      try receive([restock(.restock(Restock(add: brought)))], day)
      for hour in 8..<32 {
        if Self.opening.contains(hour) {
          let juices = (0..<dice.number(average: Double(glasses))).compactMap { _ in
            Menu.standard.juices.randomElement(using: &dice)
          }
          try receive(juices.map { .order($0.id.text) }, day)
        }
        kiosk.pass(.seconds(3_600))
      }
    }
    try kiosk.ledger.verify()
    return outcome
  }

  private func restock(_ command: Command) -> Delivery {
    .restock(text(Request(command: command).payload))
  }

  @Test func datesAndTheLimitOfTheRouteWasteLess() throws {
    var sums: [Outcome] = []
    print("SUMMER_SEED=\(Self.seed)")
    print("| dates and limit | glasses | not made | used expired | thrown away | cost |")
    print("|---|---|---|---|---|---|")
    for variant in Variant.allCases {
      let sum = try Self.glasses.indices.reduce(into: Outcome()) {
        $0 += try week(variant, kiosk: $1)
      }
      let thrown = sum.waste.amounts.reduce(0) { $0 + $1.amount }
      let cost = sum.waste.cost.map { "\($0.text) EUR" }.joined()
      print(
        "| \(variant.rawValue) | \(sum.made) | \(sum.missed) | \(sum.usedExpired) | \(thrown) "
          + "| \(cost) |")
      sums.append(sum)
    }
    #expect(Set(sums.map { $0.made + $0.missed }).count == 1, "the same orders")
    #expect(sums[0].usedExpired > 0 && sums[1...].allSatisfy { $0.usedExpired == 0 })
    let costs = sums.map { $0.waste.cost.first?.units ?? 0 }
    #expect(costs[2] * 2 < costs[1] && costs[2] * 2 < costs[0])
  }
}

extension Dice {
  /// Returns a number of a Poisson distribution.
  fileprivate mutating func number(average: Double) -> Int {
    var (count, product) = (0, Double.random(in: 0..<1, using: &self))
    while product > exp(-average) {
      count += 1
      product *= Double.random(in: 0..<1, using: &self)
    }
    return count
  }
}
