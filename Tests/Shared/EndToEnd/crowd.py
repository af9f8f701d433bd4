"""Many kiosks of a chain: some run the shipped program, the others share one process
(Tests/Archive/Crowd)."""

import json
import random
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from client import Client
from daemon import built
from kiosk import RECIPES, Kiosk
from mosquitto import Mosquitto

#: Number of a kiosk's orders between two restocks.
RESTOCK_EVERY = 25
STOCK = {"initial": {"strawberry": 100, "default": 1_000_000}, "capacity": 2_000_000}


@dataclass
class Member:
    """A kiosk of the chain."""

    id: str
    #: The uplink section of its configuration.
    uplink: dict


class Outage:
    """A period in which an uplink was closed or silent, without an end while it continues."""

    def __init__(self, kiosk: str, begin: float) -> None:
        self.kiosk, self.begin, self.end = kiosk, begin, None


class Watch:
    """Records when each uplink was closed, and when it was open but silent."""

    #: Maximum time in seconds without a confirmation that is not silence; progress is reported each
    #: second.
    USUAL = 3.0

    def __init__(self, kiosks: list[str]) -> None:
        now = time.time()
        self.closed: list[Outage] = [Outage(kiosk, now) for kiosk in kiosks]
        self.silent: list[Outage] = []
        #: The reasons for closed uplinks, with their counts.
        self.reasons: Counter[str] = Counter()
        self.cursors = {kiosk: (0, 0) for kiosk in kiosks}
        self._closed = {outage.kiosk: outage for outage in self.closed}
        self._silent: dict[str, Outage] = {}
        self._moved = dict.fromkeys(kiosks, now)
        self._lock = threading.Lock()

    def hear(self, kiosk: str, text: str, at: float) -> None:
        """Processes a line of a kiosk's log."""
        with self._lock:
            if "the uplink is connected" in text:
                if outage := self._closed.pop(kiosk, None):
                    outage.end = at
                self._moved[kiosk] = at
            elif "the uplink is disconnected" in text:
                self.reasons[text.partition("the uplink is disconnected: ")[2]] += 1
                if kiosk not in self._closed:
                    self._closed[kiosk] = Outage(kiosk, at)
                    self.closed.append(self._closed[kiosk])
                self._end_silence(kiosk, at)

    def progress(self, cursors: dict[str, list[int]], at: float) -> None:
        """Processes changed positions: for each kiosk, the last entry and the last confirmed one.
        """
        with self._lock:
            for kiosk, (recorded, confirmed) in cursors.items():
                before = self.cursors[kiosk]
                self.cursors[kiosk] = (recorded, confirmed)
                if confirmed > before[1] or before[0] == before[1]:
                    self._moved[kiosk] = at
                    self._end_silence(kiosk, at)
            for kiosk, (recorded, confirmed) in self.cursors.items():
                is_silent = confirmed < recorded and at - self._moved[kiosk] > self.USUAL
                if is_silent and kiosk not in self._closed and kiosk not in self._silent:
                    self._silent[kiosk] = Outage(kiosk, self._moved[kiosk])
                    self.silent.append(self._silent[kiosk])

    def _end_silence(self, kiosk: str, at: float) -> None:
        if outage := self._silent.pop(kiosk, None):
            outage.end = at

    @property
    def unavailable(self) -> int:
        """The number of uplinks that are closed or silent now."""
        return len(self._closed) + len(self._silent)

    def outages(self, since: float) -> list[Outage]:
        with self._lock:
            return [outage for outage in self.closed + self.silent if outage.begin >= since]


class Crowd:
    """The kiosks that share one process."""

    def __init__(self, folder: Path, members: list[Member], watch: Watch, options: dict) -> None:
        self.folder, self.members, self.watch = folder, members, watch
        self.options = options
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.folder.mkdir()
        kiosks = [
            {"id": each.id, "addresses": each.uplink["addresses"], "username": each.uplink["username"],
             "password": Path(each.uplink["password_file"]).read_text().strip()}
            for each in self.members
        ]
        roster = self.folder / "roster.json"
        roster.write_text(json.dumps(self.options | {"folder": str(self.folder), "kiosks": kiosks}))
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [built("run-crowd"), roster], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            told = json.loads(line)
            if "cursors" in told:
                self.watch.progress(told["cursors"], told["at"])
            else:
                self.watch.hear(told["kiosk"], told["text"], told["at"])

    def sell(self) -> None:
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def stop(self) -> int:
        self.process.stdin.close()
        return self.process.wait(60)

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def ledgers(self) -> Iterator[tuple[str, Path]]:
        for each in self.members:
            yield each.id, self.folder / f"{each.id}.sqlite"


class Daemons:
    """The kiosks that run the shipped program, with one mosquitto for all of them."""

    def __init__(self, folder: Path, members: list[Member], watch: Watch, options: dict) -> None:
        self.folder, self.members, self.watch = folder, members, watch
        self.options = options
        self.broker: Mosquitto | None = None
        self.kiosks: dict[str, Kiosk] = {}

    def start(self) -> None:
        self.folder.mkdir()
        self.broker = Mosquitto(self.folder / "broker").start()
        for each in self.members:
            kiosk = Kiosk(self._make_folder(each.id), self.broker, self._settings(each))
            kiosk.log = Listener(each.id, self.watch)
            self.kiosks[each.id] = kiosk
            kiosk.launch()

    def _make_folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder

    def _settings(self, member: Member) -> dict:
        return {
            "kiosk": {"id": member.id}, "broker": {"client_id": f"kiosk-{member.id}"},
            "ledger": {"path": str(self.folder / member.id / "ledger.sqlite")},
            "stock": STOCK, "uplink": member.uplink,
        }

    def sell(self) -> None:
        threading.Thread(target=self._sell, daemon=True).start()

    def _sell(self) -> None:
        """Sells at the same pace as the others."""
        chance = random.Random(self.options["seed"])
        panel = Client(self.broker.port)
        wanted = [each.id for each in self.members for _ in range(self.options["orders"])]
        chance.shuffle(wanted)
        sent = dict.fromkeys(self.kiosks, 0)
        begin = time.monotonic()
        for number, kiosk in enumerate(wanted):
            time.sleep(max(0, begin + number / self.options["pace"] - time.monotonic()))
            sent[kiosk] += 1
            order = {"id": f"{sent[kiosk]}", "juice": chance.choice(list(RECIPES)),
                     "quantity": chance.randint(1, 3)}
            panel.client.publish(f"kiosk/{kiosk}/order/p1", json.dumps(order), 1)
            if sent[kiosk] % RESTOCK_EVERY == 0:
                restock = {"id": f"{sent[kiosk]}", "add": {"strawberry": 40}}
                panel.client.publish(f"kiosk/{kiosk}/restock/van", json.dumps(restock), 1)

    def stop(self) -> int:
        codes = [kiosk.stop() for kiosk in self.kiosks.values()]
        self.broker.stop()
        return max(codes, default=0)

    def kill(self) -> None:
        for kiosk in self.kiosks.values():
            kiosk.kill()
        if self.broker:
            self.broker.kill()

    def ledgers(self) -> Iterator[tuple[str, Path]]:
        for each in self.members:
            yield each.id, self.folder / each.id / "ledger.sqlite"


class Listener:
    """Passes a kiosk's log to the watch."""

    def __init__(self, kiosk: str, watch: Watch) -> None:
        self.kiosk, self.watch = kiosk, watch

    def add(self, line: str) -> None:
        self.watch.hear(self.kiosk, line, time.time())


def entries(ledger: Path) -> list[tuple]:
    """Returns the entries with the columns of `chain.ARCHIVED`."""
    with closing(sqlite3.connect(ledger)) as database:
        rows = database.execute(
            """
            SELECT epoch, seq, at, status, source, id, juice, quantity, ticket, reason, machine, job, place,
              amount, currency, changes, missing FROM log ORDER BY epoch, seq
            """
        )
        return [_entry(row) for row in rows]


def _entry(row: tuple) -> tuple:
    *plain, changes, missing = row
    return (*plain, json.loads(changes) if changes else None, json.loads(missing) if missing else None)


def orders(ledger: Path) -> int:
    """Returns the number of orders that the kiosk has decided."""
    try:
        with closing(sqlite3.connect(ledger)) as database:
            return database.execute("SELECT count(*) FROM entry WHERE source = 'order/p1'").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
