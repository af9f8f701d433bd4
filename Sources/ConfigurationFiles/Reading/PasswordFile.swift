/// A file that holds a password and nothing else.
enum PasswordFile {
  /// - Returns: what it holds, without one newline at the end.
  /// - Throws: that the file is not there, is empty, or can be read by others than its owner. No
  ///   message holds what is in the file.
  static func read(_ path: String, key: String) throws(ConfigurationErrors) -> String {
    do throws(Complaint) {
      // MQTT gives the length of a password two bytes (3.1.3.6).
      var password = try TextFile.read(path, upTo: 65_535, isPrivate: true)[...]
      if ["\n", "\r\n"].contains(password.last) { password.removeLast() }
      guard !password.isEmpty else { throw Complaint("the password file is empty") }
      return String(password)
    } catch {
      throw ConfigurationErrors(errors: [
        ConfigurationError(
          place: .file(path), path: key, problem: error.problem, hint: error.hint)
      ])
    }
  }
}
