/// A kind of fruit that a kiosk keeps in stock.
package struct Fruit: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Fruit>

  package let id: ID
  package let name: LocalizedName
  /// The number of pieces in a crate, at least 1, or `nil` if the fruit is bought by the piece.
  package let crate: Int?
  /// The hours after a restock in which the fruit may be sold, or `nil` for any time.
  package let keepsHours: Int?
  /// The price of one piece, of what is thrown away; or `nil` if it is not known.
  package let cost: Money?

  package init(
    id: ID, name: LocalizedName, crate: Int? = nil, keepsHours: Int? = nil, cost: Money? = nil
  ) {
    self.id = id
    self.name = name
    self.crate = crate
    self.keepsHours = keepsHours
    self.cost = cost
  }

  package static let crates = 1...10_000
  /// Up to a year.
  package static let keeps = 1...8_760
}
