import JuiceDomain
package import Yams

/// A YAML document, composed by Yams.
package struct Document {
  /// Maximum size in bytes, ten times that of a configuration with a thousand panels.
  package static let maximumSize = 1 << 20

  /// The root node, or `nil` for an empty file.
  package let root: Node?

  /// Parses the text.
  ///
  /// - Returns: The document, or `nil`, after reporting an error, if the text is too large, has too
  ///   many aliases or is not valid YAML.
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
      let yaml = yaml.withoutByteOrderMark
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

  /// Maximum number of aliases. Yams compares the keys of a mapping, and comparing a key that is a
  /// nested list of aliases takes exponential time. Eight aliases enlarge a file by a factor of 2^8
  /// at most.
  private static let maximumAliases = 8

  /// The line breaks of YAML 1.1, each of which ends a comment for Yams.
  private static let lineBreaks: Set<Unicode.Scalar> = [
    "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}",
  ]

  /// Returns the number of aliases (`*name`) outside comment lines, including stars in values.
  private static func aliases(in yaml: String) -> Int {
    var count = 0
    for text in yaml.unicodeScalars.split(whereSeparator: lineBreaks.contains) {
      let line = String(text).utf8
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
  /// The text that messages contain instead of the path if there is no file.
  package static let defaults = "(defaults)"

  /// Returns the text of a configuration file, or an empty text without a path.
  package static func text(of path: String?) throws(ConfigurationErrors) -> String {
    guard let path else { return "" }
    do throws(Diagnostic) {
      let text = try TextFile.read(path, upTo: maximumSize)
      // A power cut can leave a file without content. With the defaults, the kiosk would sell
      // without prices.
      guard !text.isEmpty else {
        throw Diagnostic(
          "is empty, as after a power cut",
          hint: "put a copy in its place; for the defaults alone, write a comment")
      }
      return text
    } catch {
      throw ConfigurationErrors(error, in: path, key: "")
    }
  }

  /// Parses the text and calls `read` with its root section.
  ///
  /// - Throws: All errors, including unknown keys and variables.
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
