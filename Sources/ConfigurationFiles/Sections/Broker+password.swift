extension KioskConfiguration.Broker {
  /// The password of the account: what `passwordFile` holds, without one newline at the end; `nil`
  /// if there is no such file to read.
  ///
  /// - Throws: that the file is not there, is empty, or can be read by others than its owner. No
  ///   message holds what is in the file.
  package func readPassword() throws(ConfigurationErrors) -> String? {
    if let keptPassword { return keptPassword }
    guard let passwordFile else { return nil }
    return try PasswordFile.read(passwordFile, key: "broker.password_file")
  }

  /// Reads the password for when the file may not be read any more.
  package mutating func keepPassword() throws(ConfigurationErrors) {
    keptPassword = try readPassword()
  }
}
