"""The measured programs: how to start each, and how to check the orders it has recorded."""

import os
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import programs
from arrivals import TIMEOUT, eventually
from kiosk import RECIPES, Kiosk, environment, program
from mosquitto import Mosquitto

# More than the benchmark orders.
INITIAL_STOCK = 1_000_000_000


class Contender:
    """A service that takes orders, and logs "online" after it has subscribed."""

    name = ""
    #: Whether it returns each order unchanged as the answer, and has no stock.
    is_echo = False

    def __init__(self, folder: Path, broker: Mosquitto) -> None:
        self.folder = folder
        self.broker = broker
        self.ledger = folder / "ledger.sqlite"
        self.process: subprocess.Popen | None = None
        self.start_seconds = 0.0
        folder.mkdir(parents=True, exist_ok=True)

    def command(self) -> list[Any]:
        raise NotImplementedError

    def start(self, *under: Any, **variables: str) -> "Contender":
        """Starts the program. `under` is a program that runs it, such as a tracer."""
        log = self.folder / "log"
        start = log.stat().st_size if log.exists() else 0
        # The log goes to a file like a service's, so that no reader takes part in the measurement.
        began = time.monotonic()
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                [str(word) for word in [*under, *self.command()]], stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, env=environment(**variables), cwd=self.folder,
            )
        eventually(lambda: self._is_online(log, start), within=60)
        self.start_seconds = time.monotonic() - began
        return self

    def _is_online(self, log: Path, start: int) -> bool:
        with open(log, "rb") as lines:
            lines.seek(start)
            said = lines.read()
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} has ended: {said[-500:].decode()}")
        return re.search(rb"\bonline\b", said) is not None

    def stop(self, sign: int = signal.SIGTERM) -> None:
        process, self.process = self.process, None
        if process:
            process.send_signal(sign)
            process.wait(TIMEOUT)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def memory(self, kind: str) -> int:
        """Returns the current (VmRSS) or the peak (VmHWM) memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{kind}:\s+(\d+) kB", status)[1]) * 1024

    # MARK: Records

    def rows(self, sql: str) -> list[tuple]:
        database = sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def size(self) -> int:
        """Returns the size of the database in bytes, after the contender has ended and its log is
        merged."""
        if not self.ledger.exists():
            return 0
        database = sqlite3.connect(self.ledger)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        return self.ledger.stat().st_size

    def last(self) -> int:
        """Returns the number of the last recorded order, or another number that grows with it."""
        raise NotImplementedError

    def orders(self) -> Counter[str]:
        """Returns how often each order is recorded, by its id."""
        return Counter()

    def check(self, count: int) -> None:
        """Checks that each of the orders 0 to `count` - 1 is recorded once."""


class Echo(Contender):
    name = "echo"
    is_echo = True
    options: tuple[str, ...] = ()

    def command(self) -> list[Any]:
        return [programs.ECHO, self.broker.port, *self.options]


class EchoWithNoDelay(Echo):
    name = "echo-nodelay"
    options = ("--nodelay",)


class EchoWithEvents(Echo):
    name = "echo-events"
    options = ("--nodelay", "--events")


class EchoWithDisk(Echo):
    name = "echo-disk"
    options = ("--nodelay", "--ledger", "ledger.sqlite")

    def orders(self) -> Counter[str]:
        return Counter(dict(self.rows("SELECT payload ->> 'id', COUNT(*) FROM orders GROUP BY 1")))

    def check(self, count: int) -> None:
        check_each_once(self, count)


class Shop(Contender):
    def stock_used(self) -> dict[str, int]:
        raise NotImplementedError

    def juices(self) -> Counter[str]:
        """Returns the number of each juice made."""
        raise NotImplementedError

    def check(self, count: int) -> None:
        check_each_once(self, count)
        wanted: Counter[str] = Counter()
        for juice, made in self.juices().items():
            for fruit, amount in RECIPES[juice].items():
                wanted[fruit] += amount * made
        if (used := self.stock_used()) != wanted:
            raise RuntimeError(f"{self.name}: used {used} instead of {wanted}")


def check_each_once(contender: Contender, count: int) -> None:
    wanted = Counter(str(number) for number in range(count))
    if (orders := contender.orders()) != wanted:
        missing, more = (wanted - orders).total(), (orders - wanted).total()
        raise RuntimeError(f"{contender.name}: {missing} orders not written down, {more} too often")


class JuiceKiosk(Shop):
    """The kiosk. Its records are read with its own commands, independent of its tables."""

    name = "juice-kiosk"

    def __init__(self, folder: Path, broker: Mosquitto, **settings: dict) -> None:
        super().__init__(folder, broker)
        stock = {"stock": {"initial": INITIAL_STOCK, "capacity": INITIAL_STOCK}}
        self.kiosk = Kiosk(folder, broker, stock | settings)

    def command(self) -> list[Any]:
        return [self.kiosk.program or program(), "run", "--config", self.kiosk.config]

    def last(self) -> int:
        return self.rows("SELECT MAX(seq) FROM entry")[0][0]

    def made(self) -> list[dict]:
        return [entry for entry in self.kiosk.ledger() if entry["status"] == "ready"]

    def orders(self) -> Counter[str]:
        return Counter(entry["id"] for entry in self.made())

    def juices(self) -> Counter[str]:
        return Counter(entry["juice"] for entry in self.made())

    def stock_used(self) -> dict[str, int]:
        stock = self.kiosk.stock()
        return {fruit: INITIAL_STOCK - amount for fruit, amount in stock.items()}

    def check(self, count: int) -> None:
        super().check(count)
        self.kiosk.verify()


class KioskBefore(JuiceKiosk):
    """The previous version, if KIOSK_BEFORE names its program."""

    name = "before"

    def __init__(self, folder: Path, broker: Mosquitto, **settings: dict) -> None:
        super().__init__(folder, broker, **settings)
        self.kiosk.program = os.environ["KIOSK_BEFORE"]


class Maker(Shop):
    def last(self) -> int:
        return self.rows("SELECT IFNULL(MAX(number), 0) FROM orders")[0][0]

    def orders(self) -> Counter[str]:
        return Counter(dict(self.rows("SELECT id, COUNT(*) FROM orders GROUP BY 1")))

    def juices(self) -> Counter[str]:
        return Counter(dict(self.rows("SELECT juice, COUNT(*) FROM orders GROUP BY 1")))

    def stock_used(self) -> dict[str, int]:
        return dict(self.rows(f"SELECT fruit, {INITIAL_STOCK} - quantity FROM stock"))


class PythonMaker(Maker):
    name = "python"

    def command(self) -> list[Any]:
        return ["/usr/bin/python3", programs.HERE / "contenders/maker.py", self.broker.port,
                self.ledger]


class GoMaker(Maker):
    name = "go"

    def command(self) -> list[Any]:
        return [programs.GO_MAKER, self.broker.port, self.ledger]


CONTENDERS: dict[str, type[Contender]] = {
    contender.name: contender
    for contender in [
        JuiceKiosk, KioskBefore, Echo, EchoWithNoDelay, EchoWithEvents, EchoWithDisk, PythonMaker, GoMaker
    ]
}
