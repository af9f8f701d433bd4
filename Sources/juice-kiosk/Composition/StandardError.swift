import Foundation

enum StandardError {
  static func write(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}

enum StandardOutput {
  /// One line, written at once: a pipe's reader is not kept waiting.
  static func write(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
}
