package import JuiceDomain

/// A kiosk of the chain, as the list has it.
package struct ListedKiosk: Sendable, Equatable {
  package var id: KioskID
  package var region: String
  package var name: String?
  package var place: String?

  package init(id: KioskID, region: String, name: String? = nil, place: String? = nil) {
    self.id = id
    self.region = region
    self.name = name
    self.place = place
  }
}
