import Foundation
import Logging

/// What a kiosk says of itself, as a line of JSON on standard output.
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

/// A line of JSON for whoever has started the crowd.
protocol Report: Encodable {}

extension Report {
  func write() {
    guard var line = try? JSONEncoder().encode(self) else { return }
    line.append(UInt8(ascii: "\n"))
    // One call: lines of several threads do not mix.
    try? FileHandle.standardOutput.write(contentsOf: line)
  }
}
