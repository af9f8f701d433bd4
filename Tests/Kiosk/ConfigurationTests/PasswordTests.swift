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
    ("secret\n\n", "secret"), ("secret\r\n\r\n", "secret"), ("secret\r", "secret"),
    ("\u{FEFF}secret", "secret"), ("a\nb\n", "a\nb"), (" a b ", " a b "), ("비밀\n", "비밀"),
  ])
  func lineEndsAndAByteOrderMarkAreNotPartOfIt(content: String, password: String) throws {
    #expect(try read(content) == password)
  }

  @Test(arguments: [0o640, 0o604, 0o644])
  func onlyTheOwnerMayReadIt(permissions: Int) throws {
    #expect(
      try read("secret", permissions: permissions)
        == "FILE: broker.password_file: can be read by others than its owner; run: chmod 600 FILE")
  }

  /// Modes of a file in a folder. Memory is another file system than `/`, as a mounted secret is.
  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/shm")),
    arguments: [
      (0o444, 0o755, true), (0o440, 0o700, true), (0o444, 0o775, false), (0o440, 0o757, false),
      (0o644, 0o755, false), (0o640, 0o755, false), (0o464, 0o755, false),
    ])
  func aMountedSecretMayBeReadByOthers(mode: Int, folderMode: Int, isAccepted: Bool) throws {
    let files = FileManager.default
    func device(of path: String) throws -> Int? {
      try files.attributesOfItem(atPath: path)[.systemNumber] as? Int
    }
    let memory = URL(filePath: "/dev/shm/kiosk-\(UUID().uuidString)")
    defer { try? files.removeItem(at: memory) }
    try withFolder { disk in
      for folder in [memory, disk] {
        // As Kubernetes does: a link to a file in a folder of the current version.
        let version = folder.appending(path: "..data")
        try files.createDirectory(at: version, withIntermediateDirectories: true)
        let secret = version.appending(path: "password").path()
        try Data("secret".utf8).write(to: URL(filePath: secret))
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: secret)
        try files.setAttributes([.posixPermissions: folderMode], ofItemAtPath: version.path())
        let link = folder.appending(path: "password").path()
        try files.createSymbolicLink(atPath: link, withDestinationPath: secret)
        let isMounted = try device(of: secret) != device(of: "/")
        let password = try? PasswordFile.read(link, key: "")
        #expect(password == (isAccepted && isMounted ? "secret" : nil), "\(link)")
      }
    }
  }

  @Test func aSpaceAtTheEndIsAWarning() throws {
    try withFolder { folder in
      var broker = BrokerConfiguration()
      for (password, isWarned) in [("a ", true), ("a\t\n", true), ("a b\n", false)] {
        broker.passwordFile = folder.appending(path: "password").path()
        try Data(password.utf8).write(to: folder.appending(path: "password"))
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o600], ofItemAtPath: folder.appending(path: "password").path())
        #expect(try (broker.passwordWarning() != nil) == isWarned)
      }
    }
  }

  @Test(arguments: ["", "\n", "\u{FEFF}\r\n\n"])
  func itIsNotEmpty(content: String) throws {
    #expect(try read(content) == "FILE: broker.password_file: the password file is empty")
  }

  @Test func thereNeedBeNone() throws {
    #expect(try BrokerConfiguration().readPassword() == nil)
  }
}
