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
      Button panels publish orders, the kiosk makes juice from the fruit in its stock, displays \
      show the published stock, and an operator restocks remotely.

      Every command reads the same configuration file: the one given with --config, or \
      /etc/juice-kiosk/kiosk.yaml. Without a file the defaults apply, with a broker on \
      127.0.0.1:1883. Environment variables such as KIOSK_BROKER_HOST override the file.

      EXIT STATUS
        0   done
        1   doctor found warnings, but no errors
        64  the command line is wrong
        65  the kiosk rejected the command, or a file has invalid content
        69  the broker cannot be reached, or refused the login
        74  the ledger's disk is full or fails, or the output cannot be written
        75  temporary failure (out of stock, closed, a conflict, no answer in time): try again
        78  the configuration is wrong
        79  machine, payment: a simulated power cut
      """,
    version: Release.version,
    subcommands: [
      Run.self, Check.self, Doctor.self, OrderJuice.self, RestockFruit.self, RemoveFruit.self,
      DecideJob.self, DecideCharge.self, DecideSensor.self, RunProgram.self,
      Open.self, Close.self, Watch.self, Report.self, Learn.self, LedgerCommands.self,
      RunMachine.self, RunPayment.self, Demo.self,
    ])

  static func main() { runAndExit(daemon: "run") }
}

typealias ConfigurationOptions = ConfigurationFileOptions<KioskConfiguration>
