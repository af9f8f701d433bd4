#!/usr/bin/env python3
"""Measures the latency of orders with and without an uplink, in turns.

Three kiosks have ledgers of the same size, each with brokers of its own: one without an uplink, one
whose entries are all confirmed, and one that replays all its entries to an archive. Until the
replay is complete, each kiosk gets one order in turn. Prints the latencies, also relative to the
first kiosk; fails if the 99th percentile of the replaying kiosk exceeds the limit.

    Tests/Shared/EndToEnd/uplink_load.py [--entries 1000000] [--pace 2000] [--pause 0.005] [--limit 1.2]
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path += [str(TESTS), str(TESTS / "Kiosk/EndToEnd")]

from client import BASE, Client  # noqa: E402
from kiosk import Kiosk  # noqa: E402
from meter import percentile  # noqa: E402
from mosquitto import Mosquitto  # noqa: E402
from test_uplink import UP, fill, uplink  # noqa: E402


class Asking(threading.Thread):
    """An archive that requests all entries once."""

    def __init__(self, port: int, epoch: int, entries: int) -> None:
        super().__init__(daemon=True)
        self.client = Client(port, f"{UP}/replay/load/result")
        self.epoch, self.entries = epoch, entries
        #: Number of the last entry of the completed requests.
        self.told = 0

    def run(self) -> None:
        while self.told < self.entries:
            since = len(self.client.messages)
            request = {"id": f"{since}", "epoch": self.epoch, "from": self.told + 1, "to": self.entries}
            while not (done := self._ask(request, since)):
                pass
            self.told = done["to"]
        self.client.close()

    def _ask(self, request: dict, since: int) -> dict | None:
        """Requests a replay. The same request may be repeated until it is complete."""
        self.client.publish(f"{UP}/replay/load", json.dumps(request))
        try:
            return self.client.messages.first(
                lambda m: m.json["status"] == "done", since, within=5
            ).json
        except TimeoutError:
            return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--pace", type=int, default=2000, help="entries told again in a second")
    parser.add_argument("--pause", type=float, default=0.005, help="seconds between two orders")
    parser.add_argument("--limit", type=float, default=1.2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(measure(options, Path(folder)))


class Contender:
    """A kiosk with a ledger of a given size, its broker, and its upstream broker."""

    def __init__(self, folder: Path, options: argparse.Namespace, has_uplink: bool) -> None:
        folder.mkdir()
        self.broker = Mosquitto(folder / "broker").start()
        self.upper = Mosquitto(folder / "upper").start()
        settings: dict = {"stock": {"initial": 1_000_000_000, "capacity": 1_000_000_000}}
        if has_uplink:
            settings["uplink"] = uplink(self.upper.port, entries_per_second=options.pace)
        self.kiosk = Kiosk(folder, self.broker, settings).start()
        self.kiosk.stop()
        fill(self.kiosk, options.entries)
        with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger, ledger:
            (self.epoch,) = ledger.execute("SELECT epoch FROM kiosk").fetchone()
            ledger.execute("UPDATE kiosk SET uplinked = (SELECT MAX(seq) FROM entry)")
        self.kiosk.start()
        self.panel = Client(self.broker.port, f"{BASE}/order/p1/result")
        self.times: list[float] = []

    def order(self) -> None:
        begin = time.perf_counter()
        assert self.panel.order("banana")["status"] == "ready"
        self.times.append((time.perf_counter() - begin) * 1000)

    def close(self) -> None:
        self.panel.close()
        self.kiosk.kill()
        self.broker.kill()
        self.upper.kill()


def measure(options: argparse.Namespace, folder: Path) -> int:
    contenders = {
        name: Contender(folder / f"{number}", options, has_uplink=number > 0)
        for number, name in enumerate(["without", "all told", "telling again"])
    }
    busy = contenders["telling again"]
    asking = Asking(busy.upper.port, busy.epoch, options.entries)
    asking.start()
    begin = time.monotonic()
    while asking.is_alive():
        for contender in contenders.values():
            contender.order()
            time.sleep(options.pause)
    seconds = time.monotonic() - begin
    usual = contenders["without"].times
    ratio = 1.0
    for name, contender in contenders.items():
        contender.close()
        parts = [0.5, 0.99]
        found = [percentile(contender.times, part) for part in parts]
        ratios = [found[i] / percentile(usual, part) for i, part in enumerate(parts)]
        ratio = ratios[1]
        print(
            f"{name:14} p50 {found[0]:7.3f} ms ({ratios[0]:.2f})   "
            f"p99 {found[1]:7.3f} ms ({ratios[1]:.2f})"
        )
    print(f"{asking.told} entries told again in {seconds:.0f} s, {len(usual)} orders each meanwhile")
    return 0 if ratio <= options.limit else 1


if __name__ == "__main__":
    main()
