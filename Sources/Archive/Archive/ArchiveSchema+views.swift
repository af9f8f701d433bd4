extension ArchiveSchema {
  /// Returns an SQL condition for the rows of a table that count: those of kiosks that are or were
  /// listed, or of all kiosks if there is no list. Each view of kiosks has it.
  static func counted(_ table: String) -> String {
    """
    (EXISTS (SELECT FROM juice.kiosk listed WHERE listed.kiosk = \(table).kiosk)
      OR EXISTS (SELECT FROM juice.former_kiosk former WHERE former.kiosk = \(table).kiosk)
      OR NOT EXISTS (SELECT FROM juice.kiosk))
    """
  }

  /// Views for SQL queries. Days are in `archive.time_zone`, those of `many_ledgers` in the
  /// session's.
  static let views = """
    CREATE VIEW juice.sales AS
      SELECT kiosk, day, juice, glasses, orders, out_of_stock, rejected, failed FROM juice.sales_day
      WHERE \(counted("sales_day"));

    CREATE VIEW juice.sold AS
      SELECT kiosk, day, currency, amount FROM juice.takings_day WHERE \(counted("takings_day"));

    CREATE VIEW juice.fruit_used AS
      SELECT kiosk, day, fruit, used, restocked FROM juice.fruit_day WHERE \(counted("fruit_day"));

    CREATE VIEW juice.time_to_cup AS
      SELECT kiosk, day, machine, made, seconds / nullif(made - unknown, 0) AS average,
        nullif(slowest, 0) AS slowest, unknown
      FROM juice.cup_day WHERE \(counted("cup_day"));

    CREATE VIEW juice.sold_out AS
      SELECT kiosk, fruit, least(since, now()) AS since,
        CASE WHEN until > now() THEN now() ELSE until END AS until,
        extract(epoch FROM least(until, now()) - least(since, now())) / 3600 AS hours,
        is_bounded OR greatest(since, until) > now() AS is_bounded
      FROM juice.stockout WHERE \(counted("stockout"));

    -- The stockouts that still last.
    CREATE VIEW juice.sold_out_now AS
      SELECT kiosk, fruit, least(since, now()) AS since, is_bounded OR since > now() AS is_bounded
      FROM juice.stockout WHERE until IS NULL AND \(counted("stockout"));

    CREATE VIEW juice.time_to_restock AS
      SELECT kiosk, fruit, since, until - since AS taken FROM juice.sold_out WHERE until IS NOT NULL;

    -- Entries before a ledger's first entry that arrived as entries of another ledger are not missing. head is
    -- the gap before the first entry, others the last entry of the ledgers that begin inside it or earlier.
    CREATE VIEW juice.missing AS
      SELECT kiosk, epoch, first, last, last - first + 1 AS entries, since, requests, answer
      FROM (
        SELECT gap.kiosk, gap.epoch, gap.last, gap.since, gap.requests, gap.answer,
          CASE WHEN gap.first > ledger.low THEN gap.first ELSE greatest(gap.first, ledger.others + 1) END AS first
        FROM juice.gap JOIN (
          SELECT ledger.kiosk, ledger.epoch, low, max(high) OVER (
            PARTITION BY ledger.kiosk ORDER BY coalesce(head.last + 1, low)
            RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
          ) AS others
          FROM juice.ledger LEFT JOIN juice.gap head ON head.kiosk = ledger.kiosk
            AND head.epoch = ledger.epoch AND head.first = ledger.low
        ) ledger ON ledger.kiosk = gap.kiosk AND ledger.epoch = gap.epoch
      ) gap
      WHERE first <= last AND \(counted("gap"));

    -- Kiosks whose clock is ahead of the archive's clock: their sales may count for a future day.
    CREATE VIEW juice.clock_ahead AS
      SELECT kiosk, epoch, latest, last_received, latest - last_received AS ahead FROM juice.ledger
      WHERE latest > last_received + interval '5 minutes' AND \(counted("ledger"));

    -- Ledgers of a kiosk that each have an entry after the other one began: two kiosks use one id. Only
    -- successive ledgers are compared: if any two overlap, two successive ones do.
    CREATE VIEW juice.shared_id AS
      SELECT kiosk, least(epoch, other) AS epoch, greatest(epoch, other) AS other, least(latest, other_latest) AS latest
      FROM (
        SELECT kiosk, epoch, began, latest, lag(epoch) OVER earlier AS other, lag(latest) OVER earlier AS other_latest
        FROM juice.ledger WHERE began IS NOT NULL
        WINDOW earlier AS (PARTITION BY kiosk ORDER BY began, epoch)
      ) ledger
      WHERE other_latest > began AND \(counted("ledger"));

    -- Kiosks of which more than three ledgers became known within a day. A restored backup begins one.
    CREATE VIEW juice.many_ledgers AS
      SELECT kiosk, since::date AS day, count(*) AS ledgers, max(since) AS latest FROM juice.ledger
      WHERE \(counted("ledger")) GROUP BY kiosk, since::date HAVING count(*) > 3;

    -- The entries with an impossible time, which count for the day of their arrival.
    CREATE VIEW juice.wrong_clock AS
      SELECT kiosk, epoch, seq, at, arrived, status, juice, quantity, amount, currency
      FROM juice.misdated JOIN juice.event USING (kiosk, epoch, seq) WHERE \(counted("misdated"));

    -- Kiosks that have sent entries, and that neither the list nor an earlier one has.
    CREATE VIEW juice.unlisted AS
      SELECT kiosk, count(*) AS ledgers, sum(high - low + 1) AS entries, max(last_received) AS last_received
      FROM juice.ledger WHERE NOT \(counted("ledger")) GROUP BY kiosk;

    -- Kiosks that sell by the menu of their own configuration, though the chain has sent a menu.
    CREATE VIEW juice.own_menu AS
      SELECT kiosk, since, detail FROM juice.kiosk_menu
      WHERE version = 0 AND EXISTS (SELECT FROM juice.rollout) AND \(counted("kiosk_menu"));

    -- The result of each rollout at each of its kiosks. Silent: the kiosk has not reported within the timeout. Lost:
    -- it had taken the menu, and has it no more; the menu is sent again, and the timeout begins anew.
    CREATE VIEW juice.rollout_result AS
      SELECT version, kiosk, sent, detail, CASE
        WHEN sent IS NULL THEN 'unsent' WHEN status IS NOT NULL THEN status
        WHEN sent < now() - timeout * interval '1 second' THEN 'silent'
        WHEN lost IS NOT NULL THEN 'lost' ELSE 'waiting'
      END AS result
      FROM juice.rollout JOIN juice.rollout_kiosk USING (version);

    -- The days whose sums lack entries, with the time of the oldest such entry's arrival.
    CREATE VIEW juice.sums_behind AS
      SELECT kiosk, day, min(since) AS since, max(attempts) AS attempts, max(error) AS error
      FROM juice.dirty_day GROUP BY kiosk, day;

    -- All entries that arrived until then are part of the sums, except for days with an error, and for kiosks that
    -- have sent many days and wait for each other. days: those that wait.
    CREATE VIEW juice.summed_up AS
      SELECT least(min(greatest(since, due)) FILTER (WHERE error IS NULL), now()) AS until,
        count(*) FILTER (WHERE error IS NULL) AS days, count(*) FILTER (WHERE error IS NOT NULL) AS failed
      FROM juice.dirty_day;

    -- One row for monitoring. active: the number of archivers that hold the lock of ArchiveStore and have used the
    -- database within a minute, or migrate. behind_seconds: the median, because a kiosk that was away sends old
    -- entries; null if no entry has arrived.
    CREATE VIEW juice.archive_status AS
      WITH held AS (
        SELECT (classid::bigint << 32) + objid::bigint AS lock FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      ), migrating AS (SELECT count(*) FROM held WHERE lock = \(ArchiveSchema.lock)
      ), active AS (
        SELECT count(*) FROM held, migrating, juice.reception
        WHERE lock = \(ArchiveStore.lock) AND (migrating.count > 0 OR checked > now() - interval '1 minute')
      )
      SELECT active.count AS active, migrating.count AS migrating,
        (SELECT count(*) FROM pg_index WHERE indrelid IN (SELECT 'juice.event'::regclass
          UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = 'juice.event'::regclass)
          AND NOT indisvalid) AS indexes_missing,
        (is_connected AND active.count > 0 AND migrating.count = 0)::int AS connected,
        extract(epoch FROM now() - received)::float8 AS silent_seconds,
        (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM last_received - latest))
          FROM juice.ledger WHERE last_received > now() - interval '1 minute' AND \(counted("ledger")))::float8 AS behind_seconds,
        extract(epoch FROM now() - until)::float8 AS sums_behind_seconds, failed AS failed_days,
        (SELECT count(*) FROM juice.over_quota WHERE until > now()) AS over_quota,
        (SELECT count(*) FROM juice.unlisted) AS unlisted,
        (SELECT count(*) FROM juice.own_menu) AS own_menu,
        (SELECT count(*) FROM juice.quarantine WHERE latest > now() - interval '1 hour') AS quarantined,
        (SELECT coalesce(sum(entries), 0) FROM juice.missing WHERE since < now() - interval '1 hour')::float8 AS missing
      FROM juice.summed_up, juice.reception, active, migrating
    """
}
