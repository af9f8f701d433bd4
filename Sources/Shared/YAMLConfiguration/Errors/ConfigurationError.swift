/// An error in a configuration: the place, the problem and a hint.
package struct ConfigurationError: Error, Hashable {
  /// The place of an error.
  package enum Place: Hashable, Sendable {
    /// The file as a whole.
    case file(String)
    /// A position in the file. Lines and columns count from 1, columns in Unicode scalars.
    case line(Int, column: Int, file: String)
    /// An environment variable.
    case variable(String)
  }

  package let place: Place
  /// The full path of the key, such as `broker.port`; empty if the error concerns no single key.
  package let path: String
  package let problem: String
  package let hint: String?

  /// Creates the error for a diagnostic.
  ///
  /// - Parameter path: The levels of the key's path; empty if the error concerns no single key.
  package init(_ diagnostic: Diagnostic, at place: Place, path: [String]) {
    self.place = place
    self.path = path.map(\.printable).joined(separator: ".")
    problem = diagnostic.problem
    hint = diagnostic.hint
  }
}

extension ConfigurationError: CustomStringConvertible {
  /// One line, such as `kiosk.yaml:7:9: broker.prot: there is no such key; did you mean 'port'?`
  package var description: String {
    let message = hint.map { "\(problem); \($0)" } ?? problem
    return ([place.description, path].filter { !$0.isEmpty } + [message]).joined(separator: ": ")
  }
}

extension ConfigurationError.Place: CustomStringConvertible {
  package var description: String {
    switch self {
    case .file(let file): file
    case .line(let line, let column, let file): "\(file):\(line):\(column)"
    case .variable(let name): name
    }
  }
}

extension ConfigurationError.Place: Comparable {
  /// Orders the file as a whole first, then positions in the file, then environment variables.
  package static func < (left: Self, right: Self) -> Bool { left.order < right.order }

  private var order: (Int, Int, Int, String) {
    switch self {
    case .file: (0, 0, 0, "")
    case .line(let line, let column, _): (1, line, column, "")
    case .variable(let name): (2, 0, 0, name)
    }
  }
}

/// All errors of a configuration.
package struct ConfigurationErrors: Error, Hashable {
  /// The errors in the order of the file, then those of the environment; never empty.
  package let errors: [ConfigurationError]

  package init(_ errors: [ConfigurationError]) { self.errors = errors }
}

extension ConfigurationErrors: CustomStringConvertible {
  /// One line per error.
  package var description: String { errors.map(\.description).joined(separator: "\n") }
}
