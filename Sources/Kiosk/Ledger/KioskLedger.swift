import GRDB
import JuiceDomain
package import KioskCore
package import KioskProtocol

/// The durable record of one kiosk: an SQLite file that only ever grows by whole transactions.
///
/// Each `commit` is one transaction and one fsync (WAL with `synchronous=FULL`: with `NORMAL` a
/// power cut forgets the last commits). The entries add up to the stock; opening a file where they
/// do not is refused.
///
/// One process at a time, and one thread: a ledger belongs to the actor that opened it. Readers of
/// other processes (`juice-kiosk ledger …`) open it with `readOnly`.
package final class KioskLedger {
  let path: String
  let database: DatabaseQueue
  /// Held as long as the ledger is open; `nil` for a reader.
  private let lock: LedgerLock?
  /// What is remembered of the file, so that an order need not read it; `nil`: it has to be read.
  var writer: LedgerWriter?
  var requests: RequestIndex?
  /// How many deliveries have come since the last transaction.
  var uncounted = 0

  /// Opens the ledger, and creates it where there is none.
  ///
  /// - Parameters:
  ///   - path: of the SQLite file. Its folder must exist.
  ///   - readOnly: for a look at the ledger while a kiosk may be using it.
  ///   - clock: tells whether the system was off since the last sign of life.
  /// - Throws: `LedgerError`: held by another process, made by a newer version, damaged, or its
  ///   entries do not add up to the stock.
  package init(
    path: String, readOnly: Bool = false, clock: SystemClock = .current
  ) throws(LedgerError) {
    self.path = path
    try LedgerFile(path: path).refuseLinks()
    lock = readOnly ? nil : try LedgerLock(path: path, clock: clock)
    var configuration = Configuration()
    configuration.readonly = readOnly
    configuration.label = "ledger"
    configuration.busyMode = .timeout(5)
    if !readOnly { configuration.journalMode = .wal }
    let file = try LedgerError.catching(path) {
      try DatabaseQueue(path: path, configuration: configuration)
    }
    database = try LedgerError.catching(path) {
      if readOnly {
        try LedgerSchema.check(file, path: path)
        return file
      }
      // Not in `prepareDatabase`: GRDB says NORMAL after that, when it turns on WAL
      // (Database.setUpWALMode).
      try file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try LedgerSchema.migrate(file, path: path)
      // A process that was killed may have written what it did not live to sync: it is read back
      // here, but only a sync makes it outlive a power cut, and what is read is answered.
      try file.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
      return file
    }
    if !readOnly { try verifySinceCheckpoint() }
  }

  /// Brings everything into the file; nothing may be asked of the ledger then.
  func close() throws(LedgerError) {
    (writer, requests) = (nil, nil)
    try LedgerError.catching(path) { try database.close() }
  }

  // MARK: Being alive

  /// When a process last had this ledger open, as far as `recordHeartbeat` has said; `nil` if never, or if the
  /// system was off since and cannot tell for how long.
  package var lastHeartbeat: Timestamp? { lock?.lastHeartbeat }

  /// Notes that the kiosk is alive. It writes the lock file without an fsync: it outlives a crash
  /// of the process, and after a power cut it is too old, which is the safe side.
  package func recordHeartbeat(at now: Timestamp) { lock?.recordHeartbeat(at: now) }

  /// The entry up to which the last process had acknowledged its orders, as far as
  /// `recordAcknowledged` has said; `nil` if it has not.
  package var acknowledged: Int? { lock?.acknowledged }

  /// Notes that the acknowledgements of the orders up to this entry have been written to the
  /// network. Like `recordHeartbeat` it outlives a crash of the process, and may be too old after a power cut.
  package func recordAcknowledged(through seq: Int) { lock?.recordAcknowledged(through: seq) }
}

extension KioskLedger {
  package func state() throws(LedgerError) -> LedgerState { try reading { try Self.state(in: $0) } }

  static func state(in database: Database) throws -> LedgerState {
    var state = LedgerState()
    let kiosk = try database.rows("SELECT confirmed, service, epoch FROM kiosk").first
    state.confirmed = kiosk?["confirmed"] ?? 0
    state.epoch = kiosk?["epoch"] ?? 0
    state.service = (kiosk?["service"]).flatMap(ServiceState.init(rawValue:)) ?? .open
    state.seq = try database.rows("SELECT IFNULL(MAX(seq), 0) FROM entry").first?[0] ?? 0
    for row in try database.rows("SELECT fruit, quantity FROM stock") {
      if let fruit = Fruit.ID(row["fruit"] as String) { state.stock[fruit] = row["quantity"] }
    }
    let tickets = "SELECT day, number FROM ticket UNION ALL \(Self.ticketsSinceCheckpoint)"
    for row in try database.rows(tickets) {
      // guard: the tickets of a day outlive a restart
      state.tickets[row["day"]] = row["number"]
    }
    state.topics = Set(try database.rows("SELECT topic FROM topic").map { $0["topic"] })
    for row in try database.rows("SELECT key, value FROM mark") {
      state.marks[row["key"]] = row["value"]
    }
    (state.jobs, state.machines) = try machineState(in: database)
    state.presses = try database.rows(Self.lastPresses).compactMap(LedgerState.Press.init)
    return state
  }

  /// The jobs that are not over, in the order of their numbers, and what is known of each machine.
  package func machineState() throws(LedgerError) -> (
    jobs: [Job], machines: [MachineID: MachineRecord]
  ) {
    try reading { try Self.machineState(in: $0) }
  }

  private static func machineState(
    in database: Database
  ) throws -> (jobs: [Job], machines: [MachineID: MachineRecord]) {
    var machines: [MachineID: MachineRecord] = [:]
    for row in try database.rows("SELECT name, status, failures FROM machine") {
      guard let name = MachineID(row["name"] as String),
        let status = MachineStatus(row["status"] as String)
      else { continue }
      machines[name] = MachineRecord(status: status, failures: row["failures"])
    }
    return (try database.rows(openJobs).map { try Job($0) }, machines)
  }

  /// Later than those in `ticket`, also of the same days.
  static let ticketsSinceCheckpoint = """
    SELECT day, MAX(ticket) AS number FROM entry
    WHERE seq > (SELECT IFNULL(MAX(seq), 0) FROM checkpoint) AND day IS NOT NULL GROUP BY day
    """

  private static let openJobs = """
    SELECT entry.*, job.number, job.state, job.topic, job.correlation,
      (SELECT at FROM entry WHERE seq = job.number) AS begun
    FROM job JOIN entry USING (seq) ORDER BY job.number
    """

  /// More than anybody presses within the longest time that a button may bounce.
  private static let lastPresses = """
    SELECT source, juice, quantity, at, seq FROM entry
    WHERE seq > (SELECT MAX(seq) FROM entry) - 1000
      AND id IS NULL AND job IS NULL AND source IS NOT NULL AND juice IS NOT NULL
      AND reason IS NOT '\(RejectionReason.retained.rawValue)'
    ORDER BY seq
    """

  /// Bytes of the file, once all is in it.
  package var size: Int {
    get throws(LedgerError) {
      let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
      return try reading { try $0.rows(pages).first?[0] ?? 0 }
    }
  }

  /// Reads one state of the ledger, however many queries it takes.
  ///
  /// Nobody but the kiosk writes, so for the kiosk itself every query sees the same. It does without
  /// the transaction that a reader needs: GRDB makes the connection `query_only` for it, and after
  /// each such change SQLite prepares every statement anew.
  func reading<Value>(
    _ read: (Database) throws -> Value
  ) throws(LedgerError) -> Value {
    try LedgerError.catching(path) {
      try lock == nil ? database.read(read) : database.unsafeRead(read)
    }
  }

  func writing<Value>(
    _ write: (Database) throws -> Value
  ) throws(LedgerError) -> Value {
    try LedgerError.catching(path) { try database.write(write) }
  }
}

extension Database {
  /// The rows of a query, which is prepared once: that takes longer than most of them run.
  func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
  }
}

extension LedgerState.Press {
  fileprivate init?(_ row: Row) {
    guard let source = Source(row["source"] as String), let juice = Juice.ID(row["juice"] as String)
    else { return nil }
    self.init(
      source: source, order: Order(juice: juice, quantity: row["quantity"]),
      at: Timestamp(milliseconds: row["at"]), seq: row["seq"])
  }
}
