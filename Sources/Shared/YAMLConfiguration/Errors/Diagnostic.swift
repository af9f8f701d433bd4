/// What is wrong with a value, before it is known where the value stands.
package struct Diagnostic: Error {
  package let problem: String
  package var hint: String?

  package init(_ problem: String, hint: String? = nil) {
    self.problem = problem
    self.hint = hint
  }
}

extension StringProtocol {
  /// The text as it can be shown in a message: in quotes, on one line, not too long.
  package var quoted: String { "'\(printable)'" }

  /// On one line, without control characters, not too long.
  package var printable: String {
    let shown = unicodeScalars.prefix(40).map { $0.isInvisible ? "?" : String($0) }.joined()
    return unicodeScalars.count > 40 ? shown + "…" : shown
  }
}

extension Unicode.Scalar {
  /// A control or format character: nothing to see, but a terminal may obey it.
  package var isInvisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
