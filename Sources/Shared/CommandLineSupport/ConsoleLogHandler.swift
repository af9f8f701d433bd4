import Foundation
import KioskProtocol
package import Logging

/// Writes one line per log record to standard error. Under systemd the line starts with the level
/// as a prefix (sd-daemon(3)), and the journal adds the time; otherwise the line contains both.
package struct ConsoleLogHandler: LogHandler {
  package var logLevel = Logger.Level.info
  package var metadata = Logger.Metadata()

  private let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    // Names of panels are untrusted: a line break in a name could forge a log record.
    let text = event.message.description.visible()
    if isJournal {
      StandardError.write("<\(event.level.syslogSeverity)>\(text)")
    } else {
      StandardError.write("\(Self.timeOfDay) \(event.level.rawValue) \(text)")
    }
  }
}

extension ConsoleLogHandler {
  /// The time of day of the system's clock, in the system's time zone.
  private static var timeOfDay: String {
    var (now, parts) = (time(nil), tm())
    localtime_r(&now, &parts)
    func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
  }
}

extension Logger.Level {
  /// The severity in RFC 5424, table 2.
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
