import JuiceDomain
package import Yams

/// A YAML file as Yams composes it.
package struct Document {
  /// In bytes. A configuration with a thousand panels has a tenth of this.
  package static let maximumSize = 1 << 20

  /// `nil` for an empty file.
  package let root: Node?

  /// - Returns: `nil`, and reports it, if the text is not YAML.
  package static func compose(_ yaml: String, collector: DiagnosticCollector) -> Document? {
    func fail(_ diagnostic: Diagnostic, _ mark: Mark?) -> Document? {
      let place = mark.map {
        ConfigurationError.Place.line($0.line, column: $0.column, file: collector.file)
      }
      collector.report(diagnostic, at: place ?? .file(collector.file))
      return nil
    }
    guard yaml.utf8.count <= maximumSize else {
      return fail(Diagnostic("is larger than \(maximumSize) bytes"), nil)
    }
    guard aliases(in: yaml) <= maximumAliases else {
      let diagnostic = Diagnostic(
        "more than \(maximumAliases) aliases (*name) are not read", hint: "write the values out")
      return fail(diagnostic, nil)
    }
    do {
      return Document(root: try Parser(yaml: yaml, encoding: .utf8).singleRoot())
    } catch let error as YamlError {
      switch error {
      case .scanner(let context, let problem, let mark, _),
        .parser(let context, let problem, let mark, _),
        .composer(let context, let problem, let mark, _):
        let problem = [context?.text, problem].compactMap(\.self).joined(separator: ", ")
        return fail(Diagnostic("this is not YAML: \(problem)", hint: Self.hint(problem)), mark)
      case .duplicatedKeysInMapping(let keys, let context):
        for key in keys { _ = fail(.duplicateKey(key), context.mark) }
        return nil
      case .reader(let problem, _, _, _):
        return fail(Diagnostic("this is not YAML: \(problem)"), nil)
      default:
        return fail(Diagnostic("this is not YAML"), nil)
      }
    } catch {
      return fail(Diagnostic("cannot be read as YAML"), nil)
    }
  }

  private static func hint(_ problem: String) -> String? {
    problem.contains("cannot start any token") ? "indent with spaces, not with tabs" : nil
  }

  /// Yams compares the keys of a mapping when it composes one, and a key that is an alias of a list
  /// of aliases of lists, and so on, takes forever to compare. Eight aliases multiply a file by 20 at most.
  private static let maximumAliases = 8

  /// How many aliases (`*name`) the text has; stars in texts are counted, too.
  private static func aliases(in yaml: String) -> Int {
    var count = 0
    for line in yaml.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      guard line.first(where: { $0 != 0x20 && $0 != 0x09 }) != UInt8(ascii: "#") else { continue }
      for (star, next) in zip(line, line.dropFirst())
      where star == UInt8(ascii: "*") && next.isIdentifierCharacter {
        count += 1
      }
    }
    return count
  }
}

extension Document {
  /// Stands in messages for the path of a file where there is none.
  package static let defaults = "(defaults)"

  /// The text of a configuration file; empty without a path.
  package static func text(of path: String?) throws(ConfigurationErrors) -> String {
    guard let path else { return "" }
    do throws(Diagnostic) {
      return try TextFile.read(path, upTo: maximumSize)
    } catch {
      throw ConfigurationErrors(error, in: path, key: "")
    }
  }

  /// Lets `read` take what it knows, and throws everything that is wrong, unknown keys and variables too.
  package static func read(
    _ yaml: String, file: String, environment: [String: String],
    _ read: (inout Section) -> Void
  ) throws(ConfigurationErrors) {
    let collector = DiagnosticCollector(file: file, environment: environment)
    if let document = Document.compose(yaml, collector: collector) {
      var root = Section(document.root, at: .file(file), collector: collector)
      read(&root)
      root.reportUnknownKeys()
      collector.reportUnknownVariables()
    }
    guard collector.errors.isEmpty else {
      throw ConfigurationErrors(collector.errors.sorted { $0.place < $1.place })
    }
  }
}
