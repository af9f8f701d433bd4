import ArgumentParser
import CommandLineSupport
import JuiceDomain
import KioskProtocol
import TimeZones
import YAMLConfiguration
import ZVT

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the configuration.",
    discussion: "Prints every error with its file and line, or the main settings if there is none.")

  @OptionGroup var options: ConfigurationOptions

  func run() throws {
    let configuration = try options.load()
    var warnings = [try configuration.broker.passwordWarning()].compactMap(\.self)
    if let warning = options.serviceLinksWarning { warnings.append(warning) }
    try StandardOutput.write("The configuration is good.")
    let (broker, device) = (configuration.broker, configuration.device)
    let endOfDay = configuration.endOfDay.map { time in
      "every day at \(time.hour):\(time.minute < 10 ? "0" : "")\(time.minute), "
        + (configuration.timeZone?.name ?? "")
    }
    let facts = [
      ("device", "\(configuration.topics.base), \(configuration.name)"),
      (
        "terminal",
        "\(configuration.host):\(configuration.port), \(device.currency.code), mode "
          + device.mode.rawValue
      ),
      ("journal", configuration.journal),
      ("close", endOfDay ?? "no end of day: set device.end_of_day"),
      ("broker", "\(broker.host):\(broker.port)\(broker.tls == nil ? "" : " with TLS")"),
    ]
    for (label, text) in facts + warnings.map({ ("warning", $0) }) {
      try StandardOutput.write("  \(label.padded(to: 9)) \(text)")
    }
  }
}
