#!/usr/bin/env python3
"""A week in an hour: the shipped kiosk at full load, with the failures of several years.

Usage: /usr/bin/python3 Tests/Shared/EndToEnd/week.py [ORDERS]     1,000,000 if none is given

Seven days, each with a seventh of the orders and with ten failures of its own kind. At the end of
each day the auditor checks the day's presses and the whole ledger. From Wednesday on the kiosk is
one process. The figures must be constant from Thursday on; see `BOUNDS`.
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression
from typing import Callable

from arrivals import eventually
from kiosk import Kiosk
from mosquitto import Mosquitto
from scene import STOCK, Scene

ORDERS = 1_000_000
# Samples per day; a failure precedes every second one.
SAMPLES = 20
# Number of days in the first half. In the second half, one process runs throughout.
FIRST_HALF = 3
MIB = 2**20
# A high maximum age, so that no order becomes stale while the machine is busy.
SETTINGS = {"stock": STOCK, "orders": {"max_age_seconds": 3600}}
# The memory that the kiosk uses by design: the last requests with an id (RequestIndex), with a
# maximum size in bytes each. Every second panel has ids.
REMEMBERED, BYTES_EACH = 100_000, 48


@dataclass(frozen=True)
class Sample:
    day: int
    orders: int
    resident: float
    descriptors: float
    # Bytes of the ledger's files, and of its write-ahead log.
    ledger: float
    ahead: float
    log: float


# MARK: Bounds

@dataclass(frozen=True)
class Bound:
    """A bound on the line of best fit through the samples (least squares)."""

    name: str
    value: Callable[[Sample], float]
    # Maximum rise of the line over the second half.
    rise: float | None = None
    # Additional rise for a number of orders.
    allowance: Callable[[int, int], float] = lambda start, end: 0
    # Maximum ratio of the slope to that of the first half.
    steepness: float | None = None

    def judge(self, samples: list[Sample]) -> tuple[str, bool]:
        halves = [[sample for sample in samples if (sample.day < FIRST_HALF) == is_first]
                  for is_first in (True, False)]
        first, second = (self._slope(half) for half in halves)
        if self.steepness is not None:
            most = first * self.steepness
            return f"{self.name}: {second:.1f} an order, at most {most:.1f}", second <= most
        start, end = (halves[1][index].orders for index in (0, -1))
        most = self.rise + self.allowance(start, end)
        rise = second * (end - start)
        return f"{self.name}: the line rises by {rise:.2f}, at most {most:.2f}", rise <= most

    def _slope(self, samples: list[Sample]) -> float:
        return linear_regression(
            [sample.orders for sample in samples], [self.value(sample) for sample in samples]
        ).slope


def remembered(start: int, end: int) -> float:
    """Returns by how many MiB the memory used by design grows between two numbers of orders."""
    kept = [min(orders // 2, REMEMBERED) for orders in (start, end)]
    return (kept[1] - kept[0]) * BYTES_EACH / MIB


BOUNDS = [
    Bound("memory, MiB", lambda sample: sample.resident / MIB, rise=2, allowance=remembered),
    Bound("file descriptors", lambda sample: sample.descriptors, rise=0.5),
    Bound("write-ahead log, MiB", lambda sample: sample.ahead / MIB, rise=1),
    Bound("disk, bytes", lambda sample: sample.ledger, steepness=1.1),
    Bound("log, bytes", lambda sample: sample.log, steepness=1.1),
]


# MARK: Week

class Week:
    def __init__(self, folder: Path, orders: int) -> None:
        self.orders = orders
        # The settings of deploy/mosquitto/juice-kiosk.conf: a killed broker loses only recent
        # state.
        self.broker = Mosquitto(
            folder / "broker", settings="autosave_interval 5", counts=True
        ).start()
        (folder / "kiosk").mkdir()
        self.kiosk = Kiosk(folder / "kiosk", self.broker, SETTINGS)
        self.samples: list[Sample] = []
        self.pressed = 0
        self._reloads = self._log_bytes = self._log_lines = 0

    def close(self) -> None:
        self.kiosk.kill()
        self.broker.kill()

    # MARK: Failures

    def quiet(self, scene: Scene) -> None:
        pass

    def restart(self, scene: Scene) -> None:
        assert self.kiosk.stop() == 0
        self.kiosk.start()

    def crash(self, scene: Scene) -> None:
        self.kiosk.stop(signal.SIGKILL)
        self.kiosk.start()

    def reload(self, scene: Scene) -> None:
        self._reloads += 1
        limits = SETTINGS["orders"] | {"max_quantity": 10 + self._reloads}
        since = len(self.kiosk.log)
        self.kiosk.configure(self.broker, SETTINGS | {"orders": limits})
        self.kiosk.process.send_signal(signal.SIGHUP)
        self.kiosk.wait_for_log("the new configuration is taken", since)

    def broker_restart(self, scene: Scene) -> None:
        self._broker_ends(scene, signal.SIGTERM)

    def broker_crash(self, scene: Scene) -> None:
        self._broker_ends(scene, signal.SIGKILL)

    def _broker_ends(self, scene: Scene, sign: int) -> None:
        since, started = len(self.kiosk.log), time.monotonic()
        self.broker.stop(sign)
        self.broker.start()
        self.kiosk.wait_for_log(" online", since)
        for panel in scene.panels:
            panel.wait_until_subscribed()
            panel.ask_again()
        # Waits until the connection is much older than the outage, so that the kiosk's next delay
        # is the shortest again.
        # shortest again.
        now = time.monotonic()
        held = now + 2.2 + 4 * (now - started)
        eventually(lambda: time.monotonic() > held, within=600)

    def reload_and_broker_restart(self, scene: Scene) -> None:
        self.reload(scene)
        self.broker_restart(scene)

    # MARK: Days

    def run(self) -> None:
        self.kiosk.start()
        process = 0
        for number, (name, trouble, lost) in enumerate(DAYS):
            if number == FIRST_HALF - 1:
                process = self.kiosk.process.pid
            self._day(number, name, trouble, lost)
        assert self.kiosk.is_alive and self.kiosk.process.pid == process
        self.kiosk.stop(signal.SIGKILL)
        self.kiosk.start()
        assert self.kiosk.stop() == 0
        self.kiosk.verify()

    def _day(
        self, number: int, name: str, trouble: Callable[["Week", Scene], None], lost: str
    ) -> None:
        since = sum(1 for _ in self.kiosk.entries())
        scene = Scene(self.kiosk, self.broker, prefix=f"{name}-", since=since)
        started = time.monotonic()
        try:
            a_slice = max(1, self.orders // len(DAYS) // SAMPLES // len(scene.panels))
            for turn in range(SAMPLES):
                if turn % 2:
                    trouble(self, scene)
                wanted = [len(panel.answers) + a_slice for panel in scene.panels]
                for panel, count in zip(scene.panels, wanted):
                    panel.wait_for_answers(count - len(panel.answers), within=600)
                answered = sum(len(panel.answers) for panel in scene.panels)
                self.samples.append(self._sample(number, self.pressed + answered))
            took = time.monotonic() - started
            judged = scene.end(lost)
            self.pressed += sum(panel.pressed for panel in scene.panels)
        finally:
            scene.close()
        speed = answered / took
        what = trouble.__name__.replace("_", " ")
        print(row(name, what, *figures(self.samples[-1], speed)), judged, sep="  ", flush=True)

    def _sample(self, day: int, orders: int) -> Sample:
        process = Path(f"/proc/{self.kiosk.process.pid}")
        files = {file.name: file.stat().st_size for file in self.kiosk.folder.glob("ledger.sqlite*")}
        lines = self.kiosk.log.since(self._log_lines)
        self._log_lines += len(lines)
        self._log_bytes += sum(len(line) + 1 for line in lines)
        return Sample(
            day, orders, int(self.kiosk.memory() * 1000 * 1024), len(os.listdir(process / "fd")),
            sum(files.values()), files.get("ledger.sqlite-wal", 0), self._log_bytes,
        )


# Each day with what the broker may lose on it; see Auditor.
DAYS = [
    ("Monday", Week.restart, "nothing"),
    ("Tuesday", Week.crash, "nothing"),
    ("Wednesday", Week.broker_restart, "answers"),
    ("Thursday", Week.broker_crash, "presses"),
    ("Friday", Week.reload, "nothing"),
    ("Saturday", Week.reload_and_broker_restart, "answers"),
    ("Sunday", Week.quiet, "nothing"),
]
HEAD = ["day", "trouble", "orders", "orders/s", "memory MiB", "descriptors", "ledger MiB",
        "ahead MiB", "log MiB"]


def figures(sample: Sample, speed: float) -> list[str]:
    return [
        f"{sample.orders:,}", f"{speed:,.0f}", f"{sample.resident / MIB:.1f}",
        f"{sample.descriptors:.0f}", f"{sample.ledger / MIB:.1f}", f"{sample.ahead / MIB:.1f}",
        f"{sample.log / MIB:.1f}",
    ]


def row(day: str, trouble: str, *others: str) -> str:
    widths = map(len, HEAD[2:])
    return "  ".join([f"{day:9}", f"{trouble:25}",
                      *(f"{cell:>{max(width, 9)}}" for cell, width in zip(others, widths))])


def main() -> int:
    orders = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else ORDERS
    folder = Path(tempfile.mkdtemp(prefix="week-"))
    week = Week(folder, orders)
    print(row(*HEAD), flush=True)
    try:
        week.run()
    except BaseException:
        week.close()
        (folder / "kiosk/log").write_text("\n".join(week.kiosk.log))
        print(f"See {folder}: the ledger, and what the kiosk and the broker have said.")
        raise
    week.close()
    shutil.rmtree(folder)
    judged = [bound.judge(week.samples) for bound in BOUNDS]
    for text, is_good in judged:
        print("flat" if is_good else "NOT FLAT", text)
    return 0 if all(is_good for _, is_good in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
