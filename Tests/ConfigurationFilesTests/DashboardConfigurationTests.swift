import Testing

@testable import ConfigurationFiles

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
         behind_proxy: true, tls: {certificate_file: a.crt, key_file: /b.key}}
      broker: {host: broker.local, username: dashboard}
      """
    let configuration = try parse(yaml, environment: ["KIOSK_DASHBOARD_PORT": "9000"])
    #expect(configuration.root == "seoul/juice")
    #expect(configuration.host == "0.0.0.0")
    #expect(configuration.port == 9000)
    #expect(configuration.usersFile == "conf/users")
    #expect(configuration.stateFolder == "conf/state")
    #expect(configuration.isBehindProxy)
    #expect(configuration.tls == .init(certificateFile: "conf/a.crt", keyFile: "/b.key"))
    #expect(configuration.broker.host == "broker.local")
    #expect(configuration.broker.username == "dashboard")
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
