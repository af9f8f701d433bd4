/// What is wrong with a value, before it is known where the value stands.
struct Diagnostic: Error {
  let problem: String
  var hint: String?

  init(_ problem: String, hint: String? = nil) {
    self.problem = problem
    self.hint = hint
  }
}

extension StringProtocol {
  /// The text as it can be shown in a message: in quotes, on one line, not too long.
  var quoted: String { "'\(printable)'" }

  /// On one line, without control characters, not too long.
  var printable: String {
    let shown = unicodeScalars.prefix(40).map { $0.isControl ? "?" : String($0) }.joined()
    return unicodeScalars.count > 40 ? shown + "…" : shown
  }
}

extension Unicode.Scalar {
  /// A control or format character: nothing to see, but a terminal may obey it.
  var isControl: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
