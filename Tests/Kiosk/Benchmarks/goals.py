"""The goals of the kiosk, compared with the figures of one run; ratios are computed for each turn.
"""

from dataclasses import dataclass
from statistics import median
from typing import Callable, Iterable

ECHOES = ("echo", "echo-nodelay")


@dataclass
class Figure:
    name: str
    values: list[float]
    goal: float
    is_least: bool = False
    unit: str = ""

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def is_reached(self) -> bool:
        return self.value >= self.goal if self.is_least else self.value <= self.goal


class Results:
    def __init__(self, results: list[dict]) -> None:
        self.results = results
        self.turns = sorted({result["turn"] for result in results})

    def cell(self, turn: int, contender: str, in_flight: int) -> dict | None:
        for result in self.results:
            if (result["turn"], result["contender"], result["in_flight"]) == (
                turn, contender, in_flight
            ):
                return result
        return None

    def floor(self, turn: int, in_flight: int) -> dict | None:
        """Returns the faster of the echo with NODELAY and the one without."""
        cells = [self.cell(turn, echo, in_flight) for echo in ECHOES]
        return max((c for c in cells if c), key=lambda c: c["throughput"], default=None)

    def values(self, contender: str, in_flight: int, key: str) -> list[float]:
        cells = [self.cell(turn, contender, in_flight) for turn in self.turns]
        return [cell[key] for cell in cells if cell]

    def ratios(self, ratio: Callable[[int], float | None]) -> list[float]:
        return [found for turn in self.turns if (found := ratio(turn)) is not None]


def figures(results: Results, counted: Iterable[dict]) -> list[Figure]:
    def against(other: str, key: str, in_flight: int, suffix: str = "") -> list[float]:
        def ratio(turn: int) -> float | None:
            kiosk = results.cell(turn, "juice-kiosk" + suffix, in_flight)
            one = (results.floor(turn, in_flight) if other == "floor"
                   else results.cell(turn, other + suffix, in_flight))
            return kiosk[key] / one[key] if kiosk and one else None
        return results.ratios(ratio)

    def against_commit(turn: int) -> float | None:
        kiosk, floor = results.cell(turn, "juice-kiosk", 1), results.floor(turn, 1)
        commit = results.cell(turn, "commit", 0)
        return kiosk["p50"] / (floor["p50"] + commit["p50"]) if kiosk and floor else None

    found = [
        Figure("throughput at 64 in flight, of the echo's", against("floor", "throughput", 64), 0.9,
               is_least=True),
        Figure("throughput at 512 in flight, of the echo's", against("floor", "throughput", 512), 0.9,
               is_least=True),
        Figure("throughput at 64 in flight, of the echo's that tells an event",
               against("echo-events", "throughput", 64), 0.9, is_least=True),
        Figure("throughput at 512 in flight, of the echo's that tells an event",
               against("echo-events", "throughput", 512), 0.9, is_least=True),
        Figure("p50 with one in flight, of the echo's and a commit",
               results.ratios(against_commit), 1.05),
        Figure("p99 at 64 in flight, of the echo's", against("floor", "p99", 64), 1),
        Figure("CPU per order at 64 in flight, of the echo's", against("floor", "cpu", 64), 1.5),
        Figure("CPU per order at 64 in flight, of the echo's that tells an event",
               against("echo-events", "cpu", 64), 1.5),
        Figure("throughput at 64 in flight, of Python's", against("python", "throughput", 64), 6, is_least=True),
        Figure("the same with each sync 5 ms slower", against("python", "throughput", 64, ", slow disk"), 35,
               is_least=True),
        Figure("throughput at 64 in flight, of the version before", against("before", "throughput", 64),
               1, is_least=True),
        Figure("throughput at 512 in flight, of the version before",
               against("before", "throughput", 512), 1, is_least=True),
        Figure("p50 with one in flight, of the version before", against("before", "p50", 1), 1),
        Figure("CPU per order at 64 in flight, of the version before", against("before", "cpu", 64), 1),
        Figure("memory, of the version before", against("before", "memory", 0), 1),
        Figure("peak of memory", [size / 2**20 for size in results.values("juice-kiosk", 0, "memory")],
               32, unit=" MiB"),
        Figure("disk per order", results.values("juice-kiosk", 0, "bytes"), 250, unit=" bytes"),
        Figure("syncs per order at 64 in flight",
               [c["syncs"] for c in counted if c["contender"] == "juice-kiosk"], 0.05),
    ]
    return [figure for figure in found if figure.values]
