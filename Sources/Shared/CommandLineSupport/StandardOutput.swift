import ArgumentParser
import Foundation
import KioskProtocol

/// Standard output, for people and for programs. Texts may come from the network: a terminal or an editor
/// interprets some invisible characters, such as U+202E, which reverses the text after it.
package enum StandardOutput {
  /// Writes a text for people and a line feed. Omits invisible characters, except line feeds, tabs and the colors
  /// of terminals.
  ///
  /// - Parameter change: The change that the command has already made. The error message names it,
  ///   so that a script does not repeat the command.
  /// - Throws: `Failure` with exit code 74 if the write fails, for example because the disk is full
  ///   or the reader of the pipe has ended.
  package static func write(_ text: String, after change: String? = nil) throws(Failure) {
    try writeLine(text.visibleWithColors, after: change)
  }

  /// Writes JSON and a line feed, with invisible characters as escapes such as `\u202e`.
  package static func write(
    json: some Collection<UInt8>, after change: String? = nil
  ) throws(Failure) {
    try writeLine(String(decoding: json, as: UTF8.self).withEscapes, after: change)
  }

  /// Writes lines of a `CSVWriter`, which omits invisible characters, and a line feed.
  package static func write(csv: String) throws(Failure) { try writeLine(csv) }

  /// Writes a text that moves the cursor, and a line feed. The caller omits other invisible characters.
  package static func write(screen: String) throws(Failure) { try writeLine(screen) }

  package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// The width of the terminal in columns, or `nil` if standard output is not a terminal or its
  /// width is unknown.
  package static var columns: Int? {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// The width for wrapped text in columns, or `nil` if standard output is not a terminal.
  package static var width: Int? { terminalWidth(STDOUT_FILENO) }

  /// Writes without buffering: the reader of a pipe receives the line immediately.
  private static func writeLine(_ line: String, after change: String? = nil) throws(Failure) {
    let error = writeAll(line + "\n", to: STDOUT_FILENO)
    guard error != 0 else { return }
    let problem = "standard output cannot be written: \(String(cString: strerror(error)))"
    throw Failure(
      status: ExitCode(74), message: change.map { "\($0), but \(problem)" } ?? problem)
  }
}

extension String {
  /// The text without invisible characters, except line feeds, tabs and the colors of a terminal (ECMA-48, SGR).
  package var visibleWithColors: String {
    var shown = UnicodeScalarView()
    var rest = unicodeScalars[...]
    while let scalar = rest.popFirst() {
      if scalar == "\u{1B}", rest.first == "[", let end = rest.firstIndex(of: "m"),
        rest[..<end].dropFirst().allSatisfy({ ("0"..."9").contains($0) || $0 == ";" })
      {
        shown.append(scalar)
        shown.append(contentsOf: rest[...end])
        rest = rest[end...].dropFirst()
      } else if !scalar.isInvisible || scalar == "\n" || scalar == "\t" {
        shown.append(scalar)
      } else if scalar.properties.isWhitespace {
        shown.append(" ")
      }
    }
    return String(shown)
  }

  /// JSON text in which invisible characters beyond ASCII, which only strings contain, are escapes.
  package var withEscapes: String {
    guard utf8.contains(where: { $0 > 0x7E }) else { return self }
    var text = UnicodeScalarView()
    for scalar in unicodeScalars {
      guard scalar.value > 0x7E, scalar.isInvisible else {
        text.append(scalar)
        continue
      }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        text.append(
          contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
            .unicodeScalars)
      }
    }
    return String(text)
  }
}
