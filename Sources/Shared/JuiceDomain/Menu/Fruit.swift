/// A kind of fruit that a kiosk keeps in stock.
package struct Fruit: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Fruit>

  package let id: ID
  package let name: LocalizedName
  /// The number of pieces in a crate, at least 1, or `nil` if the fruit is bought by the piece.
  package let crate: Int?

  package init(id: ID, name: LocalizedName, crate: Int? = nil) {
    self.id = id
    self.name = name
    self.crate = crate
  }

  package static let crates = 1...10_000
}
