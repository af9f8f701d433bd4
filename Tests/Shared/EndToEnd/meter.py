"""What parts of a test take of the machine: processor time, and memory."""

import os
import threading
from pathlib import Path
from typing import Callable

_TICKS = os.sysconf("SC_CLK_TCK")


def _processes() -> dict[int, tuple[int, float]]:
    """Of each: its parent, and the seconds of processor that it has had (proc(5))."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(stat.parent.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS)
    return found


def _memory(pid: int) -> float:
    """In MiB; what is shared counts in part."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


class Meter:
    """Looks each second: what a process that is killed has had since the last look is not counted."""

    def __init__(self, parts: dict[str, Callable[[], list[int]]]) -> None:
        """`parts`: of each its processes; their children belong to it."""
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
        """The seconds of processor that each part has had so far."""
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
        """In MiB, now."""
        return {part: sum(map(_memory, tree)) for part, tree in self._trees.items()}
