import ArgumentParser
package import CommandLineSupport
package import DashboardWeb
import YAMLConfiguration

@main
struct JuiceDashboard: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "juice-dashboard",
    abstract: "Shows every kiosk in the browser, and restocks them.",
    discussion: """
      It is an MQTT client like any other, and shows what the kiosks tell. Of its own it keeps its \
      users, the routes that were planned and what it has told whom. \
      Every command reads the same configuration file: the one given with --config, else \
      /etc/juice-dashboard/dashboard.yaml, else none, which means the defaults: a broker on \
      127.0.0.1:1883, and pages at http://127.0.0.1:8080. Variables such as KIOSK_BROKER_HOST and \
      KIOSK_DASHBOARD_PORT override what the file says.
      """,
    version: Release.version,
    subcommands: [Run.self, UserCommands.self, Notify.self])

  static func main() { runAndExit() }
}

extension UserFileError: ExitCodeConvertible {
  package var failure: Failure { .badConfiguration("\(self)") }
}

extension StateError: ExitCodeConvertible {
  package var failure: Failure { .badConfiguration("\(self)") }
}

typealias ConfigurationOptions = ConfigurationFileOptions<DashboardConfiguration>
