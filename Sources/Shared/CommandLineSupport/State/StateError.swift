import ArgumentParser
import Foundation

/// A problem with a file of a program's state.
package struct StateError: Error, CustomStringConvertible, ExitCodeConvertible {
  package let description: String
  private let status: ExitCode

  /// Creates an error about damaged contents.
  ///
  /// - Parameter place: The path, for a damaged line followed by `:` and its number.
  package init(_ place: String, _ problem: String) {
    (description, status) = ("\(place): \(problem)", ExitCode(65))
  }

  /// Creates an error with the message for `errno`.
  init(errnoAt place: String) {
    let hint =
      errno == EROFS
      ? " (a service of systemd may write only below /var/lib: see ReadWritePaths= in systemd.exec(5))"
      : ""
    description = "\(place): \(String(cString: strerror(errno)))\(hint)"
    status = ExitCode([ENOSPC, EDQUOT, EIO, EROFS].contains(errno) ? 74 : 78)
  }

  /// Creates an error about a place that is no usable file.
  init(noFile place: String, _ problem: String) {
    (description, status) = ("\(place): \(problem)", ExitCode(78))
  }

  /// Returns the error with a text before it.
  package func prefixed(by text: String) -> StateError { StateError(text + description, status) }

  /// Returns the error with further text.
  func adding(_ text: String) -> StateError { StateError("\(description); \(text)", status) }

  private init(_ description: String, _ status: ExitCode) {
    (self.description, self.status) = (description, status)
  }

  package var failure: Failure { Failure(status: status, message: description) }
}

extension Failure {
  /// Calls `body`, and throws its error as a `Failure`.
  package static func from<Value>(
    _ body: () throws(StateError) -> Value
  ) throws(Failure) -> Value {
    do throws(StateError) { return try body() } catch { throw error.failure }
  }
}
