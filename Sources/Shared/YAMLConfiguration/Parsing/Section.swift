package import Yams

/// A mapping of the file that is being read. A key that was asked for is known; each other key is reported.
///
/// A value that is wrong is reported and then counts as absent, so that one reading finds all errors.
package struct Section {
  package typealias Place = ConfigurationError.Place

  private struct Entry {
    let place: Place
    let node: Node
  }

  package static let unknownKey = "there is no such key"

  /// Nobody sells so many juices, and so many are still read quickly.
  private static let maximumKeys = 1_000
  private static let maximumElements = 10_000

  package let collector: DiagnosticCollector
  /// In the order of the file.
  package private(set) var keys: [String] = []
  private let path: [String]
  private let place: Place
  /// Whether environment variables override the keys.
  private let hasVariables: Bool
  /// The complaint about a key that nobody asks for.
  private let unknown: String
  private var entries: [String: Entry] = [:]
  private var known: [String] = []

  /// - Parameter node: `nil` if the file does not have the section.
  package init(
    _ node: Node?, path: [String] = [], at place: Place, hasVariables: Bool = true,
    unknown: String = Self.unknownKey, collector: DiagnosticCollector
  ) {
    self.collector = collector
    self.path = path
    self.place = place
    self.hasVariables = hasVariables
    self.unknown = unknown
    switch node {
    case .mapping(let mapping) where mapping.count > Self.maximumKeys:
      let diagnostic = Diagnostic("holds more than \(Self.maximumKeys) keys")
      collector.report(diagnostic, at: place, path: path)
    case .mapping(let mapping):
      for (key, value) in mapping { add(key, value) }
    case .scalar(let scalar) where Scalar(scalar, folder: "").kind == .null:
      // Its keys may all be commented out.
      break
    case nil:
      break
    default:
      let diagnostic = Diagnostic("must hold keys, each on a line of its own like 'key: value'")
      collector.report(diagnostic, at: place, path: path)
    }
  }

  private mutating func add(_ node: Node, _ value: Node) {
    let place = collector.place(of: node) ?? place
    guard let key = node.scalar?.string else {
      return collector.report(Diagnostic("a key must be a word"), at: place, path: path)
    }
    // Yams has found most duplicates, but to it 5 and "5" are two keys.
    if entries[key] != nil {
      collector.report(.duplicateKey(key), at: place, path: path + [key])
    } else {
      keys.append(key)
    }
    entries[key] = Entry(place: place, node: value)
  }

  /// Reads a key into `value`, which stays as it is where the key is absent or wrong.
  package mutating func read<Value>(_ key: String, _ format: Format<Value>, into value: inout Value)
  {
    if let read = read(key, format) { value = read }
  }

  /// Likewise, for a value that may be absent.
  package mutating func read<Value>(
    _ key: String, _ format: Format<Value>, into value: inout Value?
  ) {
    if let read = read(key, format) { value = read }
  }

  /// `nil` if the key is absent or wrong.
  package mutating func read<Value>(_ key: String, _ format: Format<Value>) -> Value? {
    known.append(key)
    if hasVariables { collector.addSetting(path + [key]) }
    do throws(Diagnostic) {
      return try scalar(key).map { scalar throws(Diagnostic) in try format.read(scalar) }
    } catch {
      report(error, at: key)
      return nil
    }
  }

  private func variable(_ key: String) -> (name: String, value: String)? {
    hasVariables ? collector.variable(for: path + [key]) : nil
  }

  private func scalar(_ key: String) throws(Diagnostic) -> Scalar? {
    if let variable = variable(key) {
      guard !variable.value.isEmpty else { throw Diagnostic("is empty", hint: "unset it") }
      return Scalar(variable: variable.value)
    }
    guard let node = entries[key]?.node else { return nil }
    guard case .scalar(let scalar) = node else {
      throw Diagnostic("must be a single value, not a list or keys of its own")
    }
    let value = Scalar(scalar, folder: collector.folder)
    guard value.kind != .null else {
      throw Diagnostic("has no value", hint: "write one, or leave the line out")
    }
    return value
  }

  /// Reads a section inside this one; one that is absent is empty.
  ///
  /// - Parameters:
  ///   - hasVariables: whether environment variables override its keys. They do not where the owner
  ///     of the kiosk chooses the keys.
  ///   - unknown: the complaint about a key that nobody asks for.
  package mutating func section<Value>(
    _ key: String, hasVariables: Bool = true, unknown: String = Self.unknownKey,
    read: (inout Section) -> Value
  ) -> Value {
    known.append(key)
    var section = Section(
      entries[key]?.node, path: path + [key], at: place(of: key),
      hasVariables: self.hasVariables && hasVariables, unknown: unknown, collector: collector)
    let value = read(&section)
    section.reportUnknownKeys()
    return value
  }

  /// Reads a section that may be left out; `nil` if the file and the environment have nothing of it.
  package mutating func optional<Value>(_ key: String, read: (inout Section) -> Value?) -> Value? {
    guard has(key) else {
      known.append(key)
      return nil
    }
    return section(key, read: read)
  }

  /// Reads a list of sections; one that is absent is empty. No variable overrides what is in it.
  package mutating func list(_ key: String, read: (inout Section) -> Void) {
    known.append(key)
    guard let node = entries[key]?.node else { return }
    guard case .sequence(let elements) = node, elements.count <= Self.maximumElements else {
      if case .scalar(let scalar) = node, Scalar(scalar, folder: "").kind == .null { return }
      return report(
        Diagnostic("must be a list of at most \(Self.maximumElements), each starting with '- '"),
        at: key)
    }
    for (index, element) in elements.enumerated() {
      var section = Section(
        element, path: path + [key, String(index + 1)],
        at: collector.place(of: element) ?? place(of: key), hasVariables: false,
        collector: collector)
      guard element.mapping != nil else { continue }
      read(&section)
      section.reportUnknownKeys()
    }
  }

  /// Reads a list of single values; `nil` if it is absent or wrong.
  package mutating func list<Value>(_ key: String, of format: Format<Value>) -> [Value]? {
    known.append(key)
    guard let node = entries[key]?.node else { return nil }
    guard case .sequence(let elements) = node, elements.count <= Self.maximumElements else {
      report(
        Diagnostic("must be a list", hint: "write it like '[a, b]'"), at: key)
      return nil
    }
    return elements.compactMap { element in
      do throws(Diagnostic) {
        guard case .scalar(let scalar) = element else {
          throw Diagnostic("must be a list of single values")
        }
        return try format.read(Scalar(scalar, folder: collector.folder))
      } catch {
        report(error, at: key)
        return nil
      }
    }
  }

  /// Reads a key that must be there; `nil`, and a report, if it is not.
  package mutating func require<Value>(_ key: String, _ format: Format<Value>) -> Value? {
    let value = read(key, format)
    if value == nil, !has(key) { report(Diagnostic("is missing"), at: key) }
    return value
  }

  /// Whether the file, or the environment, has the key or anything below it.
  package func has(_ key: String) -> Bool {
    entries[key] != nil || variable(key) != nil || collector.hasVariables(below: path + [key])
  }

  /// Whether the key has keys of its own, which no variable overrides.
  package func isSection(_ key: String) -> Bool {
    entries[key]?.node.mapping != nil && variable(key) == nil
  }

  /// Where the key is; if it is absent, where its section is.
  package func place(of key: String) -> Place {
    if let variable = variable(key) {
      return .variable(variable.name)
    }
    return entries[key]?.place ?? place
  }

  /// Reports what is wrong with the value of a key, or that one is missing.
  package func report(_ diagnostic: Diagnostic, at key: String) {
    collector.report(diagnostic, at: place(of: key), path: path + [key])
  }

  /// Reports a key that is there without the other one.
  package func reportUnlessBoth(_ first: String, _ second: String) {
    for (one, other) in [(first, second), (second, first)] where has(one) && !has(other) {
      report(Diagnostic("works only together with '\(other)'", hint: "add it"), at: one)
    }
  }

  /// Reports what is wrong with the section as a whole.
  package func report(_ diagnostic: Diagnostic) {
    collector.report(diagnostic, at: place, path: path)
  }

  /// Reports every key that was not asked for. To be called when the section is read.
  package func reportUnknownKeys() {
    for key in keys where !known.contains(key) {
      report(Diagnostic(unknown, hint: Suggestion.hint(for: key, among: known)), at: key)
    }
  }
}

extension Diagnostic {
  package static func duplicateKey(_ key: String) -> Diagnostic {
    Diagnostic("\(key.quoted) is given twice", hint: "keep one of them")
  }
}

extension DiagnosticCollector {
  package func place(of node: Node) -> ConfigurationError.Place? {
    node.mark.map { .line($0.line, column: $0.column, file: file) }
  }
}
