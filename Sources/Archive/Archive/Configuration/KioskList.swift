import JuiceDomain
package import KioskProtocol
package import YAMLConfiguration

/// The list of a chain's kiosks, read from CSV: `id,region,name,place`, one line per kiosk.
///
/// A field with a separator or a quote is quoted (RFC 4180); no field has a line break. `name` and
/// `place` may be empty. The variants that Excel writes are accepted: a byte order mark, CRLF, a
/// first line such as `sep=;`, semicolons or tabs as separators, empty lines, and empty fields at
/// the end of a line.
package struct KioskList: Sendable, Equatable {
  /// The required header of the file, with commas as separators.
  package static let header = "id,region,name,place"

  /// The kiosks in the order of the file.
  package var kiosks: [ListedKiosk] = []

  /// Reads a file of at most 16 MiB.
  ///
  /// - Throws: The error of reading the file, or the errors of the first twenty lines that have an error.
  package static func load(path: String) throws(ConfigurationErrors) -> Self {
    let text: String
    do throws(Diagnostic) {
      text = try TextFile.read(path, upTo: 1 << 24)
    } catch {
      throw ConfigurationErrors(error, in: path, key: "")
    }
    return try parse(csv: text, file: path)
  }

  /// Parses the text of a file.
  ///
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
    var separator: Unicode.Scalar?
    var isHeaderRead = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let number = index + 1
      let line = line.last == "\r" ? line.dropLast() : line
      if number == 1, String(line).lowercased().hasPrefix("sep="), line.count == 5 {
        separator = line.last
        continue
      }
      guard isHeaderRead else {
        separator = Field.separator(ofHeader: line, given: separator)
        isHeaderRead = separator != nil
        if isHeaderRead { continue }
        let diagnostic = Diagnostic("the first line is not the header", hint: "write: \(header)")
        report(Flaw(diagnostic, column: 1), line: number)
        break
      }
      guard errors.count < 20 else { break }
      let comma = separator ?? ","
      guard line.contains(where: { $0 != comma }) || line.utf8Count > ListedKiosk.maximumLine else {
        continue
      }
      do throws(Flaw) {
        let kiosk = try ListedKiosk(line, separator: comma)
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

/// An error in a line of the list.
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
  /// Maximum length of a line in bytes.
  fileprivate static let maximumLine = 4096

  fileprivate init(
    _ line: Substring.UnicodeScalarView, separator: Unicode.Scalar
  ) throws(Flaw) {
    guard line.utf8Count <= Self.maximumLine else {
      throw Flaw(Diagnostic("is longer than \(Self.maximumLine) bytes"), column: 1)
    }
    var fields = try Field.fields(of: line, separator: separator)
    while fields.count > 4, fields.last?.text.isEmpty == true { fields.removeLast() }
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

extension Substring.UnicodeScalarView {
  fileprivate var utf8Count: Int { Substring(self).utf8.count }
}

private struct Field {
  var text: String
  /// The position of the first character of the field in the line, in Unicode scalars, from 1.
  var column: Int

  /// Returns the separator of a header, or `nil` if the line is not the header.
  ///
  /// - Parameter given: The separator that an earlier line states.
  static func separator(
    ofHeader line: Substring.UnicodeScalarView, given: Unicode.Scalar?
  ) -> Unicode.Scalar? {
    let candidates: [Unicode.Scalar] = given.map { [$0] } ?? [",", ";", "\t"]
    return candidates.first { separator in
      // A line that cannot be read is not the header.
      var names = ((try? fields(of: line, separator: separator)) ?? []).map(\.text)
      while names.last?.isEmpty == true { names.removeLast() }
      return names == ["id", "region", "name", "place"]
    }
  }

  static func fields(
    of line: Substring.UnicodeScalarView, separator: Unicode.Scalar
  ) throws(Flaw) -> [Field] {
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
        let end = rest.firstIndex(of: separator) ?? rest.endIndex
        text = String.UnicodeScalarView(rest[..<end])
        rest = rest[end...]
      }
      fields.append(Field(text: String(text), column: column))
      guard let comma = rest.popFirst() else { return fields }
      guard comma == separator else {
        let name = separator == "," ? "comma" : separator == ";" ? "semicolon" : "separator"
        throw Flaw(Diagnostic("a \(name) is missing"), column: line.count - rest.count)
      }
    }
  }

  /// Returns the field as display text, with one space for each run of spaces and none at its ends,
  /// or `nil` if it is blank.
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
