package import JuiceDomain
package import KioskProtocol

/// The parameters of a route. Together with the stocks and forecasts of the kiosks, they determine
/// the kiosks to visit and the amounts to bring.
package struct RoutePlan: Hashable, Sendable {
  package enum Fill: String, CaseIterable, Sendable {
    /// Brings as much as the kiosk has room for.
    case capacity
    /// Brings as much as is needed until the end, with the margin.
    case need
  }

  /// The time at which the kiosks are restocked.
  package let arrival: Timestamp
  /// The time of the next route.
  package let end: Timestamp
  /// The safety margin added to the expected use, in percent.
  package let margin: Int
  package let fill: Fill
  /// The number of kiosks that are proposed at most.
  package let stops: Int
  /// The number of pieces of fruit that the van holds, or `nil` if it has room for every route.
  package let van: Int?

  package static let margins = 0...200
  package static let vans = 1...1_000_000

  /// Creates a plan. Returns `nil` if the end is not after the arrival, or if a number is outside
  /// its range.
  package init?(
    arrival: Timestamp, end: Timestamp, margin: Int, fill: Fill,
    stops: Int = Route.maximumKiosks, van: Int? = nil
  ) {
    guard arrival < end, Self.margins.contains(margin), (1...Route.maximumKiosks).contains(stops),
      van.map(Self.vans.contains) ?? true
    else { return nil }
    self.arrival = arrival
    self.end = end
    self.margin = margin
    self.fill = fill
    (self.stops, self.van) = (stops, van)
  }

  /// Returns the fruits whose stock, without this route, would be too small for a juice of the kiosk
  /// between the arrival and the end, with the margin; in the order of the menu. A fruit without a
  /// forecast is included if its stock is too small or low now.
  ///
  /// - Parameter visits: The visits of other routes to the kiosk, the earliest first.
  package func shortFruits(
    of kiosk: KioskState, after visits: [RouteVisit] = [], at now: Timestamp
  ) -> [Fruit.ID] {
    guard let menu = kiosk.menu, let stock = kiosk.stock?.fruits else { return [] }
    return menu.menu.fruits.map(\.id).filter { fruit in
      guard let held = stock[fruit] else { return false }
      let outlook = kiosk.outlook(of: fruit, held: held, at: now)
      let visited = outlook.following(
        visits.filter { $0.at < end }, of: fruit, capacity: menu.capacities[fruit])
      // Another route fills up what is short before its visit, unless this one comes earlier.
      let ends = visits.map(\.at).filter { $0 < end } + [end]
      return zip(visited, ends).contains { stock, end in
        guard end > arrival else { return false }
        let rest =
          stock.amount - (outlook.expired(until: end) - stock.expired)
          - menu.menu.reserve(of: fruit)
        guard let use = outlook.use(from: stock.at, until: end) else {
          return rest <= 0 || visits.isEmpty && kiosk.alerts[fruit] ?? .ok != .ok
        }
        return Double(rest) <= use * factor
      }
    }
  }

  /// Returns the amounts to bring to the kiosk, or `nil` if it has published no menu or no stock.
  ///
  /// - `expected` is the current stock minus the expected use until the arrival and minus the fruit
  ///   that expires unsold until then, and at least zero.
  /// - The room is the capacity minus `expected`. The need is the expected use from the arrival to
  ///   the end, with the margin, plus the reserve, minus the part of `expected` that does not expire
  ///   unsold before the end. The reserve is one piece less than the largest amount in a recipe, so
  ///   that every juice can be sold until the end.
  /// - `Fill.capacity` brings the room. `Fill.need` brings the need, but at most the room.
  /// - Of a fruit that keeps for some hours, the plan brings at most the expected use within these
  ///   hours after the arrival, minus the part of `expected` that does not expire unsold within
  ///   them.
  /// - Without a forecast, `expected` is the current stock, and the plan brings the room. Without a
  ///   capacity, the plan brings the need; without both, nothing.
  /// - If `expected` is too small for a juice, the plan brings at least the larger of the low mark and
  ///   the largest amount in a recipe, minus `expected`, but at most the room. Fruit that is out
  ///   cannot be sold: its forecast falls to 0, and would keep it out forever.
  /// - What other routes bring until the arrival counts as stock. The next visit after the arrival,
  ///   if there is one before the end, is the end.
  ///
  /// - Parameter visits: The visits of other routes to the kiosk, the earliest first.
  package func lines(
    for kiosk: KioskState, after visits: [RouteVisit] = [], at now: Timestamp
  ) -> [Route.Line]? {
    guard let menu = kiosk.menu, let stock = kiosk.stock else { return nil }
    let earlier = visits.filter { $0.at <= arrival }
    let end = min(self.end, visits.first { $0.at > arrival }?.at ?? self.end)
    return menu.menu.fruits.map { fruit in
      let held = stock.fruits[fruit.id] ?? 0
      let outlook = kiosk.outlook(of: fruit.id, held: held, at: now)
      let capacity = menu.capacities[fruit.id]
      let last = outlook.following(earlier, of: fruit.id, capacity: capacity)[earlier.count]
      let before = outlook.use(from: last.at, until: arrival)
      let gone = outlook.expired(until: arrival)
      let expected = max(
        0, last.amount - (gone - last.expired) - Int((before ?? 0).rounded()))
      /// Returns the part of `expected` that does not expire unsold until a later time.
      func usable(until time: Timestamp) -> Int {
        max(0, expected + gone - outlook.expired(until: time))
      }
      let room = capacity.map { max(0, $0 - expected) }
      let need = outlook.use(from: arrival, until: end).map {
        // Compensates for rounding errors in the sum of tenths.
        max(
          0,
          Int(($0 * factor - 0.001).rounded(.up)) + menu.menu.reserve(of: fruit.id)
            - usable(until: end))
      }
      let bring =
        switch fill {
        case .capacity: room ?? need
        case .need: need.map { min($0, room ?? $0) } ?? room
        }
      let fresh = fruit.keepsHours.map { arrival.adding(hours: $0) }
        .flatMap { end in
          outlook.use(from: arrival, until: end)
            .map { max(0, Int($0) - usable(until: end)) }
        }
      let glass = menu.menu.recipeAmounts[fruit.id]?.upperBound ?? 0
      let least = expected < glass ? max(glass, menu.lowMarks[fruit.id] ?? 0) - expected : 0
      return Route.Line(
        fruit: fruit, now: held, expected: expected,
        bring: max(min(bring ?? 0, fresh ?? .max), min(least, room ?? .max)),
        isForecast: before != nil, takeOut: (kiosk.expired[fruit.id] ?? 0) + gone)
    }
  }

  private var factor: Double { 1 + Double(margin) / 100 }
}

extension Menu {
  /// Returns the largest amount of the fruit that is too small for one of the juices.
  fileprivate func reserve(of fruit: Fruit.ID) -> Int {
    (recipeAmounts[fruit]?.upperBound ?? 1) - 1
  }
}

extension Timestamp {
  fileprivate func adding(hours: Int) -> Timestamp {
    Timestamp(milliseconds: milliseconds + Int64(hours) * 3_600_000)
  }
}
