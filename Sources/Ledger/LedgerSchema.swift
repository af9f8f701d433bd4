import GRDB

/// The tables, as a list of migrations that is only ever appended to.
enum LedgerSchema {
  static func migrate(_ database: DatabaseQueue, path: String) throws {
    try refuseNewer(database, path: path)
    try migrator.migrate(database)
  }

  /// For a reader, who changes nothing.
  ///
  /// - Throws: `LedgerError` if the file is no ledger, or one of a later version.
  /// - Returns: whether it is as this version writes it; if not, an earlier one has written it.
  static func isCurrent(_ database: DatabaseQueue, path: String) throws -> Bool {
    try refuseNewer(database, path: path)
    let applied = try database.read { try migrator.appliedMigrations($0) }
    if applied.isEmpty { throw LedgerError.cannotOpen(path: path, detail: "it is not a ledger") }
    return applied == migrator.migrations
  }

  private static func refuseNewer(_ database: DatabaseQueue, path: String) throws {
    let isNewer = try database.read { try migrator.hasBeenSuperseded($0) }
    if isNewer { throw LedgerError.newer(path: path) }
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 the ledger") { try $0.execute(sql: first) }
    migrator.registerMigration("2 tickets by day") { try $0.execute(sql: second) }
    migrator.registerMigration("3 marks of devices") { try $0.execute(sql: third) }
    migrator.registerMigration("4 one row for each entry", migrate: LedgerSchema.joinRows)
    migrator.registerMigration("5 the archive") { try $0.execute(sql: fifth) }
    migrator.registerMigration("6 a quicker check", migrate: LedgerSchema.quickenCheck)
    migrator.registerMigration("7 echoes") { try $0.execute(sql: seventh) }
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

  /// SQLite fills a table with a list of more than two after IN, each time anew: half of what an
  /// order cost. Changed as SQLite's manual says for what leaves the rows as they are ("Making Other
  /// Kinds Of Table Schema Changes").
  private static func quickenCheck(_ database: Database) throws {
    let version = try Int.fetchOne(database, sql: "PRAGMA schema_version") ?? 0
    try database.execute(
      sql: """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (status IN
            (''opened'', ''ready'', ''out_of_stock'', ''restocked'', ''open'', ''closed'', ''rejected''))',
          'CHECK (status = ''opened'' OR status = ''ready'' OR status = ''out_of_stock''
            OR status = ''restocked'' OR status = ''open'' OR status = ''closed''
            OR status = ''rejected'')')
        WHERE name = 'entry';
        PRAGMA schema_version = \(version + 1);
        PRAGMA writable_schema = RESET;
        """)
  }

  /// A press that counts as one with an earlier one does not tell up to where was acknowledged.
  private static let seventh = """
    ALTER TABLE delivery ADD COLUMN echo INTEGER NOT NULL DEFAULT 0;
    """

  /// By which a device's next message shows whether it is the last one again.
  private static let third = """
    CREATE TABLE mark (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// The first entries may lie in files instead: see `Ledger.archive`.
  private static let fifth = """
    CREATE TABLE archive (
      last INTEGER PRIMARY KEY CHECK (last >= first),
      first INTEGER NOT NULL UNIQUE CHECK (first > 0),
      checksum INTEGER NOT NULL         -- CRC-32 of the file's lines
    ) STRICT;

    -- What the archived entries add up to.
    CREATE TABLE carried (
      fruit INTEGER PRIMARY KEY REFERENCES stock,
      balance INTEGER NOT NULL CHECK (balance >= 0)
    ) STRICT;
    """
}
