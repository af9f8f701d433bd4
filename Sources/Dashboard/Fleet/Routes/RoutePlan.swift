package import JuiceDomain
package import KioskProtocol

/// When a route is driven, and until when it has to last. With the stocks and forecasts of the kiosks this
/// tells which of them to go to, and what to take along.
package struct RoutePlan: Hashable, Sendable {
  package enum Fill: String, CaseIterable, Sendable {
    /// As much as there is room for.
    case capacity
    /// As much as lasts until the end, with the margin.
    case need
  }

  /// When the kiosks are restocked.
  package let arrival: Timestamp
  /// When the next route comes.
  package let end: Timestamp
  /// So many percent are added to the expected use.
  package let margin: Int
  package let fill: Fill

  package static let margins = 0...200

  /// `nil` if the end is not after the arrival, or the margin is not one of `margins`.
  package init?(arrival: Timestamp, end: Timestamp, margin: Int, fill: Fill) {
    guard arrival < end, Self.margins.contains(margin) else { return nil }
    self.arrival = arrival
    self.end = end
    self.margin = margin
    self.fill = fill
  }

  /// The fruits of the kiosk that would be gone before the end if nobody came, in the order of the
  /// menu. Where there is no forecast: those that are low or out now.
  package func shortFruits(of kiosk: KioskState, at now: Timestamp) -> [Fruit.ID] {
    let fruits = kiosk.menu?.menu.fruits.map(\.id) ?? []
    return fruits.filter { fruit in
      guard let held = kiosk.stock?.fruits[fruit] else { return false }
      guard let use = kiosk.use(of: fruit, from: kiosk.lastKnown(at: now), until: end) else {
        return held == 0 || kiosk.alerts[fruit] ?? .ok != .ok
      }
      return Double(held) <= use * factor
    }
  }

  /// What to bring to the kiosk; `nil` if it has told no menu or no stock.
  ///
  /// - `expected` is the stock of now minus the expected use until the arrival, and never below zero.
  /// - The room is the capacity minus `expected`. The need is the expected use from the arrival to the end,
  ///   with the margin, minus `expected`.
  /// - `Fill.capacity` brings the room. `Fill.need` brings the need, but at most the room.
  /// - Without a forecast `expected` is the stock of now, and the room is brought. Without a capacity the
  ///   need is brought.
  package func lines(for kiosk: KioskState, at now: Timestamp) -> [Route.Line]? {
    guard let menu = kiosk.menu, let stock = kiosk.stock else { return nil }
    return menu.menu.fruits.map { fruit in
      let held = stock.fruits[fruit.id] ?? 0
      let before = kiosk.use(of: fruit.id, from: kiosk.lastKnown(at: now), until: arrival)
      let expected = before.map { max(0, held - Int($0.rounded())) } ?? held
      let room = menu.capacities[fruit.id].map { max(0, $0 - expected) }
      let need = kiosk.use(of: fruit.id, from: arrival, until: end).map {
        // Sums of tenths are not exact.
        max(0, Int(($0 * factor - 0.001).rounded(.up)) - expected)
      }
      let bring =
        switch fill {
        case .capacity: room ?? need
        case .need: need.map { min($0, room ?? $0) } ?? room
        }
      return Route.Line(
        fruit: fruit, now: held, expected: expected, bring: bring ?? 0, isForecast: before != nil)
    }
  }

  private var factor: Double { 1 + Double(margin) / 100 }
}

extension KioskState {
  /// Until when its stock is known: nobody knows what a kiosk has sold since it went offline.
  fileprivate func lastKnown(at now: Timestamp) -> Timestamp {
    isOnline ? now : min(now, stock?.at ?? now)
  }

  /// The expected use of the fruit; `nil` if there is no forecast of it. Use before the forecast was made
  /// does not count.
  fileprivate func use(
    of fruit: Fruit.ID, from start: Timestamp, until end: Timestamp
  ) -> Double? {
    guard let forecast, let outlook = forecast.fruits[fruit],
      let first = outlook.use(until: start, from: forecast.at),
      let last = outlook.use(until: end, from: forecast.at)
    else { return nil }
    return max(0, last - first)
  }
}
