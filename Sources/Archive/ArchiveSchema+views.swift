extension ArchiveSchema {
  /// What a chain asks. Days are those of `archive.time_zone`.
  static let views = """
    CREATE VIEW juice.sales AS
      SELECT kiosk, day, juice, sum(glasses) AS glasses, sum(orders) AS orders,
        sum(out_of_stock) AS out_of_stock, sum(rejected) AS rejected, sum(failed) AS failed
      FROM juice.sales_day GROUP BY kiosk, day, juice;

    CREATE VIEW juice.takings AS
      SELECT kiosk, day, currency, sum(amount) AS amount FROM juice.sales_day
      WHERE currency <> '' GROUP BY kiosk, day, currency;

    CREATE VIEW juice.fruit_used AS
      SELECT kiosk, day, fruit, used, restocked FROM juice.fruit_day;

    CREATE VIEW juice.time_to_cup AS
      SELECT kiosk, day, machine, made, seconds / nullif(made - unknown, 0) AS average,
        nullif(slowest, 0) AS slowest, unknown
      FROM juice.cup_day;

    -- From the first order that missed a fruit to the restock of it; until is null while nobody comes.
    -- By their times, since a restock may be in a later ledger than the order.
    CREATE VIEW juice.sold_out AS
      SELECT missed.kiosk, missed.fruit, missed.at AS since, restock.at AS until,
        extract(epoch FROM coalesce(restock.at, now()) - missed.at) / 3600 AS hours
      FROM juice.supply missed
      LEFT JOIN LATERAL (
        SELECT next.at FROM juice.supply next
        WHERE next.kiosk = missed.kiosk AND next.fruit = missed.fruit AND next.added > 0
          AND (next.at, next.seq) > (missed.at, missed.seq)
        ORDER BY next.at, next.seq LIMIT 1
      ) restock ON true
      WHERE missed.added = 0 AND (
        SELECT before.added FROM juice.supply before
        WHERE before.kiosk = missed.kiosk AND before.fruit = missed.fruit
          AND (before.at, before.seq) < (missed.at, missed.seq)
        ORDER BY before.at DESC, before.seq DESC LIMIT 1
      ) IS DISTINCT FROM 0;

    -- What lasts of it.
    CREATE VIEW juice.sold_out_now AS
      SELECT kiosk, fruit, out_since AS since FROM juice.shelf WHERE out_since IS NOT NULL;

    CREATE VIEW juice.time_to_restock AS
      SELECT kiosk, fruit, since, until - since AS taken FROM juice.sold_out WHERE until IS NOT NULL;

    -- What is before a ledger's first entry, and was told as one of another ledger, is not missing.
    CREATE VIEW juice.missing AS
      SELECT kiosk, epoch, first, last, last - first + 1 AS entries, since, asked, answer
      FROM (
        SELECT gap.kiosk, gap.epoch, gap.last, gap.since, gap.asked, gap.answer,
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

    -- Kiosks whose clock is ahead of the archive's: what they sell counts for a day to come.
    CREATE VIEW juice.clock_ahead AS
      SELECT kiosk, epoch, latest, heard, latest - heard AS ahead FROM juice.ledger
      WHERE latest > heard + interval '5 minutes'
    """
}
