import GRDB
package import JuiceMaker
package import KioskMessages

/// The durable record of one kiosk: an SQLite file that only ever grows by whole transactions.
///
/// Each `commit` is one transaction and one fsync (WAL with `synchronous=FULL`: with `NORMAL` a
/// power cut forgets the last commits). The entries add up to the stock; opening a file where they
/// do not is refused.
///
/// One process at a time, and one thread: a ledger belongs to the actor that opened it. Readers of
/// other processes (`juice-kiosk ledger …`) open it with `readOnly`.
package final class Ledger {
  let database: DatabaseQueue
  /// Held as long as the ledger is open; `nil` for a reader.
  private let lock: LedgerLock?

  /// Opens the ledger, and creates it where there is none.
  ///
  /// - Parameters:
  ///   - path: of the SQLite file. Its folder must exist.
  ///   - readOnly: for a look at the ledger while a kiosk may be using it.
  /// - Throws: `LedgerError`: held by another process, made by a newer version, damaged, or its
  ///   entries do not add up to the stock.
  package init(path: String, readOnly: Bool = false) throws(LedgerError) {
    lock = readOnly ? nil : try LedgerLock(path: path)
    var configuration = Configuration()
    configuration.readonly = readOnly
    configuration.label = "ledger"
    configuration.busyMode = .timeout(5)
    if !readOnly { configuration.journalMode = .wal }
    database = try LedgerError.catching(path) {
      try DatabaseQueue(path: path, configuration: configuration)
    }
    try LedgerError.catching(path) {
      if readOnly {
        try LedgerSchema.check(database)
      } else {
        // Not in `prepareDatabase`: GRDB says NORMAL after that, when it turns on WAL
        // (Database.setUpWALMode).
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try LedgerSchema.migrate(database)
        // A process that was killed may have written what it did not live to sync: it is read back
        // here, but only a sync makes it outlive a power cut, and what is read is answered.
        try database.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
      }
    }
    if !readOnly { try verifySinceCheckpoint() }
  }

  // MARK: Being alive

  /// When a process last had this ledger open, as far as `beat` has said; `nil` if never.
  package var lastAlive: Timestamp? { lock?.lastAlive }

  /// Notes that the kiosk is alive. It touches the lock file without an fsync: it outlives a crash
  /// of the process, and after a power cut it is too old, which is the safe side.
  package func beat(at now: Timestamp) { lock?.beat(at: now) }

  /// The entry up to which the last process had acknowledged its orders, as far as
  /// `noteAcknowledged` has said; `nil` if it has not.
  package var acknowledged: Int? { lock?.acknowledged }

  /// Notes that the acknowledgements of the orders up to this entry have been written to the
  /// network. Like `beat` it outlives a crash of the process, and may be too old after a power cut.
  package func noteAcknowledged(through seq: Int) { lock?.noteAcknowledged(through: seq) }
}

extension Ledger {
  /// What a kiosk starts from.
  package struct State: Hashable, Sendable {
    /// The number of the last entry; 0 in a new ledger.
    package var seq = 0
    /// Every fruit that the ledger has ever held.
    package var stock: FruitAmounts = [:]
    package var service: ServiceState = .open
    /// The last ticket number of each day, the days counted from 1970-01-01.
    package var tickets: [Int: Int] = [:]
    /// The entry up to which the broker has confirmed results and events.
    package var confirmed = 0
    /// The retained topics that were published and not cleared since.
    package var topics: Set<String> = []
    /// The last value of each counter, and the state of each contact, of the devices that have some.
    package var marks: [String: String] = [:]
    /// The last orders without an id, the oldest first: a bouncing button may press again.
    package var presses: [Press] = []

    package struct Press: Hashable, Sendable {
      package let source: Source
      package let order: Order
      package let at: Timestamp
      /// Of the entry.
      package let seq: Int
    }

    package init() {}
  }

  package func state() throws(LedgerError) -> State {
    try reading { database in
      var state = State()
      let kiosk = try Row.fetchOne(database, sql: "SELECT confirmed, service FROM kiosk")
      state.confirmed = kiosk?["confirmed"] ?? 0
      state.service = (kiosk?["service"]).flatMap(ServiceState.init(rawValue:)) ?? .open
      state.seq = try Int.fetchOne(database, sql: "SELECT MAX(seq) FROM entry") ?? 0
      for row in try Row.fetchAll(database, sql: "SELECT fruit, quantity FROM stock") {
        if let fruit = Fruit.ID(row["fruit"] as String) { state.stock[fruit] = row["quantity"] }
      }
      for row in try Row.fetchAll(database, sql: "SELECT day, number FROM ticket") {
        state.tickets[row["day"]] = row["number"]
      }
      state.topics = try String.fetchSet(database, sql: "SELECT topic FROM topic")
      for row in try Row.fetchAll(database, sql: "SELECT key, value FROM mark") {
        state.marks[row["key"]] = row["value"]
      }
      state.presses = try Row.fetchAll(database, sql: Self.lastPresses).compactMap(State.Press.init)
      return state
    }
  }

  /// More than anybody presses within the longest time that a button may bounce.
  private static let lastPresses = """
    SELECT source, juice, quantity, at, seq FROM entry
    WHERE seq > (SELECT MAX(seq) FROM entry) - 1000
      AND request IS NULL AND source IS NOT NULL AND juice IS NOT NULL
      AND reason IS NOT '\(RejectionReason.retained.rawValue)'
    ORDER BY seq
    """

  func reading<Value>(
    _ read: (Database) throws -> Value
  ) throws(LedgerError) -> Value {
    try LedgerError.catching(database.path) { try database.read(read) }
  }

  func writing<Value>(
    _ write: (Database) throws -> Value
  ) throws(LedgerError) -> Value {
    try LedgerError.catching(database.path) { try database.write(write) }
  }
}

extension Ledger.State.Press {
  fileprivate init?(_ row: Row) {
    guard let source = Source(row["source"] as String), let juice = Juice.ID(row["juice"] as String)
    else { return nil }
    self.init(
      source: source, order: Order(juice: juice, quantity: row["quantity"]),
      at: Timestamp(milliseconds: row["at"]), seq: row["seq"])
  }
}
