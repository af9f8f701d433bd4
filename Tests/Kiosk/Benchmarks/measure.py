"""Measures one contender under load: speed, processor time, system calls and disk space."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, TypeVar

import programs
from contenders import Contender
from mosquitto import Mosquitto

SYNCS = ("fsync", "fdatasync")
T = TypeVar("T")


def order_of(turn: int, contenders: list[T]) -> list[T]:
    """Returns the contenders in reverse order in each second turn: the second of two equal programs was 4% faster."""
    return contenders if turn % 2 == 0 else contenders[::-1]


class Drive:
    """Sends orders with consecutive numbers to one contender."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.count = 0

    def start(self, **options: Any) -> subprocess.Popen:
        """Starts the load; load.c lists the options."""
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
        """Checks that the ended contender has recorded each order once."""
        self.contender.check(self.count)


class CallCounter:
    """Counts the system calls of a contender with strace, which writes a line for each."""

    def __init__(self, file: Path, *calls: str) -> None:
        self.file = file
        # -D keeps the contender our child process, with its process id.
        self.under = ["strace", "-D", "-f", "-qq", "-s", "0", "-e", "signal=none", "-o", file]
        if calls:
            # Other system calls run at full speed.
            self.under += ["--seccomp-bpf", "-e", "trace=" + ",".join(calls)]

    def count(self) -> int:
        with open(self.file, "rb") as lines:
            return sum(b" resumed>" not in line for line in lines)


@contextmanager
def running(
    kind: Callable[[Path, Mosquitto], Contender], folder: Path, *under: Any, **variables: str
) -> Iterator[Drive]:
    """Runs a contender with a broker of its own, which has no session of another one."""
    folder.mkdir(parents=True)
    # Pending writes of other programs must not delay this one.
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
    """Counts system calls in a separate run, because counting costs time."""
    counter = CallCounter(folder.with_suffix(".calls"), *calls)
    with running(kind, folder, *counter.under) as drive:
        drive.run(orders=500, in_flight=in_flight)
        before = counter.count()
        sent = drive.run(orders=orders, in_flight=in_flight)["sent"]
        made = counter.count() - before
    drive.check()
    return made / sent


class Neighbours:
    """The load of other processes since the creation of this object, to judge the measurement."""

    def __init__(self) -> None:
        self._before = self._read()

    @property
    def share(self) -> float:
        """Returns their share of all processors. Ended child processes count as ours."""
        busy, total, ours = (after - before for after, before in zip(self._read(), self._before))
        return max(0.0, busy - ours) / total

    @staticmethod
    def _read() -> tuple[float, float, float]:
        """Returns seconds: busy, total, and ours."""
        ticks = [int(word) for word in Path("/proc/stat").read_text().split()[1:9]]
        user, nice, system, idle, waiting, *others = ticks
        seconds = os.sysconf("SC_CLK_TCK")
        ours = os.times()
        return (
            (user + nice + system + sum(others)) / seconds, sum(ticks) / seconds,
            ours.user + ours.system + ours.children_user + ours.children_system,
        )


def commit_microseconds(folder: Path, commits: int = 1000) -> float:
    """Returns the median duration of a transaction with one order, on the contenders' disk."""
    folder.mkdir()
    os.sync()
    done = subprocess.run(
        [programs.ECHO, "0", "--ledger", folder / "ledger.sqlite", "--commits", str(commits)],
        check=True, stdout=subprocess.PIPE, text=True,
    )
    return float(done.stdout)
