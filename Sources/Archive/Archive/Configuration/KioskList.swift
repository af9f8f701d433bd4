import JuiceDomain
package import KioskProtocol
package import YAMLConfiguration

/// The list of a chain's kiosks, read from CSV: `id,region,name,place`, one line per kiosk.
///
/// A field with a comma or a quote is quoted (RFC 4180); no field has a line break. `name` and
/// `place` may be empty. A byte order mark and CRLF, which Excel writes, are accepted.
package struct KioskList: Sendable, Equatable {
  /// The required first line of the file.
  package static let header = "id,region,name,place"

  /// The kiosks in the order of the file.
  package var kiosks: [ListedKiosk] = []

  /// Reads the file, which has at most 16 MiB.
  ///
  /// - Throws: The errors of the first twenty lines that have one.
  package static func load(path: String) throws(ConfigurationErrors) -> Self {
    let text: String
    do throws(Diagnostic) {
      text = try TextFile.read(path, upTo: 1 << 24)
    } catch {
      throw ConfigurationErrors(error, in: path, key: "")
    }
    return try parse(csv: text, file: path)
  }

  /// - Parameter file: The path, for error messages.
  package static func parse(csv: String, file: String) throws(ConfigurationErrors) -> Self {
    var list = Self()
    var known: [KioskID: Int] = [:]
    var errors: [ConfigurationError] = []
    func report(_ flaw: Flaw, line: Int) {
      errors.append(
        ConfigurationError(
          flaw.diagnostic, at: .line(line, column: flaw.column, file: file),
          path: flaw.field.isEmpty ? [] : [flaw.field]))
    }
    let text = csv.unicodeScalars.drop { $0 == "\u{FEFF}" }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let number = index + 1
      let line = line.last == "\r" ? line.dropLast() : line
      guard number > 1 else {
        guard String(line) != header else { continue }
        let diagnostic = Diagnostic("the first line is not the header", hint: "write: \(header)")
        report(Flaw(diagnostic, column: 1), line: number)
        break
      }
      guard errors.count < 20 else { break }
      guard !line.isEmpty else { continue }
      do throws(Flaw) {
        let kiosk = try ListedKiosk(line)
        if let earlier = known.updateValue(number, forKey: kiosk.id) {
          throw Flaw(Diagnostic("\(kiosk.id) is already in line \(earlier)"), column: 1, "id")
        }
        list.kiosks.append(kiosk)
      } catch {
        report(error, line: number)
      }
    }
    guard errors.isEmpty else { throw ConfigurationErrors(errors) }
    return list
  }
}

/// An error in a line.
private struct Flaw: Error {
  let diagnostic: Diagnostic
  let column: Int
  let field: String

  init(_ diagnostic: Diagnostic, column: Int, _ field: String = "") {
    self.diagnostic = diagnostic
    self.column = column
    self.field = field
  }
}

extension ListedKiosk {
  fileprivate init(_ line: Substring.UnicodeScalarView) throws(Flaw) {
    guard Substring(line).utf8.count <= 4096 else {
      throw Flaw(Diagnostic("is longer than 4096 bytes"), column: 1)
    }
    let fields = try Field.fields(of: line)
    guard fields.count == 4 else {
      let diagnostic = Diagnostic(
        "has \(fields.count) fields instead of 4", hint: "write: \(KioskList.header)")
      throw Flaw(diagnostic, column: 1)
    }
    guard let id = KioskID(fields[0].text) else {
      throw Flaw(
        Diagnostic("is not 1 to 64 of A-Z a-z 0-9 _ -"), column: fields[0].column, "id")
    }
    guard let region = try fields[1].words("region", upTo: 64) else {
      throw Flaw(Diagnostic("must not be empty"), column: fields[1].column, "region")
    }
    self.init(
      id: id, region: region, name: try fields[2].words("name", upTo: 100),
      place: try fields[3].words("place", upTo: 200))
  }
}

private struct Field {
  var text: String
  /// The position of the first character in the line, in Unicode scalars, from 1.
  var column: Int

  static func fields(of line: Substring.UnicodeScalarView) throws(Flaw) -> [Field] {
    var fields: [Field] = []
    var rest = line[...]
    while true {
      let column = line.count - rest.count + 1
      var text = String.UnicodeScalarView()
      if rest.first == "\"" {
        rest.removeFirst()
        while true {
          guard let next = rest.popFirst() else {
            throw Flaw(
              Diagnostic("a quote is not closed", hint: "a quote in a field is written \"\""),
              column: column)
          }
          if next == "\"" {
            guard rest.first == "\"" else { break }
            rest.removeFirst()
          }
          text.append(next)
        }
      } else {
        let end = rest.firstIndex(of: ",") ?? rest.endIndex
        text = String.UnicodeScalarView(rest[..<end])
        rest = rest[end...]
      }
      fields.append(Field(text: String(text), column: column))
      guard let comma = rest.popFirst() else { return fields }
      guard comma == "," else {
        throw Flaw(Diagnostic("a comma is missing"), column: line.count - rest.count)
      }
    }
  }

  /// Returns the field as display text without surrounding spaces, or `nil` if it is blank.
  ///
  /// - Parameters:
  ///   - name: The name of the field, for error messages.
  ///   - limit: Maximum length in Unicode scalars.
  func words(_ name: String, upTo limit: Int) throws(Flaw) -> String? {
    guard !text.unicodeScalars.contains(where: \.isInvisible) else {
      throw Flaw(Diagnostic("contains a control character"), column: column, name)
    }
    guard text.unicodeScalars.count <= limit else {
      throw Flaw(Diagnostic("must not be longer than \(limit) characters"), column: column, name)
    }
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words.isEmpty ? nil : words
  }
}
