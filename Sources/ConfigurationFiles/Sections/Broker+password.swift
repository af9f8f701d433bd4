extension KioskConfiguration.Broker {
  /// The password of the account; `nil` if there is none.
  ///
  /// - Throws: see `PasswordFile`.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    if let keptPassword { return keptPassword }
    guard let passwordFile else { return nil }
    return try PasswordFile.read(passwordFile, key: "\(section).password_file")
  }

  /// Reads the password for when the file may not be read any more.
  package mutating func keepPassword() throws(ConfigurationErrors) {
    keptPassword = try readPassword()
  }
}
