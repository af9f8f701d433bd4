package import JuiceDomain

/// A kiosk in the list of the chain.
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
