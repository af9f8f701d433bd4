package import JuiceMaker

/// A text with gaps for what the kiosk knows: `Kiwi {stock.kiwi}`.
///
/// Only braces around a lower-case word are a gap, so that a JSON text needs no escapes.
package struct Template: Hashable, Sendable {
  package let parts: [Part]

  package enum Part: Hashable, Sendable {
    case text(String)
    case gap(Gap)
  }

  package enum Gap: Hashable, Sendable {
    case stock(Fruit.ID)
    case alert(Fruit.ID)
    case servings(Juice.ID)
    case kioskStatus
    /// Of an order's result.
    case juice, quantity, ticket, message
  }

  /// - Throws: `TemplateError` for a gap that nothing fills.
  package init(_ text: some StringProtocol) throws(TemplateError) {
    var parts: [Part] = []
    var rest = Substring(text)
    while let match = rest.firstMatch(of: /\{([a-z_]+(?:\.[A-Za-z0-9_-]+)?)\}/) {
      if match.range.lowerBound > rest.startIndex {
        parts.append(.text(String(rest[..<match.range.lowerBound])))
      }
      guard let gap = Gap(match.output.1) else {
        throw TemplateError(gap: String(match.output.0))
      }
      parts.append(.gap(gap))
      rest = rest[match.range.upperBound...]
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    self.parts = parts
  }

  package var gaps: [Gap] {
    parts.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
  }

  /// - Parameter value: of a gap; what is not known leaves it empty.
  package func fill(_ value: (Gap) -> String?) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .gap(let gap): value(gap) ?? ""
      }
    }.joined()
  }
}

/// A gap that nothing can fill.
package struct TemplateError: Error, Hashable, Sendable {
  /// With its braces.
  package let gap: String
}

extension Template.Gap {
  fileprivate init?(_ name: Substring) {
    let words = name.split(separator: ".", maxSplits: 1)
    let id = words.count == 2 ? words[1] : ""
    switch words[0] {
    case "stock": if let fruit = Fruit.ID(id) { self = .stock(fruit) } else { return nil }
    case "alert": if let fruit = Fruit.ID(id) { self = .alert(fruit) } else { return nil }
    case "servings": if let juice = Juice.ID(id) { self = .servings(juice) } else { return nil }
    case "kiosk" where id == "status": self = .kioskStatus
    case "juice" where id.isEmpty: self = .juice
    case "quantity" where id.isEmpty: self = .quantity
    case "ticket" where id.isEmpty: self = .ticket
    case "message" where id.isEmpty: self = .message
    default: return nil
    }
  }

  /// Whether only the result of an order fills it.
  package var isOfResult: Bool {
    switch self {
    case .juice, .quantity, .ticket, .message: true
    case .stock, .alert, .servings, .kioskStatus: false
    }
  }
}
