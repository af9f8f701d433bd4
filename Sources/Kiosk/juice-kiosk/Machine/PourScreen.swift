import CommandLineSupport
import KioskProtocol

/// Lines that stay and, on a terminal, bars below them that grow.
struct PourScreen {
  let isLive: Bool
  /// How many bars are on the screen.
  private var drawn = 0

  init(isLive: Bool) { self.isLive = isLive }

  /// - Parameter line: may hold text of others, whose control characters do not reach the terminal.
  mutating func print(_ line: String) {
    let scalars = line.unicodeScalars.map { $0.isControl && $0 != "\n" ? " " : $0 }
    StandardOutput.write(erasure + String(String.UnicodeScalarView(scalars)))
    drawn = 0
  }

  /// Draws the bars anew. The bar of a job that has ended needs no erasing: `print` has erased all bars
  /// when it told of the end.
  mutating func draw(_ bars: [String]) {
    guard isLive, !bars.isEmpty else { return }
    StandardOutput.write(erasure + bars.joined(separator: "\n"))
    drawn = bars.count
  }

  /// ECMA-48: CPL, then ED.
  private var erasure: String { drawn > 0 ? "\u{1B}[\(drawn)F\u{1B}[J" : "" }
}
