extension Section {
  /// Reads a libpq connection string, and reports an error if it contains a password.
  package mutating func readDatabase(into database: inout String) {
    read("database", .text, into: &database)
    if database.contains(/password\s*=|:[^\/@]*@/) {
      let diagnostic = Diagnostic(
        "must not contain a password", hint: "write it to a file and set 'password_file'")
      report(diagnostic, at: "database")
    }
  }
}
