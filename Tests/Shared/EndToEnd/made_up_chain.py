"""An archive with generated data of simulated kiosks, in the form that juice-archive stores."""

from pathlib import Path

from archive import Archive
from arrivals import eventually
from postgres import Postgres


def load(database: Postgres, folder: Path, lines: list[str]) -> None:
    """Loads the list of kiosks, and creates the tables."""
    (folder / "kiosks.csv").write_text("\n".join(["id,region,name,place", *lines, ""]))
    config = folder / "archive.yaml"
    # The archiver creates the tables before it connects to a broker, of which there is none.
    config.write_text(f"archive: {{database: '{database.database}'}}\nbroker: {{port: 1}}\n")
    archive = Archive(config).launch()
    eventually(lambda: database.try_query("SELECT count(*) > 0 FROM juice.migration") == "t")
    assert archive.stop() == 0
    done = archive.command("kiosks", "load", folder / "kiosks.csv")
    assert done.returncode == 0, done.stderr


def fill(database: Postgres, days: int = 14) -> None:
    """Generates sales of all kiosks until yesterday: this week twice as many as last week. Every
    tenth kiosk has been out of kiwi for two hours, every fiftieth offline for three."""
    made_up = "(SELECT kiosk, row_number() OVER (ORDER BY kiosk) - 1 AS number FROM juice.kiosk) made_up"
    for statement in (
        f"""INSERT INTO juice.ledger (kiosk, epoch, low, high, first, began, latest)
          SELECT kiosk, 7, 1, 20, 1, now() - interval '20 minutes', now() FROM {made_up}""",
        f"""INSERT INTO juice.presence (kiosk, is_online, since)
          SELECT kiosk, number % 50 <> 1, now() - interval '3 hours' FROM {made_up}""",
        f"""INSERT INTO juice.sales_day
          (day, kiosk, juice, glasses, orders, out_of_stock, rejected, failed)
          SELECT current_date - day, kiosk, juice, CASE WHEN day <= 7 THEN 2 ELSE 1 END, 1,
            CASE WHEN day <= 7 THEN 1 ELSE 2 END, 0, 0
          FROM {made_up}, generate_series(1, {days}) day,
            unnest('{{banana,kiwi,mango,mango_kiwi,pineapple,strawberry,strawberry_banana}}'::text[]) juice
          ORDER BY 1, 2""",
        # Each juice of the day, at 3.50 per glass.
        f"""INSERT INTO juice.takings_day (day, kiosk, currency, amount)
          SELECT current_date - day, kiosk, 'EUR', 7 * CASE WHEN day <= 7 THEN 7.00 ELSE 3.50 END
          FROM {made_up}, generate_series(1, {days}) day ORDER BY 1, 2""",
        f"""INSERT INTO juice.stockout (kiosk, fruit, epoch, seq, since, until, is_bounded)
          SELECT kiosk, fruit, 7, number, now() - interval '2 hours',
            CASE WHEN fruit <> 'kiwi' OR number % 10 > 0 THEN now() - interval '1 hour' END, false
          FROM {made_up}, unnest('{{banana,kiwi,mango,pineapple,strawberry}}'::text[]) fruit""",
        """ANALYZE juice.stockout, juice.kiosk, juice.ledger, juice.presence, juice.sales_day, juice.takings_day""",
    ):
        database.query(statement)


def disturb(database: Postgres, kiosk: str) -> None:
    """Adds problems to a kiosk: a gap, a conflict, a duplicate id, a clock that is ahead, and
    recent entries."""
    database.query(f"""
        INSERT INTO juice.gap (kiosk, epoch, first, last, since, due)
          VALUES ('{kiosk}', 7, 11, 15, now() - interval '1 hour', now());
        INSERT INTO juice.event (kiosk, epoch, seq, at, status, source, juice, quantity, amount, currency)
          SELECT '{kiosk}', 7, seq, now() - (21 - seq) * interval '1 minute', 'ready', 'order/p1', 'kiwi', 2, 7, 'EUR'
          FROM generate_series(1, 20) seq;
        INSERT INTO juice.sales_day (day, kiosk, juice, glasses, orders, out_of_stock, rejected, failed)
          VALUES (current_date, '{kiosk}', 'kiwi', 40, 20, 0, 0, 0);
        INSERT INTO juice.takings_day (day, kiosk, currency, amount) VALUES (current_date, '{kiosk}', 'EUR', 280);
        INSERT INTO juice.conflict (kiosk, epoch, seq, at, status, digest)
          VALUES ('{kiosk}', 7, 3, now(), 'open', md5('{kiosk}')::uuid);
        UPDATE juice.ledger SET latest = now() + interval '400 days' WHERE kiosk = '{kiosk}';
        INSERT INTO juice.event (kiosk, epoch, seq, at, status)
          VALUES ('{kiosk}', 8, 1, now() - interval '10 minutes', 'open');
        INSERT INTO juice.ledger (kiosk, epoch, low, high, first, began, latest, last_received)
          VALUES ('{kiosk}', 8, 1, 1, 1, now() - interval '10 minutes', now() - interval '1 minute',
            now() - interval '1 minute');
    """)
