import GRDB

/// The tables, as a list of migrations that is only ever appended to.
enum LedgerSchema {
  static func migrate(_ database: DatabaseQueue) throws {
    try refuseNewer(database)
    try migrator.migrate(database)
  }

  /// For a reader, who changes nothing.
  ///
  /// - Throws: `LedgerError` if the file is not a ledger as this version knows it.
  static func check(_ database: DatabaseQueue) throws {
    try refuseNewer(database)
    let applied = try database.read { try migrator.appliedMigrations($0) }
    if applied == migrator.migrations { return }
    throw LedgerError.cannotOpen(
      path: database.path,
      detail: applied.isEmpty
        ? "it is not a ledger" : "an older version wrote it, and no kiosk has used it since")
  }

  private static func refuseNewer(_ database: DatabaseQueue) throws {
    let isNewer = try database.read { try migrator.hasBeenSuperseded($0) }
    if isNewer { throw LedgerError.newer(path: database.path) }
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 the ledger") { try $0.execute(sql: first) }
    migrator.registerMigration("2 tickets by day") { try $0.execute(sql: second) }
    migrator.registerMigration("3 marks of devices") { try $0.execute(sql: third) }
    return migrator
  }

  /// A fruit and its entries go by a small number, which keeps a million movements small.
  private static let first = """
    CREATE TABLE stock (
      id INTEGER PRIMARY KEY,
      fruit TEXT NOT NULL UNIQUE,
      quantity INTEGER NOT NULL CHECK (quantity >= 0)
    ) STRICT;

    CREATE TABLE entry (
      seq INTEGER PRIMARY KEY CHECK (seq > 0),
      at INTEGER NOT NULL,              -- milliseconds since 1970
      source TEXT,                      -- order/<panel>, restock/<source>; null: the kiosk itself
      request TEXT,                     -- the id that the sender gave
      status TEXT NOT NULL CHECK (status IN
        ('opened', 'ready', 'out_of_stock', 'restocked', 'open', 'closed', 'rejected')),
      juice TEXT,
      quantity INTEGER,
      day INTEGER,                      -- of the ticket, since 1970 in the kiosk's time zone
      ticket INTEGER CHECK (ticket > 0),
      reason TEXT,
      missing TEXT,                     -- a JSON object
      CHECK ((status = 'rejected') = (reason IS NOT NULL)),
      CHECK ((status = 'ready') = (ticket IS NOT NULL)),
      CHECK (status NOT IN ('ready', 'out_of_stock')
        OR (juice IS NOT NULL AND quantity IS NOT NULL AND quantity > 0))
    ) STRICT;

    CREATE TABLE movement (
      seq INTEGER NOT NULL REFERENCES entry,
      fruit INTEGER NOT NULL REFERENCES stock,
      amount INTEGER NOT NULL,
      PRIMARY KEY (seq, fruit)
    ) STRICT, WITHOUT ROWID;

    -- The balance of each fruit up to an entry up to which the ledger was found right.
    CREATE TABLE checkpoint (
      fruit INTEGER PRIMARY KEY REFERENCES stock,
      seq INTEGER NOT NULL,
      balance INTEGER NOT NULL
    ) STRICT;

    -- What was answered, as long as the question may come again.
    CREATE TABLE answer (
      seq INTEGER PRIMARY KEY REFERENCES entry,
      at INTEGER NOT NULL,
      source TEXT NOT NULL,
      request TEXT,                     -- null if the sender gave no id
      topic TEXT NOT NULL,
      correlation BLOB,
      payload BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX answer_request ON answer (source, request) WHERE request IS NOT NULL;

    -- The fingerprints of the last deliveries without an id, by a running number.
    CREATE TABLE delivery (
      slot INTEGER PRIMARY KEY,
      packet_id INTEGER NOT NULL,
      digest INTEGER NOT NULL,          -- of topic and payload
      seq INTEGER NOT NULL REFERENCES entry
    ) STRICT;

    CREATE TABLE kiosk (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      service TEXT NOT NULL CHECK (service IN ('open', 'closed')),
      confirmed INTEGER NOT NULL        -- the broker has every result and event up to this entry
    ) STRICT;
    INSERT INTO kiosk VALUES (1, 'open', 0);

    CREATE TABLE ticket (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      day INTEGER NOT NULL,
      number INTEGER NOT NULL
    ) STRICT;

    -- The retained topics that hold something of this kiosk.
    CREATE TABLE topic (topic TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    """

  /// The last ticket number of each day instead of the last ticket, which is in `entry` too.
  private static let second = """
    DROP TABLE ticket;
    CREATE TABLE ticket (
      day INTEGER PRIMARY KEY,
      number INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ticket
    SELECT day, MAX(ticket) FROM entry WHERE ticket IS NOT NULL GROUP BY day;
    """

  /// By which a device's next message shows whether it is the last one again.
  private static let third = """
    CREATE TABLE mark (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """
}
