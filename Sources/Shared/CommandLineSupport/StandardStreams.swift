import Foundation

package enum StandardError {
  package static func write(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { utf8 in
      var rest = UnsafeRawBufferPointer(utf8)[...]
      while !rest.isEmpty {
        let count = Foundation.write(
          STDERR_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        guard count > 0 || errno == EINTR else { return }
        rest = rest.dropFirst(max(count, 0))
      }
    }
  }
}

package enum StandardInput {
  /// The lines of standard input. A separate thread reads them, so no thread of the pool blocks.
  package static var lines: AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        lines.finish()
      }
    }
  }
}

package enum StandardOutput {
  /// Writes one line without buffering, so that the reader of a pipe receives it immediately.
  package static func write(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
}
