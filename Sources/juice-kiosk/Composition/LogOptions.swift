import ArgumentParser
import Foundation
import Logging

struct LogOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How much to tell: trace, debug, info, notice, warning, error or critical.",
      discussion: "Default: KIOSK_LOG_LEVEL, else info, which has one line for each order.",
      valueName: "level"),
    transform: { text in
      guard let level = Logger.Level(rawValue: text) else {
        throw ValidationError("\(text) is no log level.")
      }
      return level
    })
  var logLevel: Logger.Level?

  func makeLogger() throws(Failure) -> Logger {
    var logger = Logger(label: "juice-kiosk") { _ in ConsoleLogHandler() }
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
