import Foundation
import TestSupport
import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

@Suite struct PasswordTests {
  private func read(_ content: String, permissions: Int = 0o600) throws -> String {
    var result = ""
    try withFolder { folder in
      let path = folder.appending(path: "password").path(percentEncoded: false)
      try Data(content.utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
      var broker = BrokerConfiguration()
      broker.passwordFile = path
      do throws(ConfigurationErrors) {
        result = try broker.readPassword() ?? "none"
      } catch {
        result = error.description.replacing(path, with: "FILE")
      }
    }
    return result
  }

  @Test(arguments: [
    ("secret", "secret"), ("secret\n", "secret"), ("secret\r\n", "secret"),
    ("secret\n\n", "secret\n"), (" a b ", " a b "), ("비밀\n", "비밀"),
  ])
  func oneNewlineAtTheEndIsNotPartOfIt(content: String, password: String) throws {
    #expect(try read(content) == password)
  }

  @Test(arguments: [0o640, 0o604, 0o644])
  func onlyTheOwnerMayReadIt(permissions: Int) throws {
    #expect(
      try read("secret", permissions: permissions)
        == "FILE: broker.password_file: can be read by others than its owner; run: chmod 600 FILE")
  }

  @Test(arguments: ["", "\n"])
  func itIsNotEmpty(content: String) throws {
    #expect(try read(content) == "FILE: broker.password_file: the password file is empty")
  }

  @Test func thereNeedBeNone() throws {
    #expect(try BrokerConfiguration().readPassword() == nil)
  }
}
