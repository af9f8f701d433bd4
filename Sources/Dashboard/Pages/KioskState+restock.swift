import Fleet
import JuiceDomain
import KioskMessages

extension KioskState {
  /// Where fruits of this kiosk are restocked; the first has the focus there.
  func restockAddress(_ fruits: [Fruit.ID]) -> String {
    "/kiosks/\(id)?fruit=\(fruits.map(\.text).joined(separator: ","))"
  }

  /// Of the fruits that are missing those that it keeps, in the order of its menu.
  func known(_ missing: FruitAmounts) -> [Fruit.ID] {
    (menu?.menu.fruits ?? []).map(\.id).filter { missing[$0] != nil }
  }

  /// What fills a fruit up; `nil` if it is full, or nobody knows how much there may be.
  func room(for fruit: Fruit.ID) -> Int? {
    guard let capacity = menu?.capacities[fruit], let held = stock?.fruits[fruit], capacity > held
    else { return nil }
    return capacity - held
  }
}
