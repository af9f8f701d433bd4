package import JuiceDomain

extension Route {
  /// How much of a fruit is taken along.
  package struct Load: Hashable, Sendable {
    package let fruit: Fruit
    /// The sum of what is to be brought.
    package let sum: Int
    /// How much a crate holds, if the menu says it.
    package let crate: Int?
    /// The sum in crates, rounded up.
    package let crates: Int?
    /// How much is on the van: whole crates, if it comes in crates.
    package let amount: Int
  }

  /// In the order in which the stops have the fruits. If kiosks put different numbers in a crate, the
  /// largest counts.
  package var load: [Load] {
    var (fruits, sums): ([Fruit], [Fruit.ID: (sum: Int, crate: Int?)]) = ([], [:])
    for line in stops.lazy.flatMap(\.lines) {
      if sums[line.fruit.id] == nil { fruits.append(line.fruit) }
      let (sum, crate) = sums[line.fruit.id] ?? (0, nil)
      sums[line.fruit.id] = (
        sum + line.bring, [crate, line.fruit.crate].compactMap(\.self).max()
      )
    }
    return fruits.map { fruit in
      let (sum, crate) = sums[fruit.id] ?? (0, nil)
      let crates = crate.map { (sum + $0 - 1) / max(1, $0) }
      return Load(
        fruit: fruit, sum: sum, crate: crate, crates: crates,
        amount: crates.map { $0 * (crate ?? 1) } ?? sum)
    }
  }
}

/// How the counts at kiosks differ from their ledgers, and how much was brought and planned.
package struct RouteDifferences: Sendable {
  package struct Difference: Hashable, Sendable {
    /// How often the fruit was counted.
    package var counts = 0
    /// How much was missing in all counts; negative if more was there.
    package var missing = 0
    package var planned = 0
    package var brought = 0
  }

  package private(set) var kiosks: [KioskID: [Fruit.ID: Difference]] = [:]
  package private(set) var fruits: [Fruit.ID: Difference] = [:]
  /// The names on the latest stop.
  package private(set) var titles: [KioskID: LocalizedName] = [:]
  package private(set) var names: [Fruit.ID: LocalizedName] = [:]

  /// Sums up the stops that kiosks have applied.
  ///
  /// - Parameter routes: the latest last.
  package init(of routes: some Sequence<Route>) {
    for stop in routes.lazy.flatMap(\.stops) {
      guard let report = stop.report, report.isDone else { continue }
      titles[stop.kiosk] = stop.name
      let missing = report.missing
      for line in stop.lines {
        let fruit = line.fruit.id
        names[fruit] = line.fruit.name
        var difference = kiosks[stop.kiosk]?[fruit] ?? Difference()
        difference.add(line, report, missing[fruit])
        kiosks[stop.kiosk, default: [:]][fruit] = difference
        fruits[fruit, default: Difference()].add(line, report, missing[fruit])
      }
    }
  }
}

extension RouteDifferences.Difference {
  fileprivate mutating func add(_ line: Route.Line, _ report: Route.StopReport, _ missing: Int?) {
    if let missing {
      counts += 1
      self.missing += missing
    }
    planned += line.bring
    brought += report.brought[line.fruit.id] ?? 0
  }
}
