package import JuiceDomain
package import Yams

/// One value of a configuration as it was written, in the file or in an environment variable.
package struct Scalar {
  /// How YAML takes the text. The writer may not know it: `no` is false, `0755` is octal, `2026-11-21`
  /// is a date.
  package enum Kind {
    case text
    case number
    /// `yes`, `no`, `on`, `off`, `true`, `false`
    case boolean
    case date
    /// No value: `port:`
    case null
    /// The value of a variable, which can be any of these.
    case untyped
    /// A value with a tag of its own (`!name`), which means nothing here.
    case tagged
  }

  package let text: String
  package let kind: Kind
  /// Where relative paths start; empty: where the program was started.
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

  /// The text, if YAML reads it as text too.
  package func string() throws(Diagnostic) -> String {
    let meaning: String
    switch kind {
    case .text, .untyped: return text
    case .number: meaning = "a number"
    case .boolean: meaning = "true or false"
    case .date: meaning = "a date"
    case .null: meaning = "no value"
    case .tagged: throw Diagnostic("a tag ('!...') says nothing here", hint: "leave it out")
    }
    throw Diagnostic(
      "must be text, but YAML takes \(text.quoted) for \(meaning)",
      hint: "put it in quotes: \"\(text.printable)\"")
  }

  /// `true` or `false`, if it is written so. YAML has other words for them (`on`, `yes`), which differ from
  /// version to version.
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

  /// The amount of money, if it is written with digits, and a point before the decimals.
  ///
  /// - Parameter limit: the most, in the currency's main unit.
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
          ? "remove the quotes" : isComma ? "write a point for the comma" : nil)
    }
    guard isPlain, let money = Money(text, currency), let most = Money("\(limit)", currency),
      money.units <= most.units
    else { throw Diagnostic("\(expected), not \(text.quoted)") }
    return money
  }

  /// The number, if it is a whole one that is written with digits and in the range.
  package func integer(in range: ClosedRange<Int>) throws(Diagnostic) -> Int {
    let expected = "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
    let isPlain = text.wholeMatch(of: /-?(0|[1-9][0-9]*)/) != nil
    guard kind == .number || kind == .untyped else {
      throw Diagnostic(
        "\(expected), not text", hint: kind == .text && isPlain ? "remove the quotes" : nil)
    }
    guard isPlain else {
      let isOctal = text.wholeMatch(of: /0[0-9]+/) != nil
      throw Diagnostic(
        "\(expected), not \(text.quoted)",
        hint: isOctal ? "leave out the leading zero, YAML takes it for octal" : nil)
    }
    guard let number = Int(text), range.contains(number) else {
      throw Diagnostic("\(expected), not \(text.printable)")
    }
    return number
  }
}
