import Foundation
import Logging

/// One line for each record on standard error. Under systemd the journal keeps the time and takes
/// the level as a prefix (sd-daemon(3)); elsewhere the line says both.
struct ConsoleLogHandler: LogHandler {
  var logLevel = Logger.Level.info
  var metadata = Logger.Metadata()

  private let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    // A line stays a line, and a terminal is told nothing else, whatever a panel calls itself.
    let text = String(
      "\(event.message)".unicodeScalars.map { scalar in
        scalar.properties.generalCategory == .control ? " " : Character(scalar)
      })
    if isJournal {
      StandardError.write("<\(event.level.syslogSeverity)>\(text)")
    } else {
      StandardError.write("\(Self.timeOfDay) \(event.level.rawValue) \(text)")
    }
  }
}

extension ConsoleLogHandler {
  /// By the system's clock and time zone.
  private static var timeOfDay: String {
    var (now, parts) = (time(nil), tm())
    localtime_r(&now, &parts)
    return [parts.tm_hour, parts.tm_min, parts.tm_sec]
      .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }
}

extension Logger.Level {
  /// RFC 5424, table 2.
  fileprivate var syslogSeverity: Int {
    switch self {
    case .critical: 2
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug, .trace: 7
    }
  }
}
