import GRDB

/// The tables, as a list of migrations. Migrations are only appended, and contain only SQL, so that
/// later code cannot change their effect.
enum LedgerSchema {
  static func migrate(_ database: DatabaseQueue, path: String) throws {
    try refuseNewer(database, path: path)
    try migrator.migrate(database)
  }

  /// Checks that a reader can use a ledger, without changing it.
  ///
  /// - Throws: `LedgerError` if the file is not a ledger, or a newer version has written it.
  static func check(_ database: DatabaseQueue, path: String) throws {
    try refuseNewer(database, path: path)
    let applied = try database.read { try migrator.appliedMigrations($0) }
    if applied.isEmpty { throw LedgerError.cannotOpen(path: path, detail: "it is not a ledger") }
  }

  private static func refuseNewer(_ database: DatabaseQueue, path: String) throws {
    let isNewer = try database.read { try migrator.hasBeenSuperseded($0) }
    if isNewer { throw LedgerError.newer(path: path) }
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1.0") { try $0.execute(sql: first) }
    return migrator
  }

  /// The SQL expression of a new epoch: a random number from 1 to 2^53 - 1, which each reader of JSON
  /// reads exactly. A time could occur twice: a computer without a battery for its clock starts
  /// at the same time after each power cut, and clocks are set back. Two random epochs are equal with
  /// a probability of 1 in 9 · 10^15.
  static let newEpoch = "max(1, random() & 9007199254740991)"

  private static let first = """
    -- All decisions; rows are never changed.
    CREATE TABLE entry (
      seq INTEGER PRIMARY KEY CHECK (seq > 0),
      at INTEGER NOT NULL,   -- milliseconds since 1970
      source TEXT,           -- order/<panel>, restock/<source>, service/<source>; null: the kiosk
      id TEXT,               -- chosen by the sender
      status TEXT NOT NULL,
      job INTEGER REFERENCES entry,  -- the accepted order that the entry refers to
      charge INTEGER,
      day INTEGER,           -- of the ticket, since 1970 in the kiosk's time zone
      event TEXT NOT NULL,   -- the entry as it is published; `ledger verify` compares the columns above with it
      stock TEXT,            -- the stock after the entry, as in the answer
      detail TEXT,           -- of a rejection, in words
      message TEXT           -- for the customer
    ) STRICT;

    -- Finds the outcome of each accepted order.
    CREATE INDEX job_end ON entry (job) WHERE job IS NOT NULL;

    -- The entries with the members of their events. Computed columns of the table would be computed with each
    -- order. An amount has all decimals of its currency, so its digits are the smallest units.
    CREATE VIEW log AS
    SELECT seq, at, event ->> 'at' AS time, source, id, status, event ->> 'juice' AS juice,
      event ->> 'quantity' AS quantity, event ->> 'ticket' AS ticket, day, event -> 'changes' AS changes,
      event -> 'missing' AS missing, stock, event ->> 'reason' AS reason, detail, message,
      event ->> 'machine' AS machine, event ->> 'place' AS place, job,
      IFNULL(event ->> 'epoch', 0) AS epoch,
      CAST(replace(event ->> 'amount', '.', '') AS INTEGER) AS amount, event ->> 'currency' AS currency,
      charge, event ->> 'device' AS device, event ->> 'program' AS program,
      event ->> 'sensor' AS sensor, event
    FROM entry;

    -- The current stock: the sum of all entries.
    CREATE TABLE stock (
      fruit TEXT PRIMARY KEY,
      quantity INTEGER NOT NULL CHECK (quantity >= 0)
    ) STRICT, WITHOUT ROWID;

    -- The stock after the last verified entry.
    CREATE TABLE checkpoint (
      fruit TEXT PRIMARY KEY REFERENCES stock,
      seq INTEGER NOT NULL,
      quantity INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- The last ticket of each day, up to the checkpoint.
    CREATE TABLE ticket (
      day INTEGER PRIMARY KEY,
      number INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE kiosk (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      service TEXT NOT NULL CHECK (service = 'open' OR service = 'closed'),
      confirmed INTEGER NOT NULL,       -- the broker has all results and events up to this entry
      deliveries INTEGER NOT NULL,      -- number of deliveries received
      epoch INTEGER NOT NULL CHECK (epoch > 0),  -- current epoch of the ledger
      uplinked INTEGER NOT NULL         -- every entry up to this one is confirmed upstream
    ) STRICT;
    INSERT INTO kiosk VALUES (1, 'open', 0, 0, \(newEpoch), 0);

    -- What the kiosk knows besides the entries: each record is a JSON object.
    CREATE TABLE state (
      kind TEXT NOT NULL,
      key TEXT NOT NULL,
      value TEXT NOT NULL,
      PRIMARY KEY (kind, key)
    ) STRICT, WITHOUT ROWID;

    -- The clocks at the last record of a batch, a sensor or a program.
    CREATE TABLE last_clock (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      at INTEGER NOT NULL,                        -- milliseconds since 1970
      boot INTEGER,                               -- identifies the start of the computer
      uptime_ms INTEGER NOT NULL,                 -- since that start
      elapsed_ms INTEGER NOT NULL,                -- on a clock that is never set
      behind_ms INTEGER NOT NULL,                 -- by which the clock was set back
      doubtful INTEGER,                           -- the last entry whose age is in doubt; null: no doubt
      accepted INTEGER NOT NULL CHECK (accepted IN (0, 1))  -- a person has said that the clock is right
    ) STRICT;

    -- Response properties (MQTT 5) of commands whose answers the broker has not confirmed yet.
    CREATE TABLE reply (
      seq INTEGER PRIMARY KEY REFERENCES entry,
      topic TEXT,                       -- null: the default topic
      correlation BLOB
    ) STRICT;

    -- The fingerprints of deliveries without an id, in the order of redelivery.
    CREATE TABLE delivery (
      number INTEGER PRIMARY KEY,       -- as in `kiosk`
      packet_id INTEGER NOT NULL,
      digest INTEGER NOT NULL,          -- of topic and payload
      seq INTEGER NOT NULL REFERENCES entry,
      acknowledged_with INTEGER NOT NULL  -- the entry: its own, or the next one for a bounced press
    ) STRICT;

    -- Changes of the wall clock by a person or a time server. The times of the entries before it are
    -- corrected by the step where hours are counted.
    CREATE TABLE clock (
      first INTEGER NOT NULL REFERENCES entry,   -- the first entry of the process
      last INTEGER PRIMARY KEY REFERENCES entry, -- the last entry before the change
      step INTEGER NOT NULL                      -- milliseconds, positive: forward
    ) STRICT;

    -- The topics on which the broker retains messages of this kiosk.
    CREATE TABLE topic (topic TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    """
}
