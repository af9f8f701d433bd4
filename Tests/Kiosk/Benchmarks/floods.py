"""Measures how long other panels wait while one panel sends 100 times its limit."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from client import BASE, Client
from kiosk import Kiosk
from mosquitto import Mosquitto
from report import middle, table
from scene import STOCK

FLOOD = Path(__file__).resolve().parents[2] / "Shared/EndToEnd/flood.py"
RATE, PRESSES = 5000, 200
KINDS = ("presses", "garbage", "ids")


def median_answer(broker: Mosquitto, name: str) -> float:
    """Returns the median time from a press to its answer, in milliseconds."""
    panels = Client(broker.port, f"{BASE}/order/+/result")
    times = []
    try:
        for number in range(PRESSES):
            started = time.perf_counter()
            # A separate panel for each press, so that none reaches its limit.
            panels.order({"id": "1", "juice": "kiwi"}, panel=f"{name}-{number}")
            times.append(time.perf_counter() - started)
    finally:
        panels.close()
    return statistics.median(times) * 1000


def measure(folder: Path, turns: int) -> list[list[str]]:
    """Returns one row for each kind of flood: medians with the flood at the kiosk and on another
    topic.

    With the flood on another topic the load of the broker and the processors is the same, but not
    that of the kiosk. The turns alternate.
    """
    broker = Mosquitto(folder / "broker").start()
    (folder / "kiosk").mkdir()
    settings = {"stock": STOCK, "orders": {"max_per_second": 50}}
    kiosk = Kiosk(folder / "kiosk", broker, settings).start()
    rows = []
    try:
        for kind in KINDS:
            found: dict[str, list[float]] = {"elsewhere": [], kind: []}
            for turn in range(turns):
                for flood in found:
                    sender = subprocess.Popen(
                        [sys.executable, FLOOD, str(broker.port), flood, "0", str(RATE)])
                    try:
                        found[flood].append(median_answer(broker, f"{kind}-{flood}-{turn}"))
                    finally:
                        sender.kill()
                        sender.wait()
            here, elsewhere = found[kind], found["elsewhere"]
            ratios = [one / other for one, other in zip(here, elsewhere)]
            rows.append([kind, middle(here, 1), middle(elsewhere, 1), middle(ratios, 2)])
    finally:
        kiosk.kill()
        broker.kill()
    return rows


def flood_table(rows: list[list[str]]) -> str:
    return table(["flood of", "ms, at the kiosk", "ms, elsewhere", "ratio"], rows)
