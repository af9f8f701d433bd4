"""Measures processor time and memory of the parts of a test."""

import os
import threading
from pathlib import Path
from typing import Callable

_TICKS = os.sysconf("SC_CLK_TCK")


def _processes() -> dict[int, tuple[int, float]]:
    """Returns the parent and the processor seconds of each process (proc(5))."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(stat.parent.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS)
    return found


def _memory(pid: int) -> float:
    """Returns the memory in MiB; shared memory counts proportionally (PSS)."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Meter:
    """Samples each second. The time that a killed process used after the last sample is not
    counted."""

    def __init__(self, parts: dict[str, Callable[[], list[int]]]) -> None:
        """`parts`: the processes of each part; their child processes are included."""
        self.parts = parts
        self.seconds = dict.fromkeys(parts, 0.0)
        self._last: dict[int, float] = {}
        self._trees: dict[str, list[int]] = {}
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self.look()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._is_over.wait(1):
            self.look()

    def close(self) -> None:
        self._is_over.set()

    def look(self) -> dict[str, float]:
        """Returns the processor seconds of each part so far."""
        with self._lock:
            processes = _processes()
            children: dict[int, list[int]] = {}
            for pid, (parent, _) in processes.items():
                children.setdefault(parent, []).append(pid)
            for part, roots in self.parts.items():
                tree, waiting = [], list(roots())
                while waiting:
                    tree.append(pid := waiting.pop())
                    waiting += children.get(pid, [])
                self._trees[part] = tree
                for pid in tree:
                    had = processes.get(pid, (0, 0.0))[1]
                    self.seconds[part] += max(0.0, had - self._last.get(pid, 0.0))
                    self._last[pid] = had
            return dict(self.seconds)

    def memory(self) -> dict[str, float]:
        """Returns the current memory of each part in MiB."""
        return {part: sum(map(_memory, tree)) for part, tree in self._trees.items()}
