import Foundation
package import KioskProtocol
import YAMLConfiguration

extension DesiredMenu {
  /// Reads the text of a menu file: UTF-8, at most `maximumSize` bytes.
  ///
  /// - Throws: `Failure` if the file cannot be read, is too large or is not text.
  package static func text(of file: String) throws(Failure) -> String {
    let data: Data
    do {
      // Reads a limited number of bytes, because the file may be a pipe or too large.
      let handle = try FileHandle(forReadingFrom: URL(filePath: file))
      data = try handle.read(upToCount: maximumSize + 1) ?? Data()
    } catch {
      throw Failure.badData("\(file) cannot be read: \(error.localizedDescription)")
    }
    guard data.count <= maximumSize else {
      throw Failure.badData("\(file) is larger than \(maximumSize) bytes")
    }
    guard let text = String(validating: data, as: UTF8.self), !text.contains("\0") else {
      throw Failure.badData("\(file) is not UTF-8 text")
    }
    return text.withoutByteOrderMark
  }
}
