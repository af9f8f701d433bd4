"""Runs all contenders in turns, so that a slow minute of the machine affects all of them."""

from dataclasses import asdict
from pathlib import Path
from typing import Callable

import kills
import programs
import trace
from contenders import CONTENDERS, EchoWithNoDelay, JuiceKiosk, PythonMaker
from measure import SYNCS, calls_per_order, commit_microseconds, order_of, running

Tell = Callable[[str], None]
IN_FLIGHT = (1, 8, 64, 512)
#: The contenders compared on a slow disk, and the delay of each sync.
SLOW = (JuiceKiosk, PythonMaker)
SYNC_MILLISECONDS = 5
#: The contenders whose records can be counted after a kill.
KEEPERS = ("juice-kiosk", "python", "go")


def compare(
    names: list[str], scratch: Path, tell: Tell, turns: int, orders: int, seconds: int
) -> list[dict]:
    """Returns one result for each contender and load."""
    results = []
    for turn in range(turns):
        folder = scratch / f"turn{turn}"
        folder.mkdir()
        commit = commit_microseconds(folder / "commit")
        tell(f"turn {turn + 1} of {turns}: a commit takes {commit:.0f} us")
        results.append({"turn": turn, "contender": "commit", "in_flight": 0, "p50": commit})
        for name in order_of(turn, names):
            tell(f"turn {turn + 1} of {turns}: {name}")
            with running(CONTENDERS[name], folder / name) as drive:
                for in_flight in IN_FLIGHT:
                    # The loop is full from the start: the orders that are not timed fill the
                    # caches.
                    warm_up = 100 if in_flight == 1 else 1000
                    cell = drive.run(
                        orders=orders, seconds=seconds, warm_up=warm_up, in_flight=in_flight
                    )
                    results.append({"turn": turn, "contender": name} | cell)
                memory = drive.contender.memory("VmHWM")
            drive.check()
            results.append({
                "turn": turn, "contender": name, "in_flight": 0, "memory": memory,
                "bytes": drive.contender.size() / drive.count,
            })
        if all(kind.name in names for kind in SLOW):
            for kind in SLOW:
                results.append({"turn": turn} | slow_disk(kind, folder, orders, seconds))
    return results


def slow_disk(kind: type, folder: Path, orders: int, seconds: int) -> dict:
    variables = {
        "LD_PRELOAD": str(programs.SLOW_DISK), "SYNC_MILLISECONDS": str(SYNC_MILLISECONDS)
    }
    with running(kind, folder / f"slow-{kind.name}", **variables) as drive:
        result = drive.run(orders=orders, seconds=seconds, warm_up=64, in_flight=64)
    drive.check()
    return {"contender": f"{kind.name}, slow disk"} | result


def count_calls(names: list[str], scratch: Path, tell: Tell, orders: int) -> list[dict]:
    counted = []
    for name in names if trace.is_allowed() else []:
        tell(f"system calls: {name}")
        kind = CONTENDERS[name]
        counted.append({
            "contender": name,
            "calls": calls_per_order(kind, scratch / f"calls-{name}", 64, orders // 4),
            "syncs": calls_per_order(kind, scratch / f"syncs-{name}", 64, orders, *SYNCS),
        })
    return counted


def kill(names: list[str], scratch: Path, tell: Tell, orders: int) -> list[dict]:
    survived = []
    for name in names:
        if name in KEEPERS:
            tell(f"kill -9, {kills.KILLS} times: {name}")
            aftermath = kills.survive(CONTENDERS[name], scratch / f"kills-{name}", orders)
            survived.append({"contender": name} | asdict(aftermath))
    return survived


def prove_order(scratch: Path, tell: Tell) -> dict | None:
    """Proves that no acknowledgement of an order is sent before the order is synced to the disk.

    The same proof must fail for a program that uses libmosquitto in the usual way, or it proves
    nothing.
    """
    if not trace.is_allowed():
        tell("NOT PROVED that acknowledgements wait for the disk: nobody may trace a process here")
        return None
    tell("acknowledgements: behind the sync, or not")
    kiosk = traced("juice-kiosk", scratch)
    naive = traced("echo-disk", scratch)
    if kiosk.too_early or not kiosk.acknowledged:
        raise RuntimeError(f"acknowledged before it was on the disk: {kiosk.too_early[:3]}")
    if not naive.too_early:
        raise RuntimeError("the proof has not noticed that an echo acknowledges at once")
    return {
        "acknowledged": kiosk.acknowledged, "syncs": kiosk.syncs,
        "naive": naive.acknowledged, "naive_too_early": len(naive.too_early),
    }


def prove_judge(scratch: Path, tell: Tell) -> None:
    """Proves that the load does not accept an echoed order as a result."""
    tell("the load is shown an echo, and must refuse it")
    with running(EchoWithNoDelay, scratch / "judge") as drive:
        drive.contender.is_echo = False
        try:
            drive.run(orders=10, in_flight=1)
        except RuntimeError:
            return
    raise RuntimeError("the load has not noticed that an echo makes no juice")


def traced(name: str, scratch: Path) -> trace.Trace:
    file = scratch / f"{name}.trace"
    with running(CONTENDERS[name], scratch / f"trace-{name}", *trace.under(file)) as drive:
        drive.run(orders=400, in_flight=16)
    drive.check()
    found = trace.read(file)
    if found.acknowledged < drive.count:
        raise RuntimeError(f"{found.acknowledged} of {drive.count} acknowledgements of {name} seen")
    return found
