import Fleet
import JuiceDomain
import KioskProtocol
import Synchronization

/// The names of juices and fruits on the menus of the kiosks that a user may see. If kiosks have
/// different names for an id, that of the kiosk with the first id counts.
final class MenuNames: Sendable {
  private let fleet: KioskFleet
  private let isIncluded: @Sendable (KioskState) -> Bool
  private let found = Mutex<Names?>(nil)

  private struct Names: Sendable {
    var juices: [Juice.ID: (kiosk: KioskID, name: LocalizedName)] = [:]
    var fruits: [Fruit.ID: (kiosk: KioskID, name: LocalizedName)] = [:]
  }

  /// - Parameter isIncluded: Whether the user may see a kiosk.
  init(of fleet: KioskFleet, where isIncluded: @escaping @Sendable (KioskState) -> Bool) {
    self.fleet = fleet
    self.isIncluded = isIncluded
  }

  /// Returns a kiosk that the user may see, with names for what its own menu lacks.
  func kiosk(_ id: KioskID) -> KioskState {
    (fleet[id] ?? KioskState(id: id)).named(by: otherNames)
  }

  /// The names for what the menu of a kiosk lacks.
  var otherNames: OtherNames {
    OtherNames(juice: { self.name(of: $0) }, fruit: { self.name(of: $0) })
  }

  func name(of juice: Juice.ID) -> LocalizedName? { names.juices[juice]?.name }

  func name(of fruit: Fruit.ID) -> LocalizedName? { names.fruits[fruit]?.name }

  /// Read at the first use, because most pages need none of them.
  private var names: Names {
    found.withLock { found in
      if let found { return found }
      var names = Names()
      for kiosk in fleet.kiosks where isIncluded(kiosk) {
        func isFirst(_ known: KioskID?) -> Bool { known.map { kiosk.id < $0 } ?? true }
        // The file also has the juices that are not sold now.
        for menu in [kiosk.menu?.menu, kiosk.baseMenu?.menu].compactMap(\.self) {
          for juice in menu.juices where isFirst(names.juices[juice.id]?.kiosk) {
            names.juices[juice.id] = (kiosk.id, juice.name)
          }
          for fruit in menu.fruits where isFirst(names.fruits[fruit.id]?.kiosk) {
            names.fruits[fruit.id] = (kiosk.id, fruit.name)
          }
        }
      }
      found = names
      return names
    }
  }
}
