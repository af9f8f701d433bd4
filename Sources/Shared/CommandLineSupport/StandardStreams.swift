import Foundation
import KioskProtocol

package enum StandardError {
  /// Writes a text for people. Ignores an error, because there is no other place to report it.
  package static func write(_ line: String, terminator: String = "\n") {
    _ = writeAll(line.visibleLines + terminator, to: STDERR_FILENO)
  }

  /// The width for wrapped text in columns, or `nil` if standard error is not a terminal.
  package static var width: Int? { terminalWidth(STDERR_FILENO) }
}

package enum StandardInput {
  /// Maximum length of a line in bytes. `lines` omits the start of a longer line.
  private static let maximumLine = 1 << 16

  /// The lines of standard input. A separate thread reads them, so that no thread of Swift's thread
  /// pool blocks.
  ///
  /// `readLine` would hold the lock of `stdin`, for which exit(3) waits (glibc 2.41): the program
  /// would end only with the next line.
  package static var lines: AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        var bytes = [UInt8](repeating: 0, count: 4096)
        var line: [UInt8] = []
        while true {
          let count = read(STDIN_FILENO, &bytes, bytes.count)
          if count < 0, errno == EAGAIN {
            var readable = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            poll(&readable, 1, -1)
          }
          if count < 0, errno == EAGAIN || errno == EINTR { continue }
          guard count > 0 else { break }
          for byte in bytes[..<count] {
            if byte == UInt8(ascii: "\n") {
              lines.yield(String(decoding: line, as: UTF8.self))
              line = []
            } else {
              if line.count == maximumLine { line = [] }
              line.append(byte)
            }
          }
        }
        if !line.isEmpty { lines.yield(String(decoding: line, as: UTF8.self)) }
        lines.finish()
      }
    }
  }
}

/// Returns the width of a terminal in columns: at least 20, and 80 if the width is unknown.
/// Returns `nil` if the descriptor is not a terminal.
func terminalWidth(_ descriptor: Int32) -> Int? {
  guard isatty(descriptor) == 1 else { return nil }
  var size = winsize()
  guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return max(20, Int(size.ws_col))
}

/// Prepares the standard streams of a program, before it opens any file.
func prepareStandardStreams() {
  // A write to a pipe without a reader then fails with an error; otherwise it would end the
  // program.
  signal(SIGPIPE, SIG_IGN)
  // Opens /dev/null for each closed stream: otherwise the next opened file would get the stream's
  // descriptor and its text. A read then returns the end of input, and a write fails.
  for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 {
    _ = open("/dev/null", O_RDONLY)
  }
}

/// Writes a text to a descriptor.
///
/// - Returns: 0, or the `errno` of the failure.
func writeAll(_ text: String, to descriptor: Int32) -> Int32 {
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    if count > 0 {
      rest = rest.dropFirst(count)
    } else if errno == EAGAIN {
      // Another process that uses the pipe or the terminal may have made it non-blocking.
      var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&writable, 1, -1)
    } else if errno != EINTR {
      return errno
    }
  }
  return 0
}
