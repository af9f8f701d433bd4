package import JuiceDomain
package import KioskProtocol

/// A text with placeholders for the state of the kiosk or the result of an order: `Kiwi {stock.kiwi}`.
///
/// Only a lower-case word in braces, with or without an id, is a placeholder, so JSON needs no
/// escapes. In a template that is a JSON object or array, values within strings are escaped.
package struct Template: Hashable, Sendable {
  package let parts: [Part]
  private let isJSON: Bool

  package enum Part: Hashable, Sendable {
    case text(String)
    case placeholder(Placeholder)
  }

  package enum Placeholder: Hashable, Sendable {
    case stock(Fruit.ID)
    case alert(Fruit.ID)
    case servings(Juice.ID)
    case price(Juice.ID)
    /// The text for the customer at a payment device.
    case payment(PaymentDeviceID)
    case kioskStatus
    /// Values from the result of an order.
    case juice, quantity, ticket, message
  }

  /// Parses the text of a template.
  ///
  /// - Throws: `TemplateError` if a placeholder is unknown.
  package init(_ text: some StringProtocol) throws(TemplateError) {
    var parts: [Part] = []
    let pieces = Substring(text).split(separator: "{", omittingEmptySubsequences: false)
    var literal = String(pieces[0])
    for piece in pieces.dropFirst() {
      let name = piece.prefix { $0 != "}" }
      guard name.endIndex < piece.endIndex, Placeholder.isName(name) else {
        literal += "{\(piece)"
        continue
      }
      guard let placeholder = Placeholder(name) else {
        throw TemplateError(placeholder: "{\(name)}")
      }
      if !literal.isEmpty { parts.append(.text(literal)) }
      parts.append(.placeholder(placeholder))
      literal = String(piece[name.endIndex...].dropFirst())
    }
    if !literal.isEmpty { parts.append(.text(literal)) }
    self.parts = parts
    let sample = parts.map(\.sample).joined()
    isJSON =
      switch try? JSON.parse(Array(sample.utf8)) {
      case .object, .array: true
      default: false
      }
  }

  package var placeholders: [Placeholder] {
    parts.compactMap { if case .placeholder(let placeholder) = $0 { placeholder } else { nil } }
  }

  /// Replaces the placeholders.
  ///
  /// - Parameter value: Returns the text for a placeholder, or `nil` to insert nothing (`null`
  ///   where JSON needs a value).
  package func fill(_ value: (Placeholder) -> String?) -> String {
    var isInString = false
    return parts.map { part in
      switch part {
      case .text(let text):
        isInString = isInString != text.togglesString
        return text
      case .placeholder(let placeholder):
        guard isJSON else { return value(placeholder) ?? "" }
        guard isInString else { return value(placeholder) ?? "null" }
        return JSONWriter.escape(value(placeholder) ?? "")
      }
    }.joined()
  }
}

extension Template.Part {
  /// The text of the part, or an example of a value of its placeholder.
  fileprivate var sample: String {
    switch self {
    case .text(let text): text
    case .placeholder(.stock), .placeholder(.servings), .placeholder(.quantity),
      .placeholder(.ticket):
      "0"
    case .placeholder(.alert), .placeholder(.kioskStatus), .placeholder(.juice),
      .placeholder(.price), .placeholder(.payment), .placeholder(.message):
      "x"
    }
  }
}

extension String {
  /// Whether the text has an odd number of unescaped quotes, so that a JSON string begins or ends.
  fileprivate var togglesString: Bool {
    var (toggles, isEscaped) = (false, false)
    for byte in utf8 {
      if byte == UInt8(ascii: "\""), !isEscaped { toggles.toggle() }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
    return toggles
  }
}

/// An unknown placeholder.
package struct TemplateError: Error, Hashable, Sendable {
  /// The placeholder with its braces.
  package let placeholder: String
}

extension Template.Placeholder {
  /// Returns whether a text in braces has the form of a placeholder: `juice`, `stock.kiwi`. The
  /// template keeps any other text as it is.
  fileprivate static func isName(_ text: Substring) -> Bool {
    let words = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    return words.allSatisfy { !$0.isEmpty }
      && words[0].allSatisfy { $0.isASCII && $0.isLowercase || $0 == "_" }
      && words.dropFirst().allSatisfy { id in
        id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" || $0 == "-" }
      }
  }

  fileprivate init?(_ name: Substring) {
    let words = name.split(separator: ".", maxSplits: 1)
    let id = words.count == 2 ? words[1] : ""
    switch words[0] {
    case "stock": if let fruit = Fruit.ID(id) { self = .stock(fruit) } else { return nil }
    case "alert": if let fruit = Fruit.ID(id) { self = .alert(fruit) } else { return nil }
    case "servings": if let juice = Juice.ID(id) { self = .servings(juice) } else { return nil }
    case "price": if let juice = Juice.ID(id) { self = .price(juice) } else { return nil }
    case "payment":
      if let device = PaymentDeviceID(id) { self = .payment(device) } else { return nil }
    case "kiosk" where id == "status": self = .kioskStatus
    case "juice" where id.isEmpty: self = .juice
    case "quantity" where id.isEmpty: self = .quantity
    case "ticket" where id.isEmpty: self = .ticket
    case "message" where id.isEmpty: self = .message
    default: return nil
    }
  }
}
