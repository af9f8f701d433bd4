import Foundation
import JuiceDomain
import TestSupport
import Testing
import TimeZones

@testable import DashboardWeb
@testable import YAMLConfiguration

@Suite struct DashboardConfigurationTests {
  private func parse(
    _ yaml: String, environment: [String: String] = [:]
  ) throws -> DashboardConfiguration {
    try .parse(yaml: yaml, file: "conf/d.yaml", environment: environment)
  }

  private func errors(_ yaml: String) -> [String] {
    do throws(ConfigurationErrors) {
      _ = try DashboardConfiguration.parse(yaml: yaml, file: "d.yaml")
      return []
    } catch {
      return error.errors.map(\.description)
    }
  }

  @Test func theShippedFileSaysTheDefaults() throws {
    var expected = DashboardConfiguration()
    expected.broker.clientID = "juice-dashboard"
    #expect(try DashboardConfiguration.load(path: project("config/dashboard.yaml")) == expected)
  }

  @Test func everyKeyIsRead() throws {
    let yaml = """
      dashboard:
        {root: seoul/juice, host: 0.0.0.0, port: 8443, users_file: users, state_folder: state,
         behind_proxy: true, base_path: /juice, tls: {certificate_file: a.crt, key_file: /b.key}}
      broker: {host: broker.local, username: dashboard}
      """
    let configuration = try parse(yaml, environment: ["KIOSK_DASHBOARD_PORT": "9000"])
    #expect(configuration.root == "seoul/juice")
    #expect(configuration.host == "0.0.0.0")
    #expect(configuration.port == 9000)
    #expect(configuration.usersFile == "conf/users")
    #expect(configuration.stateFolder == "conf/state")
    #expect(configuration.isBehindProxy)
    #expect(configuration.basePath == BasePath("/juice"))
    #expect(
      errors("dashboard: {base_path: juice/}") == [
        "d.yaml:1:13: dashboard.base_path: 'juice/' is not the path of a proxy; write it like '/juice'"
      ])
    #expect(configuration.tls == .init(certificateFile: "conf/a.crt", keyFile: "/b.key"))
    #expect(configuration.broker.host == "broker.local")
    #expect(configuration.broker.username == "dashboard")
  }

  @Test func theArchiveIsReadAndLeftOutThereIsNone() throws {
    #expect(try parse("dashboard: {port: 81}").archive == nil)
    let yaml = """
      archive: {database: host=db user=reader, password_file: pw, time_zone: Asia/Seoul,
        timeout_seconds: 10}
      """
    let archive = try #require(try parse(yaml).archive)
    #expect(archive.database == "host=db user=reader")
    #expect(archive.passwordFile == "conf/pw")
    #expect(archive.timeZone.name == "Asia/Seoul")
    #expect(archive.timeoutSeconds == 10)
    #expect(
      errors("archive: {database: password=secret, timeout_seconds: 0}") == [
        "d.yaml:1:11: archive.database: must not contain a password; "
          + "write it to a file and set 'password_file'",
        "d.yaml:1:38: archive.timeout_seconds: must be a whole number from 1 to 60, not 0",
      ])
  }

  @Test func whoIsToldIsRead() throws {
    let yaml = """
      notify:
        link: https://juice.example/shop/
        language: ko
        offline_minutes: 10
        quiet_seconds: 30
        email: {host: mail, tls: implicit, from: a@b.c, to: [d@e.f, g+h@i.j], username: a,
          password_file: pw}
        post:
          - {url: "http://ntfy/k", ca_file: ca.crt}
          - {url_file: /slack, format: json, token_file: t}
      """
    var notify = DashboardConfiguration.Notify(link: "https://juice.example/shop")
    notify.language = .korean
    notify.offlineMinutes = 10
    notify.quietSeconds = 30
    notify.email = DashboardConfiguration.Email(
      host: "mail", port: 465, tls: .implicit, from: "a@b.c", to: ["d@e.f", "g+h@i.j"],
      username: "a", passwordFile: "conf/pw")
    notify.posts = [
      DashboardConfiguration.Post(url: "http://ntfy/k", caFile: "conf/ca.crt"),
      DashboardConfiguration.Post(urlFile: "/slack", format: .json, tokenFile: "conf/t"),
    ]
    #expect(try parse(yaml).notify == notify)
    let account = ["KIOSK_NOTIFY_EMAIL_PORT": "2465"]
    #expect(try parse(yaml, environment: account).notify?.email?.port == 2465)
  }

  @Test(arguments: [
    ("{}", ["notify.link: is missing", "notify: has no receiver; add 'email' or 'post'"]),
    (
      "{link: juice.example, post: [{url: 'http://a'}]}",
      ["notify.link: 'juice.example' is not a web address; write it like 'https://host/path'"]
    ),
    (
      "{link: 'http://a', email: {host: m, from: a@b.c}}", ["notify.email.to: is missing"]
    ),
    (
      "{link: 'http://a', email: {host: m, from: a@b.c, to: []}}",
      ["notify.email.to: must not be empty"]
    ),
    (
      "{link: 'http://a', email: {host: m, from: 'a@bé', to: ['a b@c']}}",
      [
        "notify.email.from: 'a@bé' is not an e-mail address; write it like 'minji@example.com'",
        "notify.email.to: 'a b@c' is not an e-mail address; write it like 'minji@example.com'",
      ]
    ),
    (
      "{link: 'http://a', email: {host: m, from: a@b.c, to: [a@b.c], username: a}}",
      ["notify.email.username: works only together with 'password_file'; add it"]
    ),
    (
      "{link: 'http://a', email: {host: m, from: a@b, to: [a@b], username: a, password_file: p, tls: none}}",
      ["notify.email.password_file: a password must not be sent unencrypted; set 'tls'"]
    ),
    (
      "{link: 'http://a', post: [{format: xml}]}",
      [
        "notify.post.1: needs either 'url' or 'url_file'",
        "notify.post.1.format: must be text or json, not 'xml'",
      ]
    ),
    (
      "{link: 'http://a', post: [{url: 'http://a', url_file: b}]}",
      ["notify.post.1: needs either 'url' or 'url_file'"]
    ),
    (
      "{link: 'http://a', post: [{url: 'http://a', token_file: t}]}",
      ["notify.post.1.token_file: a token must not be sent unencrypted; use 'https'"]
    ),
    (
      "{link: 'http://a', post: [{url: 'file:///etc/passwd'}]}",
      [
        "notify.post.1.url: 'file:///etc/passwd' is not a web address; write it like 'https://host/path'"
      ]
    ),
    (
      "{link: 'http://a', post: [{url: 'https://me:pw@host/'}]}",
      [
        "notify.post.1.url: 'https://me:pw@host/' is not a web address; write it like 'https://host/path'"
      ]
    ),
  ])
  func mistakesInWhoIsToldAreNamed(yaml: String, expected: [String]) {
    let found = errors("notify: \(yaml)").map { error in
      error.split(separator: ": ", maxSplits: 1).last.map { String($0) } ?? error
    }
    #expect(Set(found) == Set(expected))
  }

  @Test(arguments: [
    (
      "dashboard: {prot: 1}",
      "d.yaml:1:13: dashboard.prot: there is no such key; did you mean 'port'?"
    ),
    (
      "dashboard: {port: 0}",
      "d.yaml:1:13: dashboard.port: must be a whole number from 1 to 65535, not 0"
    ),
    (
      "dashboard: {tls: {key_file: k}}",
      "d.yaml:1:13: dashboard.tls: needs both 'certificate_file' and 'key_file'"
    ),
  ])
  func mistakesAreNamed(yaml: String, error: String) {
    #expect(errors(yaml) == [error])
  }
}
