extension ArchiveSchema {
  /// The views that operators of a chain query. Days are days in `archive.time_zone`.
  static let views = """
    CREATE VIEW juice.sales AS
      SELECT kiosk, day, juice, glasses, orders, out_of_stock, rejected, failed FROM juice.sales_day;

    CREATE VIEW juice.takings AS
      SELECT kiosk, day, currency, amount FROM juice.takings_day;

    CREATE VIEW juice.fruit_used AS
      SELECT kiosk, day, fruit, used, restocked FROM juice.fruit_day;

    CREATE VIEW juice.time_to_cup AS
      SELECT kiosk, day, machine, made, seconds / nullif(made - unknown, 0) AS average,
        nullif(slowest, 0) AS slowest, unknown
      FROM juice.cup_day;

    CREATE VIEW juice.sold_out AS
      SELECT kiosk, fruit, since, until, extract(epoch FROM coalesce(until, now()) - since) / 3600 AS hours
      FROM juice.stockout;

    -- The stockouts that still last.
    CREATE VIEW juice.sold_out_now AS
      SELECT kiosk, fruit, out_since AS since FROM juice.fruit_status WHERE out_since IS NOT NULL;

    CREATE VIEW juice.time_to_restock AS
      SELECT kiosk, fruit, since, until - since AS taken FROM juice.sold_out WHERE until IS NOT NULL;

    -- Entries before a ledger's first entry that arrived as entries of another ledger are not missing.
    CREATE VIEW juice.missing AS
      SELECT kiosk, epoch, first, last, last - first + 1 AS entries, since, requests, answer
      FROM (
        SELECT gap.kiosk, gap.epoch, gap.last, gap.since, gap.requests, gap.answer,
          CASE WHEN gap.first > ledger.low THEN gap.first ELSE greatest(gap.first, 1 + (
            SELECT max(other.high) FROM juice.ledger other
            LEFT JOIN juice.gap before ON before.kiosk = other.kiosk AND before.epoch = other.epoch
              AND before.first = other.low
            WHERE other.kiosk = gap.kiosk AND other.epoch <> gap.epoch
              AND coalesce(before.last + 1, other.low) <= gap.last
          )) END AS first
        FROM juice.gap JOIN juice.ledger USING (kiosk, epoch)
      ) gap
      WHERE first <= last;

    -- Kiosks whose clock is ahead of the archive's clock: their sales may count for a future day.
    CREATE VIEW juice.clock_ahead AS
      SELECT kiosk, epoch, latest, last_received, latest - last_received AS ahead FROM juice.ledger
      WHERE latest > last_received + interval '5 minutes';

    -- Pairs of ledgers that each have an entry after the other one began: two kiosks use one id.
    CREATE VIEW juice.shared_id AS
      WITH ledger AS (
        SELECT kiosk, epoch, latest, (
          SELECT at FROM juice.event
          WHERE event.kiosk = ledger.kiosk AND event.epoch = ledger.epoch ORDER BY seq LIMIT 1
        ) AS began
        FROM juice.ledger
        WHERE kiosk IN (SELECT kiosk FROM juice.ledger GROUP BY kiosk HAVING count(*) > 1)
      )
      SELECT one.kiosk, one.epoch, other.epoch AS other, least(one.latest, other.latest) AS latest
      FROM ledger one JOIN ledger other ON other.kiosk = one.kiosk AND other.epoch > one.epoch
      WHERE one.latest > other.began AND other.latest > one.began
    """
}
