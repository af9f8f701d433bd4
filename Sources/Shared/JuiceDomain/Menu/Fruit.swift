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
  /// The color of the fruit in pictures, or `nil` for the color of a built-in fruit or one derived
  /// from the id.
  package let color: Color?

  package init(
    id: ID, name: LocalizedName, crate: Int? = nil, keepsHours: Int? = nil, cost: Money? = nil,
    color: Color? = nil
  ) {
    self.id = id
    self.name = name
    self.crate = crate
    self.keepsHours = keepsHours
    self.cost = cost
    self.color = color
  }

  /// A color such as `#ff922b`.
  package struct Color: Hashable, Sendable, LosslessStringConvertible {
    /// `#` and six hexadecimal digits in lower case.
    package let description: String

    package init?(_ text: String) {
      let digits = text.utf8.dropFirst()
      guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6,
        digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
      else { return nil }
      description = text.lowercased()
    }
  }

  /// The id that no fruit may have, because the configuration uses it for all other fruits.
  package static let reservedID: ID = "default"
  /// The capacity and the low mark of a fruit for which none are configured.
  package static let (standardCapacity, standardLowMark) = (100, 5)
  package static let crates = 1...10_000
  /// The valid numbers of hours of `keepsHours`: up to a year.
  package static let keeps = 1...8_760
}
