import KioskMessages
import Program

/// Lines that stay and, on a terminal, bars below them that grow.
struct PourScreen {
  let isLive: Bool
  /// So many bars are there.
  private var drawn = 0

  init(isLive: Bool) { self.isLive = isLive }

  /// - Parameter line: may hold what others have made up: the terminal is told nothing else by it.
  mutating func tell(_ line: String) {
    let scalars = line.unicodeScalars.map { $0.isControl && $0 != "\n" ? " " : $0 }
    StandardOutput.write(erasure + String(String.UnicodeScalarView(scalars)))
    drawn = 0
  }

  /// What has ended has been told, which has erased all bars.
  mutating func draw(_ bars: [String]) {
    guard isLive, !bars.isEmpty else { return }
    StandardOutput.write(erasure + bars.joined(separator: "\n"))
    drawn = bars.count
  }

  /// ECMA-48: CPL, then ED.
  private var erasure: String { drawn > 0 ? "\u{1B}[\(drawn)F\u{1B}[J" : "" }
}
