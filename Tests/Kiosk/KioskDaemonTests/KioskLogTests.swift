import JuiceDomain
import KioskProtocol
import Logging
import MessageBroker
import Synchronization
import Testing

@testable import KioskDaemon

/// Tests the rate limit of log lines that clients can cause at will.
@Suite struct KioskLogTests {
  private let lines = Lines()
  private var log: KioskLog

  init() {
    log = KioskLog(
      logger: Logger(label: "test") { [lines] _ in Recorder(lines: lines) })
  }

  @Test mutating func whatCannotBePublishedIsToldOnceAMinuteAndInShort() {
    let topic = "kiosk/k1/order/" + String(repeating: "p", count: 65_515) + "/result"
    for second in 0..<120 {
      log.unpublished(
        .cannotPublish(topics: [topic, topic, topic, topic], reason: "too long"),
        at: Timestamp(milliseconds: Int64(second) * 1000))
    }
    #expect(lines.told.count == 2)
    #expect(lines.told.allSatisfy { $0.utf8.count < 500 })
    #expect(lines.told.last?.contains("and 59 more") == true)
  }

  @Test mutating func whatIsNoReadingIsToldOnceAMinute() {
    for second in 0..<120 {
      log.ignored("fridge", at: Timestamp(milliseconds: Int64(second) * 1000))
    }
    #expect(lines.told.count == 2)
    #expect(lines.told.last?.contains("and 59 more") == true)
  }

  @Test mutating func aMachineIsToldOfWhenItStopsWorking() {
    func told(_ state: MachineReport.State, reason: String? = nil, second: Int64) {
      let report = MachineReport(
        state: state, reason: reason, queue: 0, juices: [], jobs: [], ready: [])
      log.machines([("bar", report)], at: Timestamp(milliseconds: second * 1000))
    }
    told(.unknown, second: 0)
    told(.idle, second: 1)
    told(.fault, reason: "no cups", second: 2)
    told(.fault, reason: "no cups", second: 3)
    // A machine that disconnects and reconnects repeatedly is logged once a minute.
    for second in Int64(4)..<60 {
      told(second.isMultiple(of: 2) ? .offline : .busy, second: second)
    }
    #expect(
      lines.told == [
        "machine bar is fault: no cups",
        "machine bar works again (and 1 more for this reason since the last such line)",
      ])
    // The last state that got no line gets one later.
    told(.offline, second: 61)
    #expect(log.lacksMachine)
    told(.offline, second: 62)
    #expect(!log.lacksMachine)
    told(.idle, second: 63)
    #expect(
      lines.told.dropFirst(2) == [
        "machine bar is offline (and 27 more for this reason since the last such line)",
        "machine bar works again",
      ])
    for second in Int64(64)...122 { told(.offline, second: second) }
    #expect(lines.told.dropFirst(4) == ["machine bar is offline"])
  }

  @Test mutating func aLongNameIsCut() {
    let name = String(repeating: "p", count: 65_515)
    log.rejected(
      .malformed, from: Source(kind: .order, name: name), detail: "the name is too long",
      at: Timestamp(milliseconds: 0))
    #expect(lines.told.count == 1)
    #expect(lines.told.allSatisfy { $0.utf8.count < 200 && $0.contains("the name is too long") })
  }
}

private final class Lines: Sendable {
  private let all = Mutex<[String]>([])

  var told: [String] { all.withLock(\.self) }

  func add(_ line: String) { all.withLock { $0.append(line) } }
}

private struct Recorder: LogHandler {
  let lines: Lines
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.notice

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.add("\(event.message)") }
}
