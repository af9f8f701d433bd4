import CZlib
import Foundation

/// Reads a file, decompressing it if it is compressed (gzip).
final class GzipReader {
  private let path: String
  private let file: gzFile
  /// Of all that was read.
  private(set) var checksum: UInt32 = 0

  init(path: String) throws(LedgerError) {
    // gzopen(3) would not say why.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw .badFile(path: path, detail: String(cString: strerror(errno)))
    }
    guard let file = gzdopen(descriptor, "rb") else {
      close(descriptor)
      throw .badFile(path: path, detail: "there is no memory for it")
    }
    self.path = path
    self.file = file
    gzbuffer(file, 1 << 17)
  }

  /// The next bytes; none at the end.
  func read() throws(LedgerError) -> [UInt8] {
    var count: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, used in
      count = gzread(file, buffer.baseAddress, UInt32(buffer.count))
      used = Int(max(count, 0))
    }
    var code: Int32 = 0
    let message = gzerror(file, &code).map { String(cString: $0) } ?? ""
    // At the end of a file that was cut off it gives what there is, and Z_BUF_ERROR.
    guard count >= 0, code == Z_OK || code == Z_STREAM_END else {
      throw .badFile(path: path, detail: "it cannot be read (\(message))")
    }
    checksum = crc(checksum, of: bytes)
    return bytes
  }

  deinit { gzclose(file) }
}

/// Writes a compressed file (gzip).
final class GzipWriter {
  private let path: String
  private var file: gzFile?

  /// Replaces the file if there is one.
  init(path: String) throws(LedgerError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else { throw LedgerFile.failure(at: path) }
    file = gzdopen(descriptor, "wb")
    self.path = path
    if file == nil { close(descriptor) }
  }

  func write(_ line: String) throws(LedgerError) {
    let bytes = Array((line + "\n").utf8)
    guard gzwrite(file, bytes, UInt32(bytes.count)) == Int32(bytes.count) else {
      throw LedgerFile.failure(at: path)
    }
  }

  /// All is in the file then, but not yet synced.
  func finish() throws(LedgerError) {
    let code = gzclose(file)
    file = nil
    guard code == Z_OK else { throw LedgerFile.failure(at: path) }
  }

  deinit { if let file { gzclose(file) } }
}

private func crc(_ checksum: UInt32, of bytes: [UInt8]) -> UInt32 {
  UInt32(truncatingIfNeeded: crc32(UInt(checksum), bytes, UInt32(bytes.count)))
}
