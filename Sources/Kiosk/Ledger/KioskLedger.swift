import GRDB
import JuiceDomain
package import KioskCore
package import KioskProtocol

/// The durable record of one kiosk: an SQLite file that changes in whole transactions only.
///
/// Each `commit` that writes rows is one transaction and one fsync (WAL with `synchronous=FULL`; with `NORMAL` a power
/// cut loses the last commits). `LedgerWriter` writes the rows of a commit:
///
/// | table | content | written |
/// |---|---|---|
/// | `entry` | each decision; never changed or deleted | with the decision |
/// | `stock` | the current amount of each fruit | with the entries that change it |
/// | `state` | records of what the core keeps in memory; see `StateKey.Kind` | when they change |
/// | `reply` | response topics of unconfirmed answers | with the entry, until confirmed or too old |
/// | `delivery` | fingerprints of deliveries without an id | with the batch, until surely acknowledged |
/// | `kiosk` | one row: service, epoch, confirmed and uplinked entries, number of deliveries | when they change |
/// | `clock` | changes of the wall clock | when they are detected |
/// | `last_clock` | the clocks | with records that contain times |
/// | `topic` | the retained topics of this kiosk | by `setTopics` |
/// | `checkpoint`, `ticket` | stock and tickets at the checkpoint | every 10,000 entries |
///
/// The entries add up to the stock. Opening for writing fails if the sum of those after the checkpoint is wrong.
///
/// One process at a time can open a ledger for writing, and one thread at a time may use a `KioskLedger`: it belongs to
/// the actor that opened it, in production the `Controller`. The uplink and other processes (`juice-kiosk ledger …`)
/// open the ledger with `readOnly`.
package final class KioskLedger {
  let path: String
  let database: DatabaseQueue
  /// The lock, held while the ledger is open; or `nil` if the ledger is open for reading only.
  private let lock: LedgerLock?
  /// The prepared statements with their cached values, or `nil` if they must be created from the
  /// file.
  var writer: LedgerWriter?
  /// The index of answered requests, or `nil` if it must be created from the file.
  var requests: RequestIndex?
  /// The file that the kiosk has opened.
  private var identity: LedgerFile.Identity?
  /// The path of the copy that `checkFile` has saved, or `nil` if the file was in its place.
  private var rescued: String?
  /// The number of deliveries since the last transaction; again from 0 after `Fingerprint.kept` deliveries.
  var uncounted = 0

  /// Opens the ledger. For writing, creates the ledger if there is none.
  ///
  /// - Parameters:
  ///   - path: The path of the SQLite file. Its folder must exist.
  ///   - readOnly: Whether to open the ledger only for reading, even while a kiosk uses it.
  ///   - clock: The clock that shows whether the system was off since the last heartbeat.
  /// - Throws: `LedgerError` if the file is no ledger, is damaged, or a newer version has written it; for writing also
  ///   if another process holds the ledger, or its entries after the checkpoint do not add up to the stock.
  package init(
    path: String, readOnly: Bool = false, clock: SystemClock = .current
  ) throws(LedgerError) {
    self.path = path
    try LedgerFile(path: path).refuseLinks()
    lock = readOnly ? nil : try LedgerLock(path: path, clock: clock)
    try Self.refuseNewLedger(at: path)
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
      // Set here and not in `prepareDatabase`, after which GRDB turns on WAL and sets NORMAL
      // (Database.setUpWALMode).
      try file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try LedgerSchema.migrate(file, path: path)
      // A process that was killed may have written commits without syncing them. SQLite reads them
      // here, and the kiosk answers their requests, so a sync must make them survive a power cut.
      try file.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
      return file
    }
    identity = LedgerFile(path: path).identity
    if !readOnly {
      try lock?.lockDatabase(path)
      try verifySinceCheckpoint()
    }
  }

  /// Checks that a ledger that was removed while a kiosk ran is not followed by a new one.
  ///
  /// - Throws: `LedgerError.notRestored` if there is no ledger, but a copy that `checkFile` has saved.
  package static func refuseNewLedger(at path: String) throws(LedgerError) {
    let file = LedgerFile(path: path)
    // guard: a removed ledger is not replaced by a new one
    guard !file.exists, let rescued = file.rescued.last else { return }
    throw .notRestored(path: path, rescued: rescued.path)
  }

  /// Checks that the ledger's file is still in its place: SQLite also writes into a file that another
  /// process has removed, and all entries would be lost with the end of this process.
  ///
  /// - Throws: `LedgerError.removed`, after it has saved a copy of the ledger.
  package func checkFile() throws(LedgerError) {
    let file = LedgerFile(path: path)
    // guard: a kiosk whose ledger was removed sells nothing
    guard file.identity != identity else { return }
    if rescued == nil {
      let copy = file.rescued.next.path
      do throws(LedgerError) { try backUp(to: copy) } catch {
        throw .removed(path: path, rescued: nil, detail: "\(error)")
      }
      rescued = copy
    }
    throw .removed(path: path, rescued: rescued, detail: "")
  }

  /// Writes the write-ahead log into the database and closes the database. The ledger cannot be used
  /// afterwards.
  func close() throws(LedgerError) {
    (writer, requests) = (nil, nil)
    try LedgerError.catching(path) { try database.close() }
  }

  // MARK: Heartbeat and acknowledgements

  /// The last heartbeat that an earlier process recorded; or `nil` if there is none, if the system was off since then
  /// and its clock does not show for how long, or if the ledger is open for reading only.
  package var lastHeartbeat: Timestamp? { lock?.lastHeartbeat }

  /// Records that the kiosk is online, at most once in 100 ms. Writes the lock file without an
  /// fsync: the record survives a crash of the process. After a power cut the record may be too old,
  /// which is safe.
  package func recordHeartbeat(at now: Timestamp) { lock?.recordHeartbeat(at: now) }

  /// The entry up to which earlier processes acknowledged all deliveries, recorded with `recordAcknowledged`, or `nil`
  /// without a record. Always `nil` if the ledger is open for reading only.
  package var acknowledged: Int? { lock?.acknowledged }

  /// Records that the acknowledgements of all deliveries up to this entry have been written to the network; or, after a
  /// lost connection, that the broker has received them. Like a heartbeat, the record survives a crash of the process
  /// and may be too old after a power cut.
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
      // guard: a restart keeps the tickets of a day
      state.tickets[row["day"]] = row["number"]
    }
    state.topics = Set(try database.rows("SELECT topic FROM topic").map { $0["topic"] })
    let filters = try database.rows(
      "SELECT key FROM state WHERE kind = ?", [StateKey.Kind.subscription.rawValue])
    state.subscriptions = Set(filters.map { $0["key"] })
    state.marks = try records(in: database)
    state.alerts = try records(in: database)
    state.jobs = try open(in: database)
    state.machines = try records(in: database)
    state.makers = try records(in: database)
    state.programs = try records(in: database)
    state.batches = try records(in: database)
    state.expired = try records(in: database)
    state.taken = try database.rows(taken).map { try LedgerRow($0).entry }
    state.charges = try open(in: database)
    state.paymentDevices = try records(in: database)
    state.lastCharge = try lastCharge(in: database)
    state.sensors = try records(in: database)
    state.clock = try clock(in: database)
    state.presses = try database.rows(Self.lastPresses).compactMap(LedgerState.Press.init)
    return state
  }

  /// Creates the indexes that the kiosk needs. Call it before the kiosk is online: a new index of a long ledger
  /// reads all entries.
  ///
  /// The entries that are not orders and the hours of sensors have an index also in a kiosk without sensors and
  /// dates, because each kiosk answers requests for one day of the record of food safety.
  ///
  /// - Parameter ofCharges: Whether to index the steps of charges, which costs each order an allocation.
  package func createIndexes(ofCharges: Bool) throws(LedgerError) {
    var indexes = [
      "other_entry ON entry (at) WHERE \(Self.isOther)",
      "sensor_hour ON entry (event ->> 'hour') WHERE status = 'sensor_hour'",
    ]
    if ofCharges {
      indexes.append("charge_step ON entry (charge) WHERE charge IS NOT NULL")
    }
    try writing { database in
      for index in indexes {
        try database.execute(sql: "CREATE INDEX IF NOT EXISTS \(index)")
      }
    }
  }

  /// Selects a row if the ledger has the index of charges.
  static let chargeIndex =
    "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'charge_step'"

  /// Returns the highest number of a charge of an order, or 0 if there is none. A ledger without
  /// the index of charges has never had a charge.
  private static func lastCharge(in database: Database) throws -> Int {
    guard try !database.rows(Self.chargeIndex).isEmpty else { return 0 }
    let last = """
      SELECT MAX(charge) FROM entry
      WHERE charge IS NOT NULL AND status = 'awaiting_payment'
      """
    return try database.rows(last).first?[0] ?? 0
  }

  /// Returns the records of a kind of the table `state`.
  ///
  /// - Throws: `LedgerError.unreadableState` if a record cannot be read.
  static func records<Key: Hashable & LosslessStringConvertible, Record: StateRecord>(
    in database: Database
  ) throws -> [Key: Record] {
    let kind = Record.kind.rawValue
    var records: [Key: Record] = [:]
    for row in try database.rows("SELECT key, value FROM state WHERE kind = ?", [kind]) {
      let (text, value): (String, String) = (row["key"], row["value"])
      guard let key = Key(text), let record = try? Record(payload: Array(value.utf8)) else {
        throw LedgerError.unreadableState(kind: kind, key: text)
      }
      records[key] = record
    }
    return records
  }

  /// Returns the open jobs in the order of their numbers, and the recorded state of each machine.
  package func machineState() throws(LedgerError) -> (
    jobs: [Job], machines: [MachineID: MachineRecord]
  ) {
    try reading { (try Self.open(in: $0), try Self.records(in: $0)) }
  }

  /// Returns the open charges in the order of their numbers, and the recorded state of each payment
  /// device.
  package func paymentState() throws(LedgerError) -> (
    charges: [Charge], devices: [PaymentDeviceID: PaymentDeviceRecord]
  ) {
    try reading { (try Self.open(in: $0), try Self.records(in: $0)) }
  }

  /// Returns the open records of a kind in the order of their numbers.
  private static func open<Record: OpenRecord>(in database: Database) throws -> [Record] {
    let records: [Int: Record] = try records(in: database)
    return records.values.sorted { $0.number < $1.number }
  }

  /// Selects each day's last ticket after the checkpoint. This ticket overrides that of the table `ticket`. The end of
  /// an order has an earlier ticket.
  static let ticketsSinceCheckpoint = """
    SELECT day, MAX(ticket) AS number FROM log
    WHERE seq > (SELECT IFNULL(MAX(seq), 0) FROM checkpoint)
      AND status IN ('ready', 'accepted', 'awaiting_payment')
    GROUP BY day
    """

  /// Selects the presses among the last 10,000 entries, which at 160 entries per second include the
  /// longest debounce time, 60 seconds.
  private static let lastPresses = """
    SELECT source, juice, quantity, at, seq FROM log
    WHERE seq > (SELECT MAX(seq) FROM entry) - 10000
      AND id IS NULL AND job IS NULL AND source IS NOT NULL AND juice IS NOT NULL
      AND reason IS NOT '\(RejectionReason.retained.rawValue)'
    ORDER BY seq
    """

  /// The size of the database in bytes, including the content of the write-ahead log.
  package var size: Int {
    get throws(LedgerError) {
      let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
      return try reading { try $0.rows(pages).first?[0] ?? 0 }
    }
  }

  /// The number of rows that this object has written. A value that the kiosk, the only writer, has read from the ledger
  /// is current as long as this number does not change.
  package var changes: Int {
    get throws(LedgerError) { try reading { $0.totalChangesCount } }
  }

  /// Reads one state of the ledger, with any number of queries.
  ///
  /// A reader uses a transaction. The kiosk does not need one: it is the only writer, so all its
  /// queries read the same state. For a read transaction GRDB makes the connection `query_only`,
  /// and after each such change SQLite prepares every statement again.
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
  /// Returns the rows of a query. GRDB prepares the statement once and caches it, because preparing
  /// takes longer than most queries.
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
