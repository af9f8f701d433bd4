import Foundation
import TestSupport
import Testing
import TimeZones

@testable import Archive
@testable import YAMLConfiguration

@Suite struct ArchiveConfigurationTests {
  private func errors(_ yaml: String) -> [String] {
    do throws(ConfigurationErrors) {
      _ = try ArchiveConfiguration.parse(yaml: yaml, file: "a.yaml")
      return []
    } catch {
      return error.errors.map(\.description)
    }
  }

  @Test func theShippedFileSaysTheDefaults() throws {
    var expected = ArchiveConfiguration()
    expected.broker.clientID = "juice-archive"
    #expect(try ArchiveConfiguration.load(path: project("config/archive.yaml")) == expected)
  }

  @Test func everyKeyIsRead() throws {
    let yaml = """
      archive:
        {root: seoul/juice, database: host=db dbname=chain user=archive, password_file: password,
         batch: 1000, session_days: 7, gap_delay_seconds: 5, time_zone: Asia/Seoul,
         keep_days: 400}
      broker: {host: broker.local, client_id: archive-1}
      """
    let configuration = try ArchiveConfiguration.parse(
      yaml: yaml, file: "conf/a.yaml", environment: ["KIOSK_ARCHIVE_BATCH": "2000"])
    #expect(configuration.root == "seoul/juice")
    #expect(configuration.database == "host=db dbname=chain user=archive")
    #expect(configuration.passwordFile == "conf/password")
    #expect(configuration.batch == 2000)
    #expect(configuration.sessionDays == 7)
    #expect(configuration.gapDelaySeconds == 5)
    #expect(configuration.timeZone.name == "Asia/Seoul")
    #expect(configuration.keepDays == 400)
    #expect(configuration.broker.host == "broker.local")
    #expect(configuration.broker.clientID == "archive-1")
  }

  @Test(arguments: [
    "dbname=juice password=secret", "postgresql://archive:secret@db/juice",
  ])
  func aPasswordStandsInAFileOfItsOwn(database: String) {
    #expect(
      errors("archive: {database: '\(database)'}") == [
        "a.yaml:1:11: archive.database: must not contain a password; "
          + "write it to a file and set 'password_file'"
      ])
  }

  /// PostgreSQL reads these names as other zones, or not at all.
  @Test(arguments: ["GMT+9", "UTC+5", "IST", "CST", "BST", "Factory", "EST5EDT"])
  func theTimeZoneIsARegion(name: String) {
    let error = errors("archive: {time_zone: \(name)}").first
    #expect(error?.contains("write it like 'Asia/Seoul' or 'UTC'") == true)
  }

  @Test func whoAsksKiosksHasANameForATopic() {
    #expect(
      errors("broker: {client_id: the/archive}") == [
        "a.yaml:1:10: broker.client_id: must be valid as a topic level, because kiosks answer on topics with it; "
          + "write 1 to 64 of A-Z a-z 0-9 _ -"
      ])
  }

  @Test func theBrokerMayBeTheNodesOfACluster() throws {
    let yaml = "broker: {addresses: [a, 'b:7'], tls: {}}"
    let broker = try ArchiveConfiguration.parse(yaml: yaml, file: "a.yaml").broker
    #expect((broker.host, broker.port) == ("a", 8883))
    #expect(broker.others == [.init(host: "b", port: 7)])
    #expect(errors("broker: {addresses: []}").first?.contains("needs addresses") == true)
    #expect(
      errors("broker: {host: c, addresses: [a]}") == [
        "a.yaml:1:19: broker.addresses: cannot be combined with 'host' and 'port'"
      ])
  }

  @Test func aPasswordOfOthersIsNotReadable() throws {
    try withFolder { folder in
      let path = folder.appending(path: "password").path(percentEncoded: false)
      try Data("secret\n".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      var configuration = ArchiveConfiguration()
      configuration.passwordFile = path
      #expect(try configuration.readPassword() == "secret")
    }
  }
}
