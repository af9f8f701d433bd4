extension KioskConfiguration.Broker {
  /// The password of the account: what `passwordFile` holds, without one newline at the end; `nil`
  /// if there is no such file to read.
  ///
  /// - Throws: that the file is not there, is empty, or can be read by others than its owner. No
  ///   message holds what is in the file.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    if let keptPassword { return keptPassword }
    guard let passwordFile else { return nil }
    do throws(Complaint) {
      // MQTT gives the length of a password two bytes (3.1.3.6).
      var password = try TextFile.read(passwordFile, upTo: 65_535, isPrivate: true)[...]
      if ["\n", "\r\n"].contains(password.last) { password.removeLast() }
      guard !password.isEmpty else { throw Complaint("the password file is empty") }
      return String(password)
    } catch {
      throw ConfigurationErrors(errors: [
        ConfigurationError(
          place: .file(passwordFile), path: "broker.password_file", problem: error.problem,
          hint: error.hint)
      ])
    }
  }

  /// Reads the password for when the file may not be read any more.
  package mutating func keepPassword() throws(ConfigurationErrors) {
    keptPassword = try readPassword()
  }
}
