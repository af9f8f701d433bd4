import Postgres

/// The tables and views of the archive, in the schema `juice` of its database.
///
/// A released migration is never edited; a new one is appended. Each migration consists of SQL
/// only.
enum ArchiveSchema {
  /// The migrations in order. The first one has the number 1.
  static let migrations = [tables, views, payments, programViews, sensors, batches]

  /// The indexes of `event`, by name. The first migration creates them all; `IndexBuilder` creates
  /// one that a later release adds, while entries are archived.
  static let indexes: [(name: String, definition: String)] = [
    // The entries of a kiosk's day.
    ("event_kiosk_at", "(kiosk, at)"),
    // The entries that have the fruits of a kiosk.
    ("event_opened", "(kiosk) WHERE status = 'opened'"),
    // Entries arrive roughly in the order of their times, so that a range of times is a range of blocks.
    ("event_at", "USING brin (at) WITH (autosummarize = on)"),
    // PostgreSQL limits the size of an index entry, so the index stores 20 characters of `hour`.
    ("event_sensor_hour", "(kiosk, left(more->>'hour', 20)) WHERE status = 'sensor_hour'"),
    // The rare entries of the views `waste` and `program`.
    ("event_rare", "(status, at) WHERE status IN (\(waste), \(programs))"),
  ]
  /// Lists of statuses in SQL.
  static let waste = "'removed', 'sensor_discard'"
  static let programs = "'program_due', 'program_requested', 'program_done', 'program_failed'"

  /// Applies the missing migrations, each in a transaction.
  ///
  /// - Parameters:
  ///   - database: A connection with `PostgresConnection.longTimeout`: a migration lasts for hours if
  ///     it rewrites a large table, or waits for a lock.
  ///   - log: Called with a line before each migration.
  /// - Throws: `ArchiveError.newerSchema` if the schema, which then stays unchanged, is newer than
  ///   this program; `ArchiveError.database`.
  static func migrate(
    _ database: PostgresConnection, log: (String) -> Void
  ) throws(ArchiveError) {
    let version: Int
    do throws(DatabaseError) {
      try database.run("SELECT pg_advisory_lock(\(lock))")
      try database.transaction { () throws(DatabaseError) in try database.run(versions) }
      version = try Self.version(of: database)
      for (index, migration) in migrations.enumerated().dropFirst(version) {
        log("the schema is changed to version \(index + 1) of \(migrations.count)")
        try database.transaction { () throws(DatabaseError) in
          try database.run(migration)
          try database.run("INSERT INTO juice.migration (number) VALUES (\(index + 1))")
        }
      }
      try database.run("SELECT pg_advisory_unlock(\(lock))")
    } catch {
      throw .database(error)
    }
    guard version <= migrations.count else { throw .newerSchema(version) }
  }

  /// Checks that this program can use the schema. Does not migrate: only the active archiver does,
  /// because an older archiver cannot restart with a newer schema.
  ///
  /// - Parameter tolerance: Maximum number of migrations in the schema that this program does not
  ///   contain. A migration keeps the columns that commands with a tolerance of 1 use: with the
  ///   previous release, an administrator can read, pause and abort a rollout.
  /// - Throws: `ArchiveError.newerSchema`, `ArchiveError.olderSchema`, `ArchiveError.database`.
  static func check(
    _ database: PostgresConnection, newerBy tolerance: Int = 0
  ) throws(ArchiveError) {
    let version: Int
    do throws(DatabaseError) {
      let exists = try database.run("SELECT to_regclass('juice.migration')").rows.first?.first
      version = exists.flatMap(\.self) == nil ? 0 : try Self.version(of: database)
    } catch {
      throw .database(error)
    }
    guard version >= migrations.count else { throw .olderSchema(version) }
    guard version <= migrations.count + tolerance else { throw .newerSchema(version) }
  }

  private static func version(of database: PostgresConnection) throws(DatabaseError) -> Int {
    let last = try database.run("SELECT max(number) FROM juice.migration").rows.first?.first
    return last?.flatMap { Int($0) } ?? 0
  }

  /// The key of the advisory lock that prevents two programs from migrating at the same time
  /// (`juic`, 1). No other lock in the database may use it. A session holds it while it migrates.
  static let lock = 0x6A75_6963_0001

  private static let versions = """
    SET LOCAL client_min_messages = warning;
    CREATE SCHEMA IF NOT EXISTS juice;
    CREATE TABLE IF NOT EXISTS juice.migration (
      number integer PRIMARY KEY,
      applied timestamptz NOT NULL DEFAULT now()
    )
    """

  private static let tables = """
    -- All entries of all ledgers. The rows are partitioned by the time of their arrival and not by 'at', which a
    -- kiosk may set to any time. The key is unique within a partition; for all partitions, the tables 'ledger' and
    -- 'gap' list the entries that have arrived.
    CREATE TABLE juice.event (
      kiosk text COLLATE "C" NOT NULL,
      \(EventColumn.all.map(\.definition).joined(separator: ",\n  ")),
      more jsonb,
      part integer NOT NULL DEFAULT 1
    ) PARTITION BY LIST (part);

    -- Returns an entry as its kiosk has sent it.
    CREATE FUNCTION juice.payload(entry juice.event) RETURNS jsonb LANGUAGE sql STABLE AS $$
      SELECT jsonb_strip_nulls(jsonb_build_object(
        \(EventColumn.all.map { "'\($0.name)', \($0.member(of: "entry"))" }.joined(separator: ", "))
      )) || coalesce(entry.more, '{}')
    $$;

    -- The partitions of 'event'. New entries are stored in the one without an end.
    CREATE TABLE juice.part (
      number integer PRIMARY KEY,
      began timestamptz NOT NULL DEFAULT now(),
      ended timestamptz
    );
    INSERT INTO juice.part (number) VALUES (1);
    CREATE TABLE juice.event_1 PARTITION OF juice.event (PRIMARY KEY (kiosk, epoch, seq)) FOR VALUES IN (1);
    \(indexes.map { "CREATE INDEX \($0.name) ON juice.event \($0.definition);" }.joined(separator: "\n"))

    -- The reception of the active archiver: whether it is connected to the broker and since when, the latest
    -- time at which it was well, and at which it stored a message of a kiosk. One row.
    CREATE TABLE juice.reception (
      is_connected boolean NOT NULL DEFAULT false,
      since timestamptz NOT NULL DEFAULT now(),
      checked timestamptz NOT NULL DEFAULT now(),
      received timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 10);
    CREATE UNIQUE INDEX reception_one ON juice.reception ((true));
    INSERT INTO juice.reception DEFAULT VALUES;

    -- The entries of each ledger that have arrived: all from low to high, except for the gaps. low is 1 until
    -- the kiosk has reported the first entry of the ledger. began is the time of the entry first, the lowest
    -- one that has arrived; latest is that of the highest one.
    CREATE TABLE juice.ledger (
      kiosk text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      low bigint NOT NULL,
      high bigint NOT NULL,
      first bigint,
      began timestamptz,
      latest timestamptz,
      since timestamptz NOT NULL DEFAULT now(),
      last_received timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (kiosk, epoch)
    ) WITH (fillfactor = 50);

    -- Ranges of missing entries. The key contains the last entry, so that a gap filled from the front keeps its
    -- key. At the time due, the archiver requests the entries from the kiosk. requests is the number of requests
    -- without success, answer the reason.
    CREATE TABLE juice.gap (
      kiosk text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      first bigint NOT NULL,
      last bigint NOT NULL,
      since timestamptz NOT NULL,
      due timestamptz NOT NULL,
      requests integer NOT NULL DEFAULT 0,
      answer text,
      PRIMARY KEY (kiosk, epoch, last),
      CHECK (first <= last)
    );
    CREATE INDEX gap_due ON juice.gap (due);

    -- Entries with the key of a stored entry and different content.
    CREATE TABLE juice.conflict (
      LIKE juice.event,
      digest uuid NOT NULL,
      detected timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (kiosk, epoch, seq, digest)
    );
    ALTER TABLE juice.conflict DROP COLUMN part;

    -- Messages that could not be archived.
    CREATE TABLE juice.quarantine (
      digest uuid PRIMARY KEY,
      topic text NOT NULL,
      payload bytea NOT NULL,
      reason text NOT NULL,
      first timestamptz NOT NULL DEFAULT now(),
      latest timestamptz NOT NULL DEFAULT now(),
      times bigint NOT NULL DEFAULT 1
    );
    CREATE INDEX quarantine_latest ON juice.quarantine (latest);

    -- The days of kiosks whose sums lack entries: each batch inserts rows, unless a row exists. They are computed
    -- again at the time due. error is the reason why that failed.
    CREATE TABLE juice.dirty_day (
      kiosk text COLLATE "C" NOT NULL,
      day date NOT NULL,
      since timestamptz NOT NULL DEFAULT now(),
      due timestamptz NOT NULL DEFAULT now(),
      attempts integer NOT NULL DEFAULT 0,
      error text
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000);
    CREATE INDEX dirty_day_due ON juice.dirty_day (due);
    CREATE INDEX dirty_day_key ON juice.dirty_day (kiosk, day);
    CREATE INDEX dirty_day_kiosk ON juice.dirty_day (kiosk, due) WHERE attempts = 0;

    -- The entries with an impossible time: before 2020, or more than a day after their arrival. They count for
    -- the day of their arrival.
    CREATE TABLE juice.misdated (
      kiosk text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      seq bigint NOT NULL,
      arrived timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (kiosk, epoch, seq)
    );
    CREATE INDEX misdated_arrived ON juice.misdated (kiosk, arrived);

    -- The kiosks of which entries were not stored, because they exceed the quota; the number of entries.
    CREATE TABLE juice.over_quota (
      kiosk text COLLATE "C" PRIMARY KEY,
      quota text NOT NULL,
      since timestamptz NOT NULL DEFAULT now(),
      until timestamptz NOT NULL,
      refused bigint NOT NULL
    );

    -- The days whose entries were deleted with their partition. Their sums stay as they are.
    CREATE TABLE juice.closed_day (
      kiosk text COLLATE "C" NOT NULL,
      day date NOT NULL,
      PRIMARY KEY (kiosk, day)
    );

    -- The time zone of the days below, as of the last start. One row.
    CREATE TABLE juice.sum_zone (name text NOT NULL);

    -- Daily sums, computed from 'event'.
    CREATE TABLE juice.sales_day (
      day date NOT NULL,
      kiosk text COLLATE "C" NOT NULL,
      juice text COLLATE "C" NOT NULL,
      glasses bigint NOT NULL,
      orders bigint NOT NULL,
      out_of_stock bigint NOT NULL,
      rejected bigint NOT NULL,
      failed bigint NOT NULL,
      PRIMARY KEY (kiosk, day, juice)
    ) WITH (fillfactor = 80);
    CREATE INDEX sales_day_day ON juice.sales_day (day);

    CREATE TABLE juice.takings_day (
      day date NOT NULL,
      kiosk text COLLATE "C" NOT NULL,
      currency text COLLATE "C" NOT NULL,
      amount numeric NOT NULL,
      PRIMARY KEY (kiosk, day, currency)
    ) WITH (fillfactor = 80);
    CREATE INDEX takings_day_day ON juice.takings_day (day);

    CREATE TABLE juice.fruit_day (
      day date NOT NULL,
      kiosk text COLLATE "C" NOT NULL,
      fruit text COLLATE "C" NOT NULL,
      used bigint NOT NULL,
      restocked bigint NOT NULL,
      PRIMARY KEY (kiosk, day, fruit)
    ) WITH (fillfactor = 80);
    CREATE INDEX fruit_day_day ON juice.fruit_day (day);

    CREATE TABLE juice.cup_day (
      day date NOT NULL,
      kiosk text COLLATE "C" NOT NULL,
      machine text COLLATE "C" NOT NULL,
      made bigint NOT NULL,
      seconds double precision NOT NULL,
      slowest double precision NOT NULL,
      unknown bigint NOT NULL,
      PRIMARY KEY (kiosk, day, machine)
    ) WITH (fillfactor = 80);
    CREATE INDEX cup_day_day ON juice.cup_day (day);

    -- Jobs that were made on a day, and whose order has not arrived.
    CREATE TABLE juice.cup_waiting (
      kiosk text COLLATE "C" NOT NULL,
      day date NOT NULL,
      epoch bigint NOT NULL,
      job bigint NOT NULL,
      PRIMARY KEY (kiosk, epoch, job, day)
    );

    -- The entries of a day with which a fruit was restocked, or was missing for an order: of several alike,
    -- with successive numbers, the first one.
    CREATE TABLE juice.supply (
      kiosk text COLLATE "C" NOT NULL,
      day date NOT NULL,
      fruit text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      seq bigint NOT NULL,
      at timestamptz NOT NULL,
      is_out boolean NOT NULL,
      PRIMARY KEY (kiosk, day, fruit, epoch, seq)
    );

    -- Periods in which a fruit was sold out; until is null before the next restock. is_bounded: a time was
    -- impossible and has been replaced.
    CREATE TABLE juice.stockout (
      kiosk text COLLATE "C" NOT NULL,
      fruit text COLLATE "C" NOT NULL,
      epoch bigint NOT NULL,
      seq bigint NOT NULL,
      since timestamptz NOT NULL,
      until timestamptz,
      is_bounded boolean NOT NULL,
      PRIMARY KEY (kiosk, fruit, epoch, seq)
    );
    CREATE INDEX stockout_since ON juice.stockout (since);
    CREATE INDEX stockout_open ON juice.stockout (kiosk) WHERE until IS NULL;

    -- The kiosks of the chain, as loaded by 'juice-archive kiosks load'.
    CREATE TABLE juice.kiosk (
      kiosk text COLLATE "C" PRIMARY KEY,
      region text NOT NULL,
      name text,
      place text
    );
    CREATE INDEX kiosk_region ON juice.kiosk (region, kiosk);

    -- The kiosks that a later list has removed. What they have sold still counts.
    CREATE TABLE juice.former_kiosk (
      kiosk text COLLATE "C" PRIMARY KEY,
      removed timestamptz NOT NULL DEFAULT now()
    );

    -- Whether the uplink of a kiosk is connected, and since when by the clock of the database.
    CREATE TABLE juice.presence (
      kiosk text COLLATE "C" PRIMARY KEY,
      is_online boolean NOT NULL,
      since timestamptz NOT NULL
    ) WITH (fillfactor = 50);

    -- Roll-outs: the menus sent to kiosks, and the rules for sending them.
    CREATE TABLE juice.rollout (
      version bigint PRIMARY KEY,
      menu text NOT NULL,
      region text,                          -- null: all kiosks
      state text NOT NULL
        CHECK (state IN ('running', 'paused', 'stopped', 'aborted', 'done')),
      first integer NOT NULL,               -- number of kiosks that get the menu at once
      per_minute integer NOT NULL,          -- number of further kiosks per minute
      max_failed double precision NOT NULL, -- in percent of the kiosks that were sent the menu
      timeout integer NOT NULL,             -- in seconds
      began timestamptz NOT NULL DEFAULT now(),
      changed timestamptz NOT NULL DEFAULT now()
    );
    -- At most one roll-out is open.
    CREATE UNIQUE INDEX rollout_open ON juice.rollout ((true))
      WHERE state IN ('running', 'paused', 'stopped');

    -- The kiosks of each roll-out in their order, and their reports.
    CREATE TABLE juice.rollout_kiosk (
      version bigint NOT NULL REFERENCES juice.rollout,
      kiosk text COLLATE "C" NOT NULL,
      position integer NOT NULL,
      sent timestamptz,                     -- for the first time
      last_sent timestamptz,                -- for the last time; null: it is not sent again
      status text CHECK (status IN ('taken', 'refused')),
      detail text,
      lost timestamptz,                     -- the kiosk had taken the menu, and then reported an older one
      PRIMARY KEY (kiosk, version)
    ) WITH (fillfactor = 70);
    CREATE INDEX rollout_kiosk_version ON juice.rollout_kiosk (version);
    CREATE INDEX rollout_kiosk_last_sent ON juice.rollout_kiosk (last_sent)
      WHERE sent IS NOT NULL AND status IS NULL;

    -- The version of the menu that each kiosk uses; 0: its own, with the reason if it has one.
    CREATE TABLE juice.kiosk_menu (
      kiosk text COLLATE "C" PRIMARY KEY,
      version bigint NOT NULL,
      detail text,
      since timestamptz NOT NULL
    ) WITH (fillfactor = 50)
    """
}
