package import JuiceDomain

/// The reason why a fruit or a juice of a change is rejected: the member, and the rule that it breaks.
package struct MenuEntryFlaw: Error, Hashable, Sendable {
  package enum Field: Hashable, Sendable {
    case id, name, crate, keepsHours, color, recipe, picture
    case nameIn(Language)
    case allergens(Language)
    case note(Language)
    case amount(String)
    /// A member that has no meaning here.
    case other(String)
  }

  package enum Rule: Hashable, Sendable {
    case missing
    case notObject
    /// The id is not one of `Identifier`.
    case notIdentifier
    /// Another entry has this id.
    case duplicate
    /// `Fruit.reservedID`.
    case reserved
    case text(TextFlaw)
    case notText
    case notIn(ClosedRange<Int>)
    case notColor
    case notPicture
    case unknown
  }

  package let field: Field
  package let rule: Rule

  init(_ field: Field, _ rule: Rule) { (self.field, self.rule) = (field, rule) }
}

extension MenuEntryFlaw: CustomStringConvertible {
  /// The member and the rule: `recipe.kiwi must be a whole number from 1 to 1000000000`.
  package var description: String { "\(field) \(rule)" }
}

extension MenuEntryFlaw.Field: CustomStringConvertible {
  package var description: String {
    switch self {
    case .id: "id"
    case .name: "name"
    case .crate: "crate"
    case .keepsHours: "keeps_hours"
    case .color: "color"
    case .recipe: "recipe"
    case .picture: "picture"
    case .nameIn(let language): "name.\(language.rawValue)"
    case .allergens(let language): "allergens.\(language.rawValue)"
    case .note(let language): "note.\(language.rawValue)"
    case .amount(let fruit): "recipe.\(fruit)"
    case .other(let key): key
    }
  }
}

extension MenuEntryFlaw.Rule: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missing: "is missing"
    case .notObject: "is not an object"
    case .notIdentifier: "is not 1 to 64 of A-Z a-z 0-9 _ -"
    case .duplicate: "is used twice"
    case .reserved: "is reserved: the configuration uses it for all other fruits"
    case .text(let flaw): "\(flaw)"
    case .notText: "is not a text"
    case .notIn(let range):
      "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .notColor: "is not a color such as #ff922b"
    case .notPicture:
      "is not the name of a picture such as mango.svg; it may end in .svg, .png or .jpg"
    case .unknown: "is not allowed here"
    }
  }
}
