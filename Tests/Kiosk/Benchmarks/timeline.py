"""Measures the stages of one order, from the received to the sent packet."""

from pathlib import Path
from statistics import mean
from typing import NamedTuple

import programs
from contenders import JuiceKiosk
from measure import running
from report import table


class Stamp(NamedTuple):
    call: str
    #: s for a socket, w for the ledger's log, l for its other files.
    kind: str
    begin: int
    end: int
    result: int


STAGES = (
    "read it from the socket",
    "decide, and change the ledger in memory",
    "write the pages of the ledger",
    "wait for the disk",
    "encode what is answered and shown",
    "write answers and acknowledgement to the socket",
    "afterwards: checkpoints, confirmations, log",
)


def stamped(folder: Path, orders: int) -> tuple[dict, list[Stamp]]:
    """Runs one order at a time. Returns the load's result and the kiosk's system calls."""
    file = folder / "stamps"
    variables = {"LD_PRELOAD": str(programs.STAMPS), "STAMPS": str(file)}
    with running(JuiceKiosk, folder / "timeline", **variables) as drive:
        drive.run(orders=500, in_flight=1)
        result = drive.run(orders=orders, warm_up=100, in_flight=1)
    drive.check()
    stamps = []
    for line in file.read_text().splitlines():
        call, kind, *numbers = line.split()
        stamps.append(Stamp(call, kind, *map(int, numbers)))
    return result, stamps


def orders(stamps: list[Stamp], last: int) -> list[list[float]]:
    """Returns the microseconds of each stage of the last orders."""
    syncs = [number for number, stamp in enumerate(stamps)
             if stamp.kind == "w" and stamp.call in ("fdatasync", "fsync")]
    found = []
    # The last sync may belong to the shutdown.
    for sync in syncs[-last - 1:-1]:
        pages = sync
        while stamps[pages - 1].kind == "w":
            pages -= 1
        start = pages
        while stamps[start - 1].call != "poll" or stamps[start - 1].result < 1:
            start -= 1
        reads = [n for n in range(start, pages)
                 if stamps[n].kind == "s" and stamps[n].call in ("read", "recv")]
        end = sync
        while end < len(stamps) and stamps[end].call != "poll":
            end += 1
        writes = [n for n in range(sync, end)
                  if stamps[n].kind == "s" and stamps[n].call in ("write", "send", "sendmsg")]
        if not reads or not writes or end == len(stamps):
            continue
        moments = [
            stamps[start - 1].end, stamps[reads[-1]].end, stamps[pages].begin, stamps[sync].begin,
            stamps[sync].end, stamps[writes[0]].begin, stamps[writes[-1]].end, stamps[end].begin,
        ]
        found.append([(after - before) / 1000 for before, after in zip(moments, moments[1:])])
    return found


def measure(folder: Path, count: int) -> dict[str, float]:
    """Returns the mean microseconds of each stage. They add up; no sender waits for the last one.
    """
    result, stamps = stamped(folder, count)
    stages = dict(zip(STAGES, map(mean, zip(*orders(stamps, count)))))
    # With one order in flight, an order starts when the previous one ends.
    rest = 1e6 / result["throughput"] - sum(list(stages.values())[:-1])
    return {"broker, wire and wake-ups, there and back": rest} | stages


def stage_table(stages: dict[str, float]) -> str:
    *waited, (last, after) = stages.items()
    total = sum(time for _, time in waited)
    rows = [[name, f"{time:.0f}", f"{time / total:.0%}"] for name, time in waited]
    rows.append(["order to answer", f"{total:.0f}", "100%"])
    rows.append([last, f"{after:.0f}", ""])
    return table(["one order, alone", "µs", "part"], rows)
