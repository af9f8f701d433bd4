package import Yams

/// A mapping of the configuration file that is being read.
///
/// ```swift
/// root.section("broker") { broker in
///   broker.read("host", .host, into: &host)  // KIOSK_BROKER_HOST overrides it
///   broker.read("port", .integer(1...65535), into: &port)
/// }
/// root.reportUnknownKeys()
/// ```
///
/// | method | reads | result if the key is absent |
/// |---|---|---|
/// | `read(_:_:into:)` | a value | `value` stays unchanged |
/// | `read(_:_:)` | a value | `nil` |
/// | `require(_:_:)` | a value | `nil`, and an error |
/// | `section(_:read:)` | a section | an empty section |
/// | `optional(_:read:)` | a section | `nil` |
/// | `list(_:read:)` | a list of sections | no call of `read` |
/// | `list(_:of:)` | a list of values | `nil` |
///
/// Each call registers its key as known; `reportUnknownKeys` reports all other keys. The section
/// reports an invalid value and then treats it as absent, so that one pass finds all errors.
package struct Section {
  package typealias Place = ConfigurationError.Place

  private struct Entry {
    let place: Place
    let node: Node
  }

  package static let unknownKey = "there is no such key"

  /// Maximum number of keys in a section, which bounds the time to read it. The section `juices` has
  /// one key for each juice, and no kiosk sells more than 1,000 juices.
  private static let maximumKeys = 1_000
  private static let maximumElements = 10_000

  package let collector: DiagnosticCollector
  /// The keys in the order of the file.
  package private(set) var keys: [String] = []
  private let path: [String]
  private let place: Place
  /// Whether environment variables override the keys.
  private let hasVariables: Bool
  /// The problem to report for an unknown key.
  private let unknown: String
  private var entries: [String: Entry] = [:]
  private var known: [String] = []

  /// Creates a section from a node of the file.
  ///
  /// - Parameter node: The mapping, or `nil` if the file does not contain the section.
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
      // All keys of the section may be commented out.
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
    // Yams reports most duplicates, but treats 5 and "5" as different keys.
    if entries[key] != nil {
      collector.report(.duplicateKey(key), at: place, path: path + [key])
    } else {
      keys.append(key)
    }
    entries[key] = Entry(place: place, node: value)
  }

  /// Reads a key into `value`, which stays unchanged if the key is absent or invalid.
  package mutating func read<Value>(_ key: String, _ format: Format<Value>, into value: inout Value)
  {
    if let read = read(key, format) { value = read }
  }

  /// Reads a key into an optional `value`, which stays unchanged if the key is absent or invalid.
  package mutating func read<Value>(
    _ key: String, _ format: Format<Value>, into value: inout Value?
  ) {
    if let read = read(key, format) { value = read }
  }

  /// Reads a key.
  ///
  /// - Returns: The value, or `nil` if the key is absent or invalid.
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

  /// Reads a nested section; an absent section is empty.
  ///
  /// - Parameters:
  ///   - hasVariables: Whether environment variables override its keys; `false` if the kiosk owner
  ///     chooses the keys.
  ///   - unknown: The problem to report for an unknown key.
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

  /// Reads an optional section.
  ///
  /// - Returns: The result of `read`, or `nil` if neither the file nor the environment contains the
  ///   section.
  package mutating func optional<Value>(_ key: String, read: (inout Section) -> Value?) -> Value? {
    guard has(key) else {
      known.append(key)
      return nil
    }
    return section(key, read: read)
  }

  /// Reads a list of sections; an absent list is empty. No variables override the sections' keys.
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

  /// Reads a list of single values.
  ///
  /// - Returns: The valid values, or `nil` if the key has no list, or a list that is too long.
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

  /// Reads a required key. Reports an error and returns `nil` if the key is absent or invalid.
  package mutating func require<Value>(_ key: String, _ format: Format<Value>) -> Value? {
    let value = read(key, format)
    if value == nil, !has(key) { report(Diagnostic("is missing"), at: key) }
    return value
  }

  /// Returns whether the file or the environment contains the key or any key below it.
  package func has(_ key: String) -> Bool {
    entries[key] != nil || variable(key) != nil || collector.hasVariables(below: path + [key])
  }

  /// Returns whether the key contains a mapping that no variable overrides.
  package func isSection(_ key: String) -> Bool {
    entries[key]?.node.mapping != nil && variable(key) == nil
  }

  /// Returns the place of the variable that overrides the key, of the key, or else of the section.
  package func place(of key: String) -> Place {
    if let variable = variable(key) {
      return .variable(variable.name)
    }
    return entries[key]?.place ?? place
  }

  /// Reports a problem with the value of a key, or an absent key.
  package func report(_ diagnostic: Diagnostic, at key: String) {
    collector.report(diagnostic, at: place(of: key), path: path + [key])
  }

  /// Reports an error if only one of the two keys is present.
  package func reportUnlessBoth(_ first: String, _ second: String) {
    for (one, other) in [(first, second), (second, first)] where has(one) && !has(other) {
      report(Diagnostic("works only together with '\(other)'", hint: "add it"), at: one)
    }
  }

  /// Reports a problem with the section as a whole.
  package func report(_ diagnostic: Diagnostic) {
    collector.report(diagnostic, at: place, path: path)
  }

  /// Reports every unknown key. The caller reads all keys of the section first.
  package func reportUnknownKeys() {
    for (index, key) in keys.enumerated() where !known.contains(key) {
      let hint = decimalCommaHint(at: index) ?? Suggestion.hint(for: key, among: known)
      report(Diagnostic(unknown, hint: hint), at: key)
    }
  }

  /// Returns a hint if the key may result from a decimal comma: `{price: 3,50}` is `price: 3` and a
  /// key `50` without a value.
  private func decimalCommaHint(at index: Int) -> String? {
    func kind(_ key: String) -> Scalar.Kind? {
      entries[key]?.node.scalar.map { Scalar($0, folder: "").kind }
    }
    guard index > 0, kind(keys[index]) == .null, kind(keys[index - 1]) == .number,
      keys[index].utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      let whole = entries[keys[index - 1]]?.node.scalar?.string
    else { return nil }
    let number = "\(whole.printable).\(keys[index].printable)"
    return "is the comma in \(keys[index - 1].quoted) a decimal comma? write a point: \(number)"
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
