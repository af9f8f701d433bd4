import Yams

/// Keys that once had another name, which goes on working, with a warning.
///
/// A list is gone through element by element: `panels.debounce` is that of each panel.
struct Renames: Sendable {
  struct Rename: Sendable {
    let old: [String]
    let new: [String]

    /// - Parameters: from the top, with dots: `orders.max_age`, `orders.max_age_seconds`.
    init(_ old: String, to new: String) {
      (self.old, self.new) = (
        old.split(separator: ".").map(String.init), new.split(separator: ".").map(String.init)
      )
    }
  }

  /// Every rename since the first release; none goes.
  static let all: [Rename] = []

  /// The document with the keys as they are called now.
  static func apply(_ renames: [Rename], to root: Node, _ reading: Reading) -> Node {
    renames.reduce(root) { node, rename in
      node.renaming(rename.old[...], to: rename.new[...]) { key, isTwice in
        report(rename, at: reading.place(of: key) ?? .file(reading.file), isTwice, reading)
      }
    }
  }

  /// The variables with the names that they have now.
  static func apply(
    _ renames: [Rename], to environment: [String: String], _ reading: Reading
  ) -> [String: String] {
    renames.reduce(into: environment) { environment, rename in
      let (old, new) = (Reading.variableName(rename.old), Reading.variableName(rename.new))
      guard let value = environment.removeValue(forKey: old) else { return }
      report(rename, at: .variable(old), environment[new] != nil, reading)
      environment[new] = environment[new] ?? value
    }
  }

  private static func report(
    _ rename: Rename, at place: ConfigurationError.Place, _ isTwice: Bool, _ reading: Reading
  ) {
    let new = rename.new.joined(separator: ".")
    if isTwice {
      let complaint = Complaint(
        "is the old name of \(new), which is given too", hint: "leave it out")
      reading.report(complaint, at: place, path: rename.old)
    } else {
      reading.warn(
        Complaint("is called \(new) now", hint: "rename it"), at: place, path: rename.old)
    }
  }
}

extension Node {
  fileprivate typealias Path = ArraySlice<String>

  /// - Parameter found: is told the key of what is renamed, and whether the new one is there as well.
  fileprivate func renaming(_ old: Path, to new: Path, found: (Node, Bool) -> Void) -> Node {
    if case .sequence(var elements) = self {
      for index in elements.indices {
        elements[index] = elements[index].renaming(old, to: new, found: found)
      }
      return .sequence(elements)
    }
    guard case .mapping(let mapping) = self else { return self }
    if let section = old.first, old.count > 1, section == new.first {
      return mapping.replacing(section) { key, value in
        (key, value.renaming(old.dropFirst(), to: new.dropFirst(), found: found))
      }
    }
    var taken: (key: Node, value: Node)?
    let rest = taking(old) { taken = ($0, $1) }
    guard let taken else { return self }
    let isTwice = has(new)
    found(taken.key, isTwice)
    return isTwice ? rest : rest.adding(taken.value, under: taken.key, at: new)
  }

  private func has(_ path: Path) -> Bool {
    guard let key = path.first else { return true }
    guard case .mapping(let mapping) = self else { return false }
    return mapping.contains { $0.key.string == key && $0.value.has(path.dropFirst()) }
  }

  /// Without what is at a path, and without the section that is empty then.
  private func taking(_ path: Path, _ take: (Node, Node) -> Void) -> Node {
    guard case .mapping(let mapping) = self, let section = path.first else { return self }
    return mapping.replacing(section) { key, value in
      if path.count == 1 {
        take(key, value)
        return nil
      }
      let rest = value.taking(path.dropFirst(), take)
      return rest.mapping?.isEmpty == true && value.mapping?.isEmpty == false ? nil : (key, rest)
    }
  }

  /// - Parameter place: a node that stands where the new key is to be looked for.
  private func adding(_ value: Node, under place: Node, at path: Path) -> Node {
    guard case .mapping(let mapping) = self, let name = path.first else { return self }
    if path.count > 1, mapping.contains(where: { $0.key.string == name }) {
      return mapping.replacing(name) { key, section in
        (key, section.adding(value, under: place, at: path.dropFirst()))
      }
    }
    let key = Node.scalar(.init(name, .implicit, .any, place.mark))
    let inner =
      path.count == 1
      ? value : Node.mapping(.init([])).adding(value, under: place, at: path.dropFirst())
    return .mapping(
      .init(
        mapping.map { ($0.key, $0.value) } + [(key, inner)], mapping.tag, mapping.style,
        mapping.mark))
  }
}

extension Node.Mapping {
  /// - Parameter change: is given the pair with this key; `nil` leaves it out.
  fileprivate func replacing(_ key: String, _ change: (Node, Node) -> (Node, Node)?) -> Node {
    .mapping(
      Node.Mapping(
        compactMap { $0.key.string == key ? change($0.key, $0.value) : ($0.key, $0.value) },
        tag, style, mark))
  }
}
