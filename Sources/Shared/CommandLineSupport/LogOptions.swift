package import ArgumentParser
import Foundation
package import Logging

package struct LogOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Log level: trace, debug, info, notice, warning, error or critical.",
      discussion: "Default: KIOSK_LOG_LEVEL, else info.",
      valueName: "level"),
    transform: { text in
      guard let level = Logger.Level(rawValue: text) else {
        throw ValidationError("\(text) is not a log level.")
      }
      return level
    })
  package var logLevel: Logger.Level?

  package init() {}

  /// Creates the program's logger, with the selected level.
  ///
  /// - Parameter label: The name of the program.
  package func makeLogger(_ label: String) throws(Failure) -> Logger {
    var logger = Logger(label: label) { _ in ConsoleLogHandler() }
    logger.logLevel = try level
    return logger
  }

  private var level: Logger.Level {
    get throws(Failure) {
      if let logLevel { return logLevel }
      guard let text = ProcessInfo.processInfo.environment["KIOSK_LOG_LEVEL"] else { return .info }
      guard let level = Logger.Level(rawValue: text) else {
        throw .badConfiguration(
          "KIOSK_LOG_LEVEL is \(text): use trace, debug, info, notice, warning, error or critical")
      }
      return level
    }
  }
}
