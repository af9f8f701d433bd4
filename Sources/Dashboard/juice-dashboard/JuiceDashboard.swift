import ArgumentParser
import CommandLineSupport
import DashboardWeb
import YAMLConfiguration

@main
struct JuiceDashboard: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "juice-dashboard",
    abstract: "Shows every kiosk in a browser and restocks them.",
    discussion: """
      It is an MQTT client that shows what the kiosks publish. It stores only its users, sessions, \
      routes, notifications, links and the history of 90 days. \
      Every command reads the same configuration file: the one given with --config, or else \
      /etc/juice-dashboard/dashboard.yaml. Without a file, the defaults apply: a broker on \
      127.0.0.1:1883, and pages at http://127.0.0.1:8080. Environment variables such as \
      KIOSK_BROKER_HOST and KIOSK_DASHBOARD_PORT override the file.
      """,
    version: Release.version,
    subcommands: [Run.self, UserCommands.self, Notify.self, Doctor.self])

  static func main() { runAndExit(daemon: "run") }
}

typealias ConfigurationOptions = ConfigurationFileOptions<DashboardConfiguration>
