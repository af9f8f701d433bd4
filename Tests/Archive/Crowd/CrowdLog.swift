import Foundation
import Logging

/// A log handler that writes the messages of a kiosk to standard output as lines of JSON.
struct CrowdLog: LogHandler {
  let kiosk: String
  var logLevel = Logger.Level.notice
  var metadata = Logger.Metadata()

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { LogLine(kiosk: kiosk, text: event.message.description).write() }

  private struct LogLine: Report {
    let at = Date().timeIntervalSince1970
    let kiosk: String
    let text: String
  }
}

/// A line of JSON on standard output.
protocol Report: Encodable {}

extension Report {
  func write() {
    guard var line = try? JSONEncoder().encode(self) else { return }
    line.append(UInt8(ascii: "\n"))
    // One call per line, so that lines of several threads do not mix.
    try? FileHandle.standardOutput.write(contentsOf: line)
  }
}
