import Foundation

/// Writes a file in pieces, and throws `LedgerError`.
final class FileWriter: Sendable {
  private let path: String
  private let descriptor: Int32

  /// Creates a file. The path must not exist, not even as a symbolic link.
  init(path: String) throws(LedgerError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else { throw LedgerFile.failure(at: path) }
  }

  func write(_ bytes: [UInt8]) throws(LedgerError) {
    try Self.write(bytes, to: descriptor, named: path)
  }

  static func write(_ bytes: [UInt8], to descriptor: Int32, named path: String) throws(LedgerError)
  {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Foundation.write(descriptor, Array(rest), rest.count)
      guard count > 0 || errno == EINTR else { throw LedgerFile.failure(at: path) }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  /// Copies an open file from its current position to its end.
  static func copy(
    _ descriptor: Int32, named path: String, to write: ([UInt8]) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw LedgerFile.failure(at: path) }
      if count == 0 { return }
      try write(Array(buffer[..<count]))
    }
  }

  deinit { close(descriptor) }
}
