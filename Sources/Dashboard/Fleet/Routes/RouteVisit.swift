package import JuiceDomain
package import KioskProtocol

/// A visit to a kiosk that a route plans and that has not taken place yet.
package struct RouteVisit: Hashable, Sendable {
  /// The arrival of the route, or now if the visit is late.
  package let at: Timestamp
  /// Number of pieces of each fruit that the route brings.
  package let bring: [Fruit.ID: Int]

  package init(at: Timestamp, bring: [Fruit.ID: Int]) { (self.at, self.bring) = (at, bring) }

  /// Returns the visits that routes plan, by kiosk, the earliest first: those of stops that are
  /// neither confirmed nor skipped.
  package static func planned(_ routes: [Route], at now: Timestamp) -> [KioskID: [RouteVisit]] {
    var visits: [KioskID: [RouteVisit]] = [:]
    for route in routes.sorted(by: { $0.plan.arrival < $1.plan.arrival })
    where !route.isPast(at: now) {
      for stop in route.stops where stop.report == nil && !stop.isSkipped {
        let bring = Dictionary(stop.lines.map { ($0.fruit.id, $0.bring) }) { first, _ in first }
        visits[stop.kiosk, default: []]
          .append(RouteVisit(at: max(now, route.plan.arrival), bring: bring))
      }
    }
    return visits
  }
}

extension Route {
  /// Returns whether the open stops no longer count, because the arrival was at least 24 hours ago.
  fileprivate func isPast(at now: Timestamp) -> Bool {
    now.since(plan.arrival) >= .seconds(24 * 3600)
  }

  /// Returns whether no visit is ahead, and no report waits for the answer of its kiosk.
  package func isOver(at now: Timestamp) -> Bool {
    isPast(at: now) && !stops.contains(where: \.isUnanswered)
  }
}

extension RoutePlan {
  /// Returns the kiosks to visit: those with a short fruit, in the given order, as many as `stops`
  /// and the van permit. A kiosk whose fruit does not fit into the van is left out; a later one may
  /// fit.
  ///
  /// - Parameter kiosks: The kiosks, the most urgent first.
  package func proposal(
    from kiosks: [KioskState], visits: [KioskID: [RouteVisit]] = [:], at now: Timestamp
  ) -> [KioskID] {
    var (chosen, loaded): ([KioskID], [Route.Line]) = ([], [])
    for kiosk in kiosks where chosen.count < stops {
      let others = visits[kiosk.id] ?? []
      guard !shortFruits(of: kiosk, after: others, at: now).isEmpty,
        let lines = lines(for: kiosk, after: others, at: now)
      else { continue }
      if let van {
        guard Route.amount(of: Route.load(of: loaded + lines)) <= van else { continue }
        loaded += lines
      }
      chosen.append(kiosk.id)
    }
    return chosen
  }
}
