import KioskProtocol

/// A problem in a configuration file, without its place.
package struct Diagnostic: Error {
  package let problem: String
  package var hint: String?

  package init(_ problem: String, hint: String? = nil) {
    self.problem = problem
    self.hint = hint
  }
}

extension StringProtocol {
  /// The text for use in a message: quoted, on one line, truncated after 40 Unicode scalars.
  package var quoted: String { "'\(printable)'" }

  /// The text with `?` for each invisible character, truncated after 40 Unicode scalars.
  package var printable: String {
    let shown = unicodeScalars.prefix(40).map { $0.isInvisible ? "?" : String($0) }.joined()
    return unicodeScalars.count > 40 ? shown + "…" : shown
  }
}
