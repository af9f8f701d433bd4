import Archive
import ArgumentParser
import Dispatch
import Foundation
import KioskProtocol
import MessageBroker
import Postgres
import Synchronization

/// Measures how fast the archive decodes events, how fast it commits and sums them, and how fast
/// its views are. For comparison it copies the same rows with COPY into tables with the same
/// columns and key, in the same batches and all at once. Tests/Kiosk/Benchmarks/archive_speed.py
/// runs it.
@main
struct MeasureArchive: ParsableCommand {
  @Option(help: "A connection string; the schema juice of this database is dropped.")
  var database: String
  @Option var rows = 2_000_000
  @Option var kiosks = 1000
  @Option var batch = 5000
  @Option(
    help: "Asks the views of the sums of this number of days, made up without their entries.")
  var days: Int?

  /// Number of rows per turn. The archive and COPY alternate, so that both run under the same load.
  /// At the end of a turn the archive waits for its sums, which run beside its batches.
  private static let turn = 2_000_000

  func validate() throws {
    guard batch > 0, batch <= min(rows, Self.turn) else {
      throw ValidationError("--batch is \(batch): from 1 to --rows, and \(Self.turn) at most")
    }
  }

  func run() throws {
    let other = try Scratch(database)
    try other.run("SET client_min_messages = error; DROP SCHEMA IF EXISTS juice CASCADE")
    let settings = ArchiveSettings(database: database)
    let store = try ArchiveStore(settings)
    guard try store.takeLock() else { throw ValidationError("another archiver is active") }
    try ArchiveStore.migrate(settings)
    try store.open()
    if let days {
      try other.generate(days: days, kiosks: kiosks)
      return try other.queryViews(
        at: Timestamp(milliseconds: Made.start + Int64(days) * 86_400_000))
    }
    for table in ["copied", "copied_at_once"] {
      try other.run("CREATE TABLE juice.\(table) (LIKE juice.event INCLUDING ALL)")
    }

    let summing = Summing(settings)
    var made = Made(kiosks: kiosks)
    var (storing, behind) = (Duration.zero, Duration.zero)
    let servers = (
      archive: try other.numbers(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'juice-archive'"
          + " AND pid <> pg_backend_pid()"),
      copy: try other.numbers("SELECT pg_backend_pid()")
    )
    var (decoding, archiving, copying, copyingAtOnce) = (Cost(), Cost(), Cost(), Cost())
    let turn = min(Self.turn, rows) / batch * batch
    for count in stride(from: turn, through: rows, by: turn) {
      let deliveries = (0..<turn / batch).map { _ in (0..<batch).map { _ in made.next() } }
      var batches: [EventBatch] = []
      decoding.add(servers: []) { batches = deliveries.map { EventBatch($0, root: "kiosk") } }
      try archiving.add(servers: servers.archive) {
        storing += try ContinuousClock().measure {
          for rows in batches {
            let outcome = try store.archive(rows)
            guard outcome.stored == batch else { throw ValidationError("\(outcome)") }
          }
        }
        // The sums are computed beside the batches.
        behind = try ContinuousClock().measure { try summing.wait(other) }
      }
      let texts = batches.map(\.copyText)
      try copying.add(servers: servers.copy) {
        for text in texts { try other.copy(text, to: "copied") }
      }
      let text = texts.flatMap(\.self)
      try copyingAtOnce.add(servers: servers.copy) { try other.copy(text, to: "copied_at_once") }
      print("\(count) rows, \(Self.memory) MiB")
      print("  decoded: \(decoding.text(count))")
      print("  archived: \(archiving.text(count))")
      print(
        "  stored: \(Int(Double(count) / (storing / .seconds(1)))) rows/s; the sums followed within \(behind)"
      )
      print("  copied in the same batches: \(copying.text(count))")
      print("  copied at once: \(copyingAtOnce.text(count))")
      try other.queryViews(at: made.latest)
    }
  }

  /// Resident memory of this process.
  private static var memory: Int {
    let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 256
  }
}

/// Computes the sums on a thread of its own, as the archiver does.
private final class Summing: Sendable {
  private let failure = Mutex<(any Error)?>(nil)

  init(_ settings: ArchiveSettings) {
    let hasBegun = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      do {
        let sums = try DailySums(settings)
        hasBegun.signal()
        while true {
          let isBehind = try sums.step() == DailySums.maximumMarks
          Thread.sleep(forTimeInterval: isBehind ? try sums.pause() / .seconds(1) : 0.1)
        }
      } catch {
        failure.withLock { $0 = error }
        hasBegun.signal()
      }
    }
    hasBegun.wait()
  }

  /// Waits until no day lacks entries.
  func wait(_ other: Scratch) throws {
    while try other.numbers("SELECT days FROM juice.summed_up") != [0] {
      if let failure = failure.withLock({ $0 }) { throw failure }
      Thread.sleep(forTimeInterval: 0.02)
    }
  }
}

/// The time spent on a part of the rows. On a machine with other load, processor time is more
/// reliable than elapsed time.
private struct Cost {
  private var wall = Duration.zero
  private var client = 0.0
  private var server = 0.0

  /// - Parameter servers: The processes of PostgreSQL that serve this part.
  mutating func add(servers pids: [Int], _ work: () throws -> Void) rethrows {
    func inServers() -> Double { pids.reduce(0) { $0 + Self.processor("\($1)") } }
    let before = (Self.processor("self"), inServers())
    wall += try ContinuousClock().measure(work)
    client += Self.processor("self") - before.0
    server += inServers() - before.1
  }

  func text(_ rows: Int) -> String {
    func micro(_ seconds: Double) -> String {
      "\((seconds * 1e7 / Double(rows)).rounded() / 10) us"
    }
    return
      "\(Int(Double(rows) / (wall / .seconds(1)))) rows/s; a row takes \(micro(client)) of a processor here and "
      + "\(micro(server)) in the server"
  }

  /// Returns the processor time of a process in seconds (proc(5)).
  private static func processor(_ pid: String) -> Double {
    let stat = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 13 else { return 0 }
    return fields[11...12].reduce(0) { $0 + (Double($1) ?? 0) } / 100
  }
}

/// A separate session of PostgreSQL, independent of the archive.
private struct Scratch {
  private let database: PostgresConnection

  init(_ text: String) throws { database = try PostgresConnection(text, timeout: .seconds(600)) }

  func run(_ sql: String) throws { try database.run(sql) }

  func numbers(_ sql: String) throws -> [Int] {
    try database.run(sql).rows.compactMap { $0.first?.flatMap { Int($0) } }
  }

  func copy(_ rows: [UInt8], to table: String) throws {
    try database.copy("COPY juice.\(table) (\(EventRow.columnList)) FROM STDIN", rows)
  }

  /// Inserts the sums that the archive would have computed for the given number of days and kiosks,
  /// with 300 entries per kiosk and day. No view reads the entries themselves.
  func generate(days: Int, kiosks: Int) throws {
    let each = """
      FROM generate_series(0, \(kiosks) - 1) k, generate_series(0, \(days) - 1) d,
        LATERAL (SELECT 'k' || k AS kiosk, to_timestamp(\(Made.start) / 1000)::date + d AS day) of
      """
    let juices = "unnest('{kiwi,mango,banana,pineapple}'::text[])"
    try run(
      """
      INSERT INTO juice.sales_day SELECT day, kiosk, juice, 50, 50, 2, 0, 0
        \(each), \(juices) juice ORDER BY d, k;
      INSERT INTO juice.takings_day SELECT day, kiosk, 'EUR', 700.00 \(each) ORDER BY d, k;
      INSERT INTO juice.fruit_day SELECT day, kiosk, fruit, 180, 120 \(each), \(juices) fruit ORDER BY d, k;
      INSERT INTO juice.cup_day SELECT day, kiosk, 'bar', 75, 900, 300, 0 \(each) ORDER BY d, k;
      INSERT INTO juice.stockout SELECT kiosk, fruit, 7, d, day + interval '9 h', day + interval '10 h', false
        \(each), \(juices) fruit ORDER BY d, k;
      INSERT INTO juice.ledger SELECT 'k' || k, 7, 1, 300 * \(days) FROM generate_series(0, \(kiosks) - 1) k;
      INSERT INTO juice.gap SELECT 'k' || k, 7, 5, 9, now(), now() FROM generate_series(0, 999) k
      """)
    print("the sums of \(300 * days * kiosks) entries of \(kiosks) kiosks")
  }

  /// Prints the time of each view for one kiosk and for all of them, on its second run.
  func queryViews(at latest: Timestamp) throws {
    try run(
      "ANALYZE juice.sales_day, juice.takings_day, juice.fruit_day, juice.cup_day, juice.stockout, juice.ledger"
    )
    let (day, month) = ("'\(latest)'::date - 1", "'\(latest)'::date - 30")
    let questions = [
      (
        "sales, one kiosk, 30 days",
        "SELECT * FROM juice.sales WHERE kiosk = 'k7' AND day > \(month)"
      ),
      (
        "sales, all, 30 days",
        "SELECT day, juice, sum(glasses) FROM juice.sales WHERE day > \(month) GROUP BY 1, 2"
      ),
      ("takings, all, 30 days", "SELECT sum(amount) FROM juice.sold WHERE day > \(month)"),
      (
        "fruit used, all, 30 days",
        "SELECT fruit, sum(used) FROM juice.fruit_used WHERE day > \(month) GROUP BY 1"
      ),
      (
        "time to cup, all, 30 days",
        "SELECT avg(average), max(slowest) FROM juice.time_to_cup WHERE day > \(month)"
      ),
      (
        "sold out, one kiosk, 30 days",
        "SELECT sum(hours) FROM juice.sold_out WHERE kiosk = 'k7' AND since > \(month)"
      ),
      (
        "sold out, all, a day",
        "SELECT sum(hours) FROM juice.sold_out WHERE since > \(day) AND since < \(day) + 1"
      ),
      (
        "time to restock, all, a day",
        "SELECT avg(taken) FROM juice.time_to_restock WHERE since > \(day) AND since < \(day) + 1"
      ),
      ("missing", "SELECT count(*), sum(entries) FROM juice.missing"),
    ]
    for (name, sql) in questions {
      try run(sql)
      let taken = try ContinuousClock().measure { try run(sql) }
      print("  \(name): \(Int(taken / .milliseconds(1))) ms")
    }
  }
}

/// A generator of events of kiosks that sell 300 juices a day, and run out of fruit and are
/// restocked now and then.
private struct Made {
  private var last: [Int]
  private var random = SystemRandomNumberGenerator()
  private(set) var latest = Timestamp(milliseconds: 0)
  static let start: Int64 = 1_793_491_200_000

  init(kiosks: Int) { last = Array(repeating: 0, count: kiosks) }

  mutating func next() -> Delivery {
    let kiosk = Int.random(in: last.indices, using: &random)
    last[kiosk] += 1
    let seq = last[kiosk]
    let at = Timestamp(milliseconds: Self.start + Int64(seq) * 288_000)
    latest = max(latest, at)
    let juices = [
      ("kiwi", "kiwi", 3), ("mango", "mango", 3), ("banana", "banana", 2),
      ("pineapple", "pineapple", 2),
    ]
    let (juice, fruit, used) = juices[(seq / 2) % juices.count]
    let order =
      #""source":"order/p\#(seq % 4)","id":"\#(kiosk)-\#(seq)","juice":"\#(juice)","quantity":1,"ticket":\#(seq % 300)"#
    let members =
      switch seq % 100 {
      case 0:
        #""status":"restocked","source":"restock/van","changes":{"banana":30,"kiwi":40,"mango":40,"pineapple":30}"#
      case 98, 99: #""status":"out_of_stock",\#(order),"missing":{"\#(fruit)":\#(used)}"#
      case let step where step > 50 && step % 2 == 0:
        #""status":"made",\#(order),"machine":"bar","job":\#(seq - 1),"amount":"3.50","currency":"EUR""#
      case let step where step > 50:
        #""status":"accepted",\#(order),"machine":"bar","place":1,"changes":{"\#(fruit)":-\#(used)}"#
      default:
        #""status":"ready",\#(order),"amount":"3.50","currency":"EUR","changes":{"\#(fruit)":-\#(used)}"#
      }
    return Delivery(
      message: Message(
        topic: "kiosk/k\(kiosk)/events", text: #"{"seq":\#(seq),"at":"\#(at)",\#(members)}"#),
      packetID: 1)
  }
}
