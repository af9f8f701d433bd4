import ArgumentParser
import CommandLineSupport
import KioskDaemon
import YAMLConfiguration

@main
struct JuiceKiosk: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "juice-kiosk",
    abstract: "Runs an unattended juice kiosk over MQTT.",
    discussion: """
      Button panels publish orders, the kiosk makes juice of the fruit in its store, displays show \
      the stock that it publishes, and an operator restocks from elsewhere.

      Every command reads the same configuration file: the one given with --config, else \
      /etc/juice-kiosk/kiosk.yaml, else none, which means the defaults: a broker on 127.0.0.1:1883. \
      Variables such as KIOSK_BROKER_HOST override what the file says.

      EXIT STATUS
        0   done
        1   doctor has found nothing that fails, but something that will cost orders
        64  the command line is wrong
        65  the kiosk rejected the command, or a file holds what it should not
        69  the broker cannot be reached, or refused the login
        74  the ledger's disk is full or fails
        75  not now (out of stock, closed, a conflict, no answer in time): try again
        78  the configuration is wrong
        79  machine: the power cut that was asked for
      """,
    version: Release.version,
    subcommands: [
      Run.self, Check.self, Doctor.self, OrderJuice.self, RestockFruit.self, DecideJob.self,
      Open.self, Close.self, Watch.self, Report.self, Learn.self, LedgerCommands.self,
      RunMachine.self, Demo.self,
    ])

  static func main() { runAndExit() }
}

typealias ConfigurationOptions = ConfigurationFileOptions<KioskConfiguration>
