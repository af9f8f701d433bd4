package import JuiceDomain

extension Route {
  /// The amount of one fruit to load on the van.
  package struct Load: Hashable, Sendable {
    package let fruit: Fruit
    /// The sum of the planned amounts of all stops that are not skipped.
    package let sum: Int
    /// Number of pieces in a crate, or `nil` if no menu states it.
    package let crate: Int?
    /// The sum in crates, rounded up, or `nil` if the fruit has no crates.
    package let crates: Int?
    /// The number of pieces on the van: whole crates if the fruit has crates.
    package let amount: Int
  }

  /// The load of the stops that are not skipped.
  package var load: [Load] { Self.load(of: stops.filter { !$0.isSkipped }.flatMap(\.lines)) }

  /// Returns the number of pieces on the van.
  package static func amount(of load: [Load]) -> Int { load.reduce(0) { $0 + $1.amount } }

  /// Returns the load, in the order in which the fruits appear in the lines. If the menus of the
  /// kiosks state different contents of a crate, the largest one is used.
  static func load(of lines: [Line]) -> [Load] {
    var (fruits, sums): ([Fruit], [Fruit.ID: (sum: Int, crate: Int?)]) = ([], [:])
    for line in lines {
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

/// The differences between counted and recorded stock, and between planned and brought amounts.
package struct RouteDifferences: Sendable {
  package struct Difference: Hashable, Sendable {
    /// Number of counts of the fruit.
    package var counts = 0
    /// Sum of the missing amounts of all counts; negative if there was a surplus.
    package var missing = 0
    package var planned = 0
    package var brought = 0
  }

  package private(set) var kiosks: [KioskID: [Fruit.ID: Difference]] = [:]
  package private(set) var fruits: [Fruit.ID: Difference] = [:]
  /// The names of the kiosks at their latest stop.
  package private(set) var titles: [KioskID: LocalizedName] = [:]
  package private(set) var names: [Fruit.ID: LocalizedName] = [:]

  /// Adds up the stops whose restocks the kiosks have applied.
  ///
  /// - Parameter routes: The routes, the latest last.
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
