import CommandLineSupport
import KioskProtocol

/// The output of a machine: permanent lines and, on a terminal, progress bars below them.
struct PourScreen {
  let isLive: Bool
  /// Number of bars on the screen.
  private var drawn = 0

  init(isLive: Bool) { self.isLive = isLive }

  /// Prints a line above the bars.
  ///
  /// - Parameter line: may contain text from the network; its control characters are replaced.
  mutating func print(_ line: String) {
    let scalars = line.unicodeScalars.map { $0.isControl && $0 != "\n" ? " " : $0 }
    StandardOutput.write(erasure + String(String.UnicodeScalarView(scalars)))
    drawn = 0
  }

  /// Redraws the bars. The bar of a finished job needs no erasing, because `print` has already
  /// erased all bars when it reported the end.
  mutating func draw(_ bars: [String]) {
    guard isLive, !bars.isEmpty else { return }
    StandardOutput.write(erasure + bars.joined(separator: "\n"))
    drawn = bars.count
  }

  /// The escape sequence that erases the bars (ECMA-48: CPL, then ED).
  private var erasure: String { drawn > 0 ? "\u{1B}[\(drawn)F\u{1B}[J" : "" }
}
