/// A file that contains a password, or another secret, and nothing else.
package enum PasswordFile {
  /// Reads the secret.
  ///
  /// - Parameters:
  ///   - key: The key that contains the path, for messages.
  ///   - what: The name of the secret, for messages.
  /// - Returns: The text without a byte order mark at its start and without line ends at its end.
  /// - Throws: `ConfigurationErrors` if the file is empty or cannot be read, or if other users can
  ///   read it (with the exceptions of `TextFile`). No message contains the secret.
  package static func read(
    _ path: String, key: String, what: String = "password"
  ) throws(ConfigurationErrors) -> String {
    do throws(Diagnostic) {
      // MQTT encodes the length of a password in two bytes (3.1.3.6).
      var password = try TextFile.read(path, upTo: 65_535, isPrivate: true)[...]
      while ["\n", "\r\n", "\r"].contains(password.last) { password.removeLast() }
      guard !password.isEmpty else { throw Diagnostic("the \(what) file is empty") }
      return String(password)
    } catch {
      throw ConfigurationErrors(error, in: path, key: key)
    }
  }
}

extension ConfigurationErrors {
  /// Creates the error of a file that a key names.
  ///
  /// - Parameter key: The key that contains the path; empty if there is none.
  package init(_ diagnostic: Diagnostic, in file: String, key: String) {
    self.init([
      ConfigurationError(
        diagnostic, at: .file(file), path: key.split(separator: ".").map(String.init))
    ])
  }
}
