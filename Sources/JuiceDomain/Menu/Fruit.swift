/// A kind of fruit that a kiosk keeps in stock.
package struct Fruit: Hashable, Sendable, Identifiable {
  package typealias ID = Identifier<Fruit>

  package let id: ID
  package let name: LocalizedName

  package init(id: ID, name: LocalizedName) {
    self.id = id
    self.name = name
  }
}
