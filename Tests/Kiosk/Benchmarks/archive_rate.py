#!/usr/bin/env python3
"""Measures the archive at the rate of a chain: seconds behind, cores, and bytes of a row.

10,000 kiosks with 300 orders a day send 125 entries a second in their busiest hour. One process sends them for all
kiosks, through mosquitto, in two phases: at `--rate` for `--seconds`, then at twice the rate.

Usage: Tests/Kiosk/Benchmarks/archive_rate.py [--kiosks N] [--rate N] [--seconds N] [--seed N]
"""

import argparse
import json
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests/Shared/EndToEnd"))

from archive import Archive  # noqa: E402
from arrivals import eventually  # noqa: E402
from client import Client  # noqa: E402
from kiosk import RECIPES  # noqa: E402
from meter import Meter, percentile  # noqa: E402
from mosquitto import Mosquitto  # noqa: E402
from postgres import Postgres  # noqa: E402

#: Seconds between two samples of `archive_status`.
INTERVAL = 2.0


class Kiosks:
    """The ledgers of the kiosks. An order with a machine is two entries: accepted, then made."""

    def __init__(self, count: int, chance: random.Random) -> None:
        self.last = [0] * count
        self.open: list[tuple[int, int, str]] = []
        self.chance = chance
        self.sent = 0

    def next(self) -> tuple[str, str]:
        """Returns the topic and the payload of an entry."""
        if self.sent % 2 and self.open:
            kiosk, job, juice = self.open.pop(0)
            members = {"status": "made", "source": "machine/bar", "machine": "bar", "job": job, "juice": juice,
                       "quantity": 1, "amount": "3.50", "currency": "EUR"}
        else:
            kiosk, juice = self.chance.randrange(len(self.last)), self.chance.choice(list(RECIPES))
            members = {"status": "accepted", "source": "order/p1", "id": f"{self.chance.getrandbits(48):x}",
                       "juice": juice, "quantity": 1, "ticket": self.last[kiosk] % 300 + 1, "machine": "bar", "place": 1,
                       "changes": {fruit: -amount for fruit, amount in RECIPES[juice].items()}}
            self.open.append((kiosk, self.last[kiosk] + 1, juice))
        self.sent += 1
        self.last[kiosk] += 1
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return f"kiosk/k{kiosk}/events", json.dumps(
            {"seq": self.last[kiosk], "epoch": kiosk + 1, "at": at} | members)


def send(client: Client, kiosks: Kiosks, rate: float, seconds: float, database: Postgres) -> dict[str, list[float]]:
    """Sends entries at a rate, and returns samples of how far the rows and the sums are behind, in seconds."""
    samples: dict[str, list[float]] = {"rows": [], "sums": []}
    begin, number, sampled = time.monotonic(), 0, time.monotonic()
    while (now := time.monotonic() - begin) < seconds:
        while number < rate * now:
            client.client.publish(*kiosks.next(), 1)
            number += 1
        if time.monotonic() > sampled + INTERVAL:
            sampled = time.monotonic()
            rows, sums = database.query(
                "SELECT extract(epoch FROM now() - max(at)), (SELECT sums_behind_seconds FROM juice.archive_status)"
                " FROM juice.event WHERE at > now() - interval '10 minutes'").split("|")
            samples["rows"].append(float(rows or now))
            samples["sums"].append(float(sums))
        time.sleep(0.02)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kiosks", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=125, help="entries in a second")
    parser.add_argument("--seconds", type=float, default=300, help="duration of each phase")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"--kiosks {options.kiosks} --rate {options.rate:g} --seconds {options.seconds:g} --seed {options.seed}")
    kiosks = Kiosks(options.kiosks, random.Random(options.seed))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        database = Postgres("shared_buffers = 256MB").start()
        stack.callback(database.close)
        broker = Mosquitto(Path(folder) / "broker", settings="max_queued_messages 1000000").start()
        stack.callback(broker.kill)
        archive = Archive(Path(folder) / "archive.yaml", broker, database).start()
        stack.callback(archive.kill)
        client = Client(broker.port)
        stack.callback(client.close)
        meter = Meter({
            name: lambda part=part: [part.process.pid] if part.process else []
            for name, part in (("archiver", archive), ("PostgreSQL", database))})
        stack.callback(meter.close)
        for rate in (options.rate, 2 * options.rate):
            before, begin = meter.look(), time.monotonic()
            samples = send(client, kiosks, rate, options.seconds, database)
            seconds = time.monotonic() - begin
            print(f"{rate:g} entries/s for {seconds:.0f} s")
            for name, values in samples.items():
                print(f"  {name} behind: {percentile(values, 0.5):.1f} s (median), {max(values):.1f} s (most)")
            for part, used in meter.look().items():
                print(f"  {part}: {(used - before[part]) / seconds:.2f} cores, {meter.memory()[part]:.0f} MiB")
        eventually(lambda: database.query("SELECT count(*) FROM juice.event") == f"{kiosks.sent}", 300)
        eventually(lambda: database.query("SELECT days FROM juice.summed_up") == "0", 300)
        print(f"{kiosks.sent} entries sent and stored; made: "
              + database.query("SELECT sum(made) FROM juice.time_to_cup"))
        sizes = database.query(
            "SELECT relname, round(pg_relation_size(oid)::numeric / (SELECT count(*) FROM juice.event), 1) FROM pg_class"
            " WHERE oid = 'juice.event_1'::regclass OR oid IN"
            " (SELECT indexrelid FROM pg_index WHERE indrelid = 'juice.event_1'::regclass) ORDER BY 2 DESC")
        print("bytes of a row:", ", ".join(sizes.replace("|", " ").splitlines()))
        print("with indexes:", database.query(
            "SELECT round(pg_total_relation_size('juice.event_1')::numeric / count(*)) FROM juice.event"))


main()
