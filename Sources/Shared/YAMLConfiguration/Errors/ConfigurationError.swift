/// One thing that is wrong with a configuration: where, what, and what to do.
package struct ConfigurationError: Error, Hashable {
  /// Where to look for it.
  package enum Place: Hashable, Sendable {
    /// The file as a whole.
    case file(String)
    /// A place in the file; line and column count from 1, columns in Unicode scalars.
    case line(Int, column: Int, file: String)
    /// An environment variable.
    case variable(String)
  }

  package let place: Place
  /// Which key, from the top: `broker.port`; empty if the error is about no single key.
  package let path: String
  package let problem: String
  package let hint: String?

  /// - Parameter path: from the top; empty if the error is about no single key.
  package init(_ diagnostic: Diagnostic, at place: Place, path: [String]) {
    self.place = place
    self.path = path.map(\.printable).joined(separator: ".")
    problem = diagnostic.problem
    hint = diagnostic.hint
  }
}

extension ConfigurationError: CustomStringConvertible {
  /// One line: `kiosk.yaml:7:9: broker.prot: there is no such key; did you mean 'port'?`
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
  /// The order in which an owner mends errors: the file from top to bottom, then the environment.
  package static func < (left: Self, right: Self) -> Bool { left.order < right.order }

  private var order: (Int, Int, Int, String) {
    switch self {
    case .file: (0, 0, 0, "")
    case .line(let line, let column, _): (1, line, column, "")
    case .variable(let name): (2, 0, 0, name)
    }
  }
}

/// Everything that is wrong with a configuration, so that it can be mended in one go.
package struct ConfigurationErrors: Error, Hashable {
  /// At least one, in the order of the file, the environment last.
  package let errors: [ConfigurationError]

  package init(_ errors: [ConfigurationError]) { self.errors = errors }
}

extension ConfigurationErrors: CustomStringConvertible {
  /// One line for each.
  package var description: String { errors.map(\.description).joined(separator: "\n") }
}
