import CommandLineSupport
import KioskProtocol

/// The output of a simulated device: permanent lines and, on a terminal, progress bars below them.
struct PourScreen {
  let isLive: Bool
  /// The first error of standard output.
  private(set) var failure: Failure?
  /// The widths of the bars on the screen, in characters.
  private var drawn: [Int] = []

  init(isLive: Bool) { self.isLive = isLive }

  /// Prints a line above the bars.
  ///
  /// - Parameter line: Text, possibly from the network; the screen omits invisible characters.
  mutating func print(_ line: String) {
    write(erasure(at: columns) + line.visibleLines)
    drawn = []
  }

  /// Redraws the bars. The bar of a finished job needs no erasing, because `print` has already
  /// erased all bars when it reported the end.
  mutating func draw(_ bars: [String]) {
    guard isLive, !bars.isEmpty else { return }
    // Read once: between two readings the terminal may become narrower.
    let columns = columns
    let bars = bars.map { String($0.prefix(columns)) }
    write(erasure(at: columns) + bars.joined(separator: "\n"))
    drawn = bars.map(\.count)
  }

  private mutating func write(_ text: String) {
    do throws(Failure) { try StandardOutput.write(screen: text) } catch {
      failure = failure ?? error
    }
  }

  private var columns: Int { StandardOutput.columns ?? .max }

  /// The escape sequence that erases the bars (ECMA-48: CPL, then ED). A terminal that has become
  /// narrower shows a bar in several rows.
  private func erasure(at columns: Int) -> String {
    let rows = drawn.reduce(0) { $0 + 1 + ($1 - 1) / columns }
    return rows > 0 ? "\u{1B}[\(rows)F\u{1B}[J" : ""
  }
}
