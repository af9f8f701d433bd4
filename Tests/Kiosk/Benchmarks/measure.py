"""One contender under load: what it does, what that costs, and what the disk has of it."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator

import programs
from contenders import Contender
from mosquitto import Mosquitto

SYNCS = ("fsync", "fdatasync")


class Drive:
    """All the orders that one contender gets, which are numbered through."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.count = 0

    def start(self, **options: Any) -> subprocess.Popen:
        """See load.c for the options."""
        contender = self.contender
        options = {
            "port": contender.broker.port, "broker": contender.broker.process.pid,
            "pid": contender.process.pid, "first": self.count,
        } | options
        line = [str(programs.LOAD)]
        for name, value in options.items():
            line += [f"--{name.replace('_', '-')}", str(value)]
        if contender.is_echo:
            line.append("--echo")
        return subprocess.Popen(line, stdout=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen) -> dict:
        text, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{self.contender.name} is void: {text}")
        result = json.loads(text)
        self.count += result["sent"]
        return result

    def run(self, **options: Any) -> dict:
        return self.finish(self.start(**options))

    def check(self) -> None:
        """That the books of the contender, which has ended, have each order once."""
        self.contender.check(self.count)


class CallCounter:
    """strace, which writes a line for each call of a contender that is started under it."""

    def __init__(self, file: Path, *calls: str) -> None:
        self.file = file
        # -D: the contender stays our child, with the process id that we know.
        self.under = ["strace", "-D", "-f", "-qq", "-s", "0", "-e", "signal=none", "-o", file]
        if calls:
            # The others are not slowed down.
            self.under += ["--seccomp-bpf", "-e", "trace=" + ",".join(calls)]

    def count(self) -> int:
        with open(self.file, "rb") as lines:
            return sum(b" resumed>" not in line for line in lines)


@contextmanager
def running(
    kind: Callable[[Path, Mosquitto], Contender], folder: Path, *under: Any, **variables: str
) -> Iterator[Drive]:
    """A contender with a broker of its own, which remembers no session of another."""
    folder.mkdir(parents=True)
    # What others have left for the kernel to write is not this one's to wait for.
    os.sync()
    broker = Mosquitto(folder / "broker", settings="autosave_interval 5").start()
    contender = None
    try:
        contender = kind(folder / "contender", broker)
        contender.start(*under, **variables)
        drive = Drive(contender)
        yield drive
        contender.stop()
    finally:
        if contender:
            contender.kill()
        broker.kill()


def calls_per_order(
    kind: type[Contender], folder: Path, in_flight: int, orders: int, *calls: str
) -> float:
    """In a run for this alone, because counting costs time."""
    counter = CallCounter(folder.with_suffix(".calls"), *calls)
    with running(kind, folder, *counter.under) as drive:
        drive.run(orders=500, in_flight=in_flight)
        before = counter.count()
        sent = drive.run(orders=orders, in_flight=in_flight)["sent"]
        made = counter.count() - before
    drive.check()
    return made / sent


class Neighbours:
    """What of the machine has gone to others since this was made: how quiet it was."""

    def __init__(self) -> None:
        self._before = self._read()

    @property
    def share(self) -> float:
        """Of all processors; what has a parent here counts as ours once it has ended."""
        busy, total, ours = (after - before for after, before in zip(self._read(), self._before))
        return max(0.0, busy - ours) / total

    @staticmethod
    def _read() -> tuple[float, float, float]:
        """Seconds: busy, in all, and ours."""
        ticks = [int(word) for word in Path("/proc/stat").read_text().split()[1:9]]
        user, nice, system, idle, waiting, *others = ticks
        seconds = os.sysconf("SC_CLK_TCK")
        ours = os.times()
        return (
            (user + nice + system + sum(others)) / seconds, sum(ticks) / seconds,
            ours.user + ours.system + ours.children_user + ours.children_system,
        )


def commit_microseconds(folder: Path, commits: int = 1000) -> float:
    """The median of one transaction of one order, on the disk that the contenders use."""
    folder.mkdir()
    os.sync()
    done = subprocess.run(
        [programs.ECHO, "0", "--ledger", folder / "ledger.sqlite", "--commits", str(commits)],
        check=True, stdout=subprocess.PIPE, text=True,
    )
    return float(done.stdout)
