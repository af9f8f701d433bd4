/// A file that holds a password, or another secret, and nothing else.
package enum PasswordFile {
  /// - Parameter what: what the file holds, for messages.
  /// - Returns: the file's text without one newline at the end.
  /// - Throws: the file is not there, is empty, or can be read by others than its owner. No message
  ///   shows what is in the file.
  package static func read(
    _ path: String, key: String, what: String = "password"
  ) throws(ConfigurationErrors) -> String {
    do throws(Diagnostic) {
      // MQTT gives the length of a password two bytes (3.1.3.6).
      var password = try TextFile.read(path, upTo: 65_535, isPrivate: true)[...]
      if ["\n", "\r\n"].contains(password.last) { password.removeLast() }
      guard !password.isEmpty else { throw Diagnostic("the \(what) file is empty") }
      return String(password)
    } catch {
      throw ConfigurationErrors(error, in: path, key: key)
    }
  }
}

extension ConfigurationErrors {
  /// - Parameter key: the key that names the file; empty if none does.
  package init(_ diagnostic: Diagnostic, in file: String, key: String) {
    self.init([
      ConfigurationError(
        diagnostic, at: .file(file), path: key.split(separator: ".").map(String.init))
    ])
  }
}
