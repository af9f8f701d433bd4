#!/usr/bin/python3
"""Measures the response time of each page of a chain: the minimum and the median of five requests
to the shipped dashboard, with generated kiosks in a real PostgreSQL.

Usage: Tests/Kiosk/Benchmarks/chain_pages.py [KIOSKS [DAYS]]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "Shared/EndToEnd"))

from dashboard import PASSWORDS, Dashboard  # noqa: E402
from made_up_chain import disturb, fill, load  # noqa: E402
from mosquitto import Mosquitto  # noqa: E402
from postgres import Postgres  # noqa: E402
from web_client import WebClient  # noqa: E402

PAGES = [
    "/chain", "/chain?days=28", "/chain/kiosks", "/chain/kiosks?page=100", "/chain/kiosks?q=street%20777",
    "/chain/kiosks?days=28", "/chain/sold-out", "/chain/sold-out?page=10", "/chain/missing", "/chain/conflicts",
    "/chain/shared-ids", "/chain/clocks", "/chain/rollouts", "/chain/quarantine", "/chain/kiosks/k77",
]


def main(kiosks: int = 10_000, days: int = 56) -> None:
    folder = Path(tempfile.mkdtemp())
    database = Postgres().start()
    broker = Mosquitto(folder / "broker").start()
    dashboard = Dashboard(
        folder, broker, {}, archive={"database": database.database, "timeout_seconds": 60})
    try:
        load(database, folder, [f"k{n},Region {n % 20},Kiosk {n},Street {n}" for n in range(kiosks)])
        fill(database, days)
        for number in range(0, kiosks, max(1, kiosks // 100)):
            disturb(database, f"k{number}")
        dashboard.start()
        dashboard.add_user("nora", "viewer", "--region", "Region 7")
        print(f"{kiosks} kiosks, {database.query('SELECT count(*) FROM juice.sales_day')} rows of sales")
        for name in ("vera", "nora"):
            web_client = WebClient(dashboard.port).log_in(name, PASSWORDS[name])
            for page in PAGES:
                times = []
                for _ in range(5):
                    start = time.monotonic()
                    answer = web_client.get(page)
                    times.append(1000 * (time.monotonic() - start))
                print(f"{name:5} {page:32} {answer.status} {min(times):7.0f} {statistics.median(times):7.0f} ms")
    finally:
        dashboard.kill()
        broker.stop()
        database.close()


main(*map(int, sys.argv[1:]))
