package import JuiceDomain
package import Yams

/// A single value of a configuration file or an environment variable, as written.
package struct Scalar {
  /// The type that YAML assigns to the text, which its author may not expect: `no` is a Boolean,
  /// `0755` an octal number, `2026-11-21` a date.
  package enum Kind {
    case text
    case number
    /// One of `yes`, `no`, `on`, `off`, `true`, `false`, also as `Yes` or `YES`.
    case boolean
    case date
    /// An absent value, as in `port:` or `port: null`.
    case null
    /// The value of an environment variable, which can be of any kind.
    case untyped
    /// A value with an explicit tag (`!name`), which is not supported.
    case tagged
  }

  package let text: String
  package let kind: Kind
  /// The folder where relative paths start; empty for the folder where the program was started.
  package let folder: String

  package init(variable text: String) {
    self.text = text
    self.kind = .untyped
    self.folder = ""
  }

  package init(_ scalar: Node.Scalar, folder: String) {
    self.text = scalar.string
    self.folder = folder
    self.kind =
      switch Node.scalar(scalar).tag {
      case Tag(.str), Tag(.merge), Tag(.value): .text
      case Tag(.int), Tag(.float): .number
      case Tag(.bool): .boolean
      case Tag(.timestamp): .date
      case Tag(.null): .null
      default: .tagged
      }
  }

  /// Returns the text, or throws an error if YAML treats it as another type.
  package func string() throws(Diagnostic) -> String {
    let meaning: String
    switch kind {
    case .text, .untyped: return text
    case .number: meaning = "a number"
    case .boolean: meaning = "true or false"
    case .date: meaning = "a date"
    case .null: meaning = "no value"
    case .tagged: throw Diagnostic("a tag ('!...') is not supported", hint: "leave it out")
    }
    throw Diagnostic(
      "must be text, but YAML reads \(text.quoted) as \(meaning)",
      hint: "put it in quotes: \"\(text.printable)\"")
  }

  /// Returns the Boolean `true` or `false`. YAML's other spellings (`on`, `yes`) are errors,
  /// because they differ between versions of YAML.
  package func boolean() throws(Diagnostic) -> Bool {
    switch (kind, text) {
    case (.boolean, "true"), (.untyped, "true"): return true
    case (.boolean, "false"), (.untyped, "false"): return false
    default:
      let isQuoted = kind == .text && (text == "true" || text == "false")
      throw Diagnostic(
        "must be true or false, not \(isQuoted ? "text" : text.quoted)",
        hint: isQuoted ? "remove the quotes" : nil)
    }
  }

  /// Returns the amount of money, written as digits with an optional point and decimals.
  ///
  /// - Parameter limit: Maximum amount in the currency's main unit.
  package func money(in currency: Currency, upTo limit: Int) throws(Diagnostic) -> Money {
    let decimals =
      currency.decimals == 0 ? "without decimals" : "with at most \(currency.decimals) decimals"
    let expected = "must be an amount of \(currency.code) from 0 to \(limit) \(decimals)"
    let isPlain = text.wholeMatch(of: /(0|[1-9][0-9]*)(\.[0-9]+)?/) != nil
    guard kind == .number || kind == .untyped else {
      let isComma = text.wholeMatch(of: /[0-9]+,[0-9]+/) != nil
      throw Diagnostic(
        "\(expected), not text",
        hint: isPlain && kind == .text
          ? "remove the quotes" : isComma ? "write a point instead of the decimal comma" : nil)
    }
    guard isPlain, let money = Money(text, currency), let most = Money("\(limit)", currency),
      money.units <= most.units
    else { throw Diagnostic("\(expected), not \(text.quoted)") }
    return money
  }

  /// Returns the integer, written as decimal digits (`1`, also `1.0`), if it is in the range.
  package func integer(in range: ClosedRange<Int>) throws(Diagnostic) -> Int {
    let expected = "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
    let isPlain = text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.0+)?/) != nil
    guard kind == .number || kind == .untyped else {
      throw Diagnostic(
        "\(expected), not text", hint: kind == .text && isPlain ? "remove the quotes" : nil)
    }
    guard isPlain else {
      let isOctal = text.wholeMatch(of: /0[0-9]+/) != nil
      throw Diagnostic(
        "\(expected), not \(text.quoted)",
        hint: isOctal ? "leave out the leading zero, YAML reads it as octal" : nil)
    }
    guard let number = Int(text.prefix { $0 != "." }), range.contains(number) else {
      throw Diagnostic("\(expected), not \(text.printable)")
    }
    return number
  }
}
