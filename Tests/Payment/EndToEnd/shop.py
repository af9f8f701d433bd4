"""A terminal, juice-zvt, and a kiosk that speaks the contract of payment devices and nothing else."""

import json
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from arrivals import TIMEOUT, eventually
from client import BASE, Client, Message
from conftest import factory
from daemon import ROOT, Daemon, built, environment
from mosquitto import Mosquitto
from ports import free_port, is_listening

from terminal import Journal

HERE = Path(__file__).parent

#: The hardware: each move of a coin is on the disk.
BOX = """
import json, os, random, time
moves = os.open({path!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
# Not the same numbers again after each kill.
random.seed(f"{seed} {{os.fstat(moves).st_size}}")
class Box:
    stopped = set()
    def stop(self, charge): self.stopped.add(charge)
    def move(self, kind, charge):
        line = json.dumps(dict(kind=kind, charge=charge["charge"], amount=charge["amount"]))
        os.write(moves, (line + chr(10)).encode())
        os.fsync(moves)
        return True
    def accept(self, charge):
        while os.path.exists({waits!r}):
            if charge["charge"] in self.stopped: return False
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.1))
        return random.random() < 0.8 and self.move("accept", charge)
    def keep(self, charge): self.move("keep", charge)
    def give_back(self, charge): self.move("give_back", charge)
    def pay_out(self, charge): self.move("pay_out", charge)
box = Box()
"""

NAME = "terminal"
STATES = ("waiting", "held", "declined", "captured", "released", "refunded", "unknown")
program = partial(built, "juice-zvt")


class TerminalProcess(Daemon):
    """The terminal, which a test may cut from power at any moment."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.port = free_port()
        self.path = folder / "terminal.jsonl"
        self.behaviour_path = folder / "behaviour.json"
        self.own: dict[str, Any] = {}

    def behave(self, **behaviour: Any) -> None:
        """Changes the behaviour from the next command on."""
        self.own |= behaviour
        new = self.behaviour_path.with_suffix(".new")
        new.write_text(json.dumps(self.own))
        new.rename(self.behaviour_path)

    def start(self) -> "TerminalProcess":
        self.execute(
            sys.executable, HERE / "terminal.py", str(self.port), self.path, self.behaviour_path)
        # Not by a connection, which would replace that of the device.
        eventually(lambda: is_listening(self.port))
        return self

    @property
    def journal(self) -> Journal:
        return Journal(self.path)


class Device(Daemon):
    """juice-zvt."""

    def __init__(
        self, folder: Path, broker: Mosquitto, terminal: TerminalProcess,
        journal: Path | None = None, name: str = NAME, **settings: Any,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.name = name
        self.journal = journal or folder / f"{name}.journal"
        self.configuration = folder / f"{name}.yaml"
        device = {"name": name, "journal": str(self.journal)}
        at_terminal = {"host": "127.0.0.1", "port": terminal.port}
        for key, value in settings.items():
            (device if key in ("end_of_day", "time_zone") else at_terminal)[key] = value
        self.configuration.write_text(
            json.dumps(
                {
                    "device": device,
                    "terminal": at_terminal,
                    "broker": {"host": "127.0.0.1", "port": broker.port},
                }
            )
        )

    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [program(), *arguments, "--config", self.configuration],
            capture_output=True, text=True, timeout=TIMEOUT, env=environment(),
        )

    def start(self) -> "Device":
        self.execute(program(), "run", "--config", self.configuration)
        return self

    @property
    def records(self) -> dict[int, dict[str, Any]]:
        """The last line of each charge in the journal."""
        found: dict[int, dict[str, Any]] = {}
        for line in self.journal.read_text().splitlines():
            if line and "state" in (record := json.loads(line)):
                found[record["charge"]] = record
        return found


class SmallDevice(Daemon):
    """A program of config/payment with a coin box."""

    def __init__(
        self, folder: Path, broker: Mosquitto, chance: random.Random, program: str = "device.py"
    ) -> None:
        super().__init__()
        self.folder, self.broker, self.program = folder, broker, program
        self.coins = folder / "moves"
        self.coins.touch()
        self.journal = folder / "coins"
        self.journal.touch()
        #: While this file exists, the customer has not paid yet.
        self.waits = folder / "waits"
        (folder / "coin_box.py").write_text(
            BOX.format(path=str(self.coins), waits=str(self.waits), seed=chance.getrandbits(32)))

    def start(self) -> "SmallDevice":
        self.execute(
            sys.executable, ROOT / "config/payment" / self.program, str(self.broker.port), self.journal,
            variables={"PYTHONPATH": str(self.folder)})
        return self

    @property
    def moves(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.coins.read_text().splitlines()]

    def move(self, kind: str, charge: int) -> None:
        """Moves the coins of a charge by hand."""
        with open(self.coins, "a") as log:
            log.write(json.dumps({"kind": kind, "charge": charge, "amount": 0}) + "\n")

    @property
    def charges(self) -> dict[int, dict[str, Any]]:
        """The last whole line of each charge in the journal."""
        lines = [line for line in self.journal.read_text().split("\n") if line.endswith("}")]
        return {charge["charge"]: charge for charge in map(json.loads, lines)}


class Shop:
    """The kiosk's side: asks, and stores the answers."""

    def __init__(self, broker: Mosquitto, name: str = NAME) -> None:
        self.name = name
        self.topic = f"{BASE}/charge/{name}"
        self.client = Client(broker.port, f"{BASE}/paid/{name}", f"{BASE}/payment/{name}/#")

    @property
    def messages(self) -> list[Message]:
        return list(self.client.messages)

    def send(self, kind: str, charge: int, **values: Any) -> int:
        """Sends a message, and returns the number of answers before it."""
        count = len(self.client.messages)
        self.client.publish(
            f"{self.topic}/{kind}" if kind else self.topic, json.dumps({"charge": charge, **values})
        )
        return count

    def charge(self, charge: int, amount: int = 350, currency: str = "EUR", **values: Any) -> int:
        request = {
            "ticket": charge % 100, "panel": "p1", "juice": "kiwi", "quantity": 1, "amount": amount,
            "currency": currency, "language": "en", "text": "Kiwi juice", "pay_seconds": 45,
            "ready_seconds": 0,
        }
        return self.send("", charge, **request | values)

    def answer(
        self, charge: int, *statuses: str, since: int = 0, within: float = TIMEOUT
    ) -> dict[str, Any]:
        """Waits for the first answer about a charge with one of these states."""

        def matches(message: Message) -> bool:
            if message.topic != f"{BASE}/paid/{self.name}":
                return False
            answer = message.json
            return answer.get("charge") == charge and answer["status"] in statuses

        return self.client.messages.first(matches, since=since, within=within).json

    def ask(self, kind: str, charge: int, *statuses: str, **values: Any) -> dict[str, Any]:
        """Sends a message, and waits for the first answer to it with one of these states."""
        if kind == "charge":
            since = self.charge(charge, **values)
        else:
            since = self.send(kind, charge, **values)
        return self.answer(charge, *statuses, since=since)

    def answers(self, charge: int) -> list[str]:
        return [
            message.json["status"] for message in self.messages
            if message.topic == f"{BASE}/paid/{self.name}" and message.json.get("charge") == charge
        ]

    def status(self, text: str, since: int = 0) -> Message:
        return self.client.messages.first(
            lambda message: message.topic == f"{BASE}/payment/{self.name}/status"
            and message.text.startswith(text), since=since,
        )

    @property
    def last_status(self) -> str:
        states = [
            message.text for message in self.messages
            if message.topic == f"{BASE}/payment/{self.name}/status"
        ]
        return states[-1] if states else ""

    def held(self, charge: int, **values: Any) -> dict[str, Any]:
        """Sends a charge until it is held; the receipt is a number, as in the terminal's journal."""
        since = self.send_until_answered(charge, **values)
        held = self.answer(charge, "held", since=since)
        return held | {"receipt": int(held["receipt"])} if "receipt" in held else held

    def send_until_answered(self, charge: int, **values: Any) -> int:
        since = self.charge(charge, **values)
        while True:
            try:
                self.answer(charge, *STATES, since=since, within=0.5)
                return since
            except TimeoutError:
                # The device was busy: a kiosk sends the charge again.
                self.charge(charge, **values)

    def close(self) -> None:
        self.client.close()


def check_equal(device: Device, terminal: TerminalProcess) -> None:
    """Compares both journals to the cent: each hold, and what was booked and cancelled."""
    journal, records = terminal.journal, device.records
    unknown = [record for record in records.values() if record["state"] == "unknown"]
    captured = {
        record["receipt"]: record["booked"] for record in records.values()
        if record["state"] == "captured"
    }
    held = {
        record["receipt"]: record["held"] for record in records.values()
        if record["state"] == "held" and record["method"] == "reservation"
    }
    if not unknown:
        assert captured == journal.booked
        assert held == journal.open
        return
    # Each difference must be one that waits for a person.
    booked, holds = dict(journal.booked), dict(journal.open)
    for receipt, amount in captured.items():
        assert booked.pop(receipt) == amount
    for receipt, amount in held.items():
        assert holds.pop(receipt) == amount
    assert len(booked) + len(holds) <= len(unknown), (booked, holds, unknown)


# Fixtures; a test imports those that it uses.

MakeDevice = Callable[..., Device]


@pytest.fixture
def terminal(tmp_path: Path, chance: random.Random) -> Iterator[TerminalProcess]:
    terminal = TerminalProcess(tmp_path)
    terminal.behave(seed=chance.getrandbits(32))
    yield terminal.start()
    terminal.kill()


@pytest.fixture
def make_device(
    tmp_path: Path, broker: Mosquitto, terminal: TerminalProcess
) -> Iterator[MakeDevice]:
    def make(terminal: TerminalProcess = terminal, **settings: Any) -> Device:
        return Device(tmp_path, broker, terminal, **settings)

    yield from factory(make, Device.kill, Device.start)


@pytest.fixture
def shop(broker: Mosquitto) -> Iterator[Shop]:
    shop = Shop(broker)
    yield shop
    shop.close()
