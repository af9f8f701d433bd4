import ArgumentParser
import CommandLineSupport

@main
struct JuiceZVT: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "juice-zvt",
    abstract: "Takes cards: connects a ZVT card terminal to a juice kiosk.",
    discussion: """
      It reads the configuration file given with --config, or else /etc/juice-zvt/zvt.yaml. \
      Environment variables such as KIOSK_TERMINAL_HOST override the file.
      """,
    version: Release.version,
    subcommands: [Run.self, Check.self, Doctor.self])

  static func main() { runAndExit() }
}

typealias ConfigurationOptions = ConfigurationFileOptions<ZVTConfiguration>
