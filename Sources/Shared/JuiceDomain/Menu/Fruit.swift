/// A kind of fruit that a kiosk keeps in stock.
package struct Fruit: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Fruit>

  package let id: ID
  package let name: LocalizedName
  /// The number of pieces in a crate, at least 1, or `nil` if the fruit is bought by the piece.
  package let crate: Int?
  /// The number of hours after a restock in which the fruit may be sold, or `nil` if there is no
  /// limit.
  package let keepsHours: Int?
  /// The purchase price of one piece, for the cost of removed fruit; or `nil` if it is not known.
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
  /// The valid numbers of hours of `keepsHours`: up to a year.
  package static let keeps = 1...8_760
}
