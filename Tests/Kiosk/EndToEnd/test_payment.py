"""A juice is paid once: held when ordered, captured when made, released when not."""

import csv
import io
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from typing import Any, Iterator

import pytest

from arrivals import TIMEOUT, eventually
from client import BASE, Client, retained
from conftest import MakeKiosk
from daemon import Daemon
from kiosk import ROOT, Kiosk, environment, one_line, program
from mosquitto import Mosquitto
from pouring import TerminalMachine

KILLS = int(os.environ.get("KIOSK_KILLS", "10"))
DEVICE = ROOT / "Tests/Shared/EndToEnd/payment_device.py"
PRICE = 350
SETTINGS: dict[str, Any] = {
    "payment": {
        "devices": [{"name": "terminal"}], "pay_seconds": 5, "free_panels": ["staff"],
    },
    "menu": {
        "base": "standard", "currency": "EUR",
        "juices": {juice: {"price": 3.50} for juice in ("kiwi", "banana", "mango")},
    },
}


class Device(Daemon):
    """The Python device, in a process of its own."""

    def __init__(self, kiosk: Kiosk, port: int, seed: int) -> None:
        super().__init__()
        self.journal = kiosk.folder / "device.journal"
        self.journal.touch()
        self.line = [sys.executable, DEVICE, str(port), self.journal]
        self.seed = seed

    def start(self) -> "Device":
        self.seed += 1
        self.execute(*self.line, str(self.seed))
        return self

    def records(self) -> list[dict]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()]

    def states(self) -> dict[int, str]:
        """The last state of each charge."""
        return {record["charge"]: record["status"] for record in self.records()}

    def sums(self) -> dict[str, int]:
        sums = {"captured": 0, "refunded": 0}
        for record in self.records():
            if record["status"] in sums:
                sums[record["status"]] += record["amount"]
        return sums


@pytest.fixture
def kiosk(make_kiosk: MakeKiosk) -> Kiosk:
    return make_kiosk(**SETTINGS).start()


@pytest.fixture
def device(kiosk: Kiosk, broker: Mosquitto) -> Iterator[Device]:
    device = Device(kiosk, broker.port, 1)
    yield device
    device.kill()


@pytest.fixture
def panel(broker: Mosquitto) -> Iterator[Client]:
    panel = Client(broker.port, f"{BASE}/order/+/result", f"{BASE}/payment/terminal")
    yield panel
    panel.close()


def wait_for_device(panel: Client, state: str = "idle") -> None:
    panel.messages.first(
        lambda message: message.topic == f"{BASE}/payment/terminal"
        and message.json["state"] == state
    )


def order(panel: Client, number: str, juice: str = "kiwi", name: str = "p1") -> dict:
    """Orders, and returns the last answer."""
    panel.publish(f"{BASE}/order/{name}", json.dumps({"id": number, "juice": juice}))
    final = ("ready", "failed", "out_of_stock", "rejected")
    return panel.messages.first(
        lambda message: message.topic.endswith("/result") and message.json.get("id") == number
        and message.json["status"] in final
    ).json


def steps(kiosk: Kiosk) -> list[str]:
    return [entry["status"] for entry in kiosk.ledger()[1:]]


def sums(kiosk: Kiosk) -> dict[str, int]:
    """The money that the ledger says has moved, in cents."""
    sums = {"captured": 0, "refunded": 0}
    for entry in kiosk.entries():
        if entry["status"] in sums:
            sums[entry["status"]] += round(float(entry["amount"]) * 100)
    return sums


def pay(kiosk: Kiosk, device: Device, panel: Client) -> int:
    """Orders until a card is accepted, and returns the number of its charge."""
    for number in range(50):
        if order(panel, f"a{number}")["status"] == "ready":
            eventually(lambda: "captured" in steps(kiosk))
            return [e["charge"] for e in kiosk.entries() if e["status"] == "captured"][0]
    raise AssertionError("no card was accepted")


# MARK: One order


def test_without_a_device_no_order_is_taken(kiosk: Kiosk, device: Device, panel: Client) -> None:
    assert order(panel, "a0")["reason"] == "payment_down"
    assert order(panel, "a1", name="staff")["status"] == "ready"
    device.start()
    wait_for_device(panel)
    pay(kiosk, device, panel)


def test_an_order_is_paid_and_captured_to_the_cent(
    kiosk: Kiosk, device: Device, panel: Client
) -> None:
    device.start()
    wait_for_device(panel)
    charge = pay(kiosk, device, panel)
    assert device.states()[charge] == "captured"
    assert sums(kiosk) == device.sums() == {"captured": PRICE, "refunded": 0}
    rows = list(csv.DictReader(io.StringIO(kiosk.command("report", "--charges").stdout)))
    paid = [row for row in rows if row["charge"] == str(charge)]
    assert [(row["asked"], row["sold"], row["captured"], row["panel"]) for row in paid] == [
        ("3.50", "3.50", "3.50", "p1")
    ]
    assert paid[0]["receipt"] == str(charge % 10_000)
    by_juice = list(csv.DictReader(io.StringIO(kiosk.command("report", "--payments", "juice").stdout)))
    assert [(row["juice"], row["sold"], row["taken"], row["written_off"]) for row in by_juice] == [
        ("kiwi", "3.50", "3.50", "0.00")]
    kiosk.verify()


def test_a_captured_charge_is_refunded_once(kiosk: Kiosk, device: Device, panel: Client) -> None:
    device.start()
    wait_for_device(panel)
    charge = str(pay(kiosk, device, panel))
    assert kiosk.command("charge", charge, "refund").returncode == 0
    eventually(lambda: device.states()[int(charge)] == "refunded")
    again = kiosk.command("charge", charge, "refund")
    assert again.returncode == 65 and "no_decision_needed" in again.stderr
    eventually(lambda: sums(kiosk) == device.sums() == {"captured": PRICE, "refunded": PRICE})
    kiosk.verify()


def test_a_refund_without_an_answer_need_not_be_requested_again(
    kiosk: Kiosk, device: Device, panel: Client
) -> None:
    device.start()
    wait_for_device(panel)
    charge = pay(kiosk, device, panel)
    device.kill()
    late = kiosk.command("charge", str(charge), "refund", "--timeout", "2")
    assert late.returncode == 75, late
    assert "has not answered yet" in one_line(late.stderr) and "repeat" not in late.stderr
    device.start()
    eventually(lambda: device.states()[charge] == "refunded")
    kiosk.verify()


def test_the_terminal_is_played_by_keys(kiosk: Kiosk, panel: Client) -> None:
    line = [program(), "payment", "terminal", "--config", kiosk.config]

    def start() -> subprocess.Popen:
        return subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())

    def read(text: str) -> str:
        for line in terminal.stdout:
            if text in line:
                return line
        raise AssertionError(f"the terminal has not printed {text}")

    def type(text: str) -> None:
        terminal.stdin.write(text + "\n")
        terminal.stdin.flush()

    terminal = start()
    try:
        wait_for_device(panel)
        panel.publish(f"{BASE}/order/p1", json.dumps({"id": "k1", "juice": "kiwi"}))
        read("3.50 EUR")
        type("decline no credit")
        declined = panel.messages.first(lambda m: m.topic.endswith("p1/result") and m.json["status"] == "failed")
        assert declined.json["detail"] == "no credit"
        panel.publish(f"{BASE}/order/p1", json.dumps({"id": "k2", "juice": "kiwi"}))
        read("3.50 EUR")
        type("")
        assert panel.messages.first(lambda m: m.topic.endswith("p1/result") and m.json.get("id") == "k2" and m.json["status"] == "ready")
        read("captured 3.50 EUR")
        # A silent device sends nothing of what happens at it: the kiosk ends the order when the time to pay is over.
        panel.publish(f"{BASE}/order/p1", json.dumps({"id": "k3", "juice": "kiwi"}))
        read("3.50 EUR; Enter")
        type("silent")
        type("decline no credit")
        read("declined, no credit; not sent")
        unpaid = panel.messages.first(
            lambda m: m.topic.endswith("p1/result") and m.json.get("id") == "k3" and m.json["status"] == "failed")
        assert unpaid.json["reason"] == "not_paid"
        type("silent")
        # The kiosk repeats its request for the release.
        read("declined")
        type("day")
        read("end of day 1: 3.50 EUR")
        eventually(lambda: "total" in steps(kiosk))
        type("power cut")
        assert terminal.wait(TIMEOUT) == 79
        terminal = start()
        read("its last charge was")
        total = [entry for entry in kiosk.entries() if entry["status"] == "total"][0]
        assert (total["difference"], total["day_total"]["captured"]) == (0, PRICE)
    finally:
        terminal.kill()
        terminal.wait()
    kiosk.verify()


def test_the_holds_of_a_device_outlive_a_kiosk_that_is_restored_from_a_backup(
    kiosk: Kiosk, device: Device, panel: Client, broker: Mosquitto
) -> None:
    backup = kiosk.folder / "backup.sqlite"
    assert kiosk.command("ledger", "backup", str(backup)).returncode == 0
    device.start()
    wait_for_device(panel)
    charge = pay(kiosk, device, panel)
    device.kill()
    # A hold that the backup does not have.
    with device.journal.open("a") as journal:
        held = {"charge": charge + 1, "status": "held", "amount": PRICE, "currency": "EUR"}
        journal.write(json.dumps(held) + "\n")
    kiosk.stop()
    restored = kiosk.command("ledger", "restore", "--replace", str(backup))
    assert restored.returncode == 0, restored.stderr
    kiosk.start()
    device.start()
    panel.messages.first(
        lambda m: m.topic == f"{BASE}/payment/terminal"
        and [c["charge"] for c in m.json["charges"]] == [charge + 1]
    )
    assert device.states()[charge + 1] == "held", "nothing is released by itself"
    assert kiosk.command("charge", str(charge + 1), "release").returncode == 0
    eventually(lambda: device.states()[charge + 1] == "released")
    # A new charge gets a number that the device has never had: the time in seconds.
    eventually(lambda: time.time() > charge + 2)
    new = pay(kiosk, device, panel)
    assert new > charge + 1
    kiosk.verify()


# MARK: Kills


@pytest.mark.parametrize("has_machine", [False, True])
def test_whoever_ends_at_whatever_moment(
    make_kiosk: MakeKiosk, broker: Mosquitto, chance: random.Random, has_machine: bool
) -> None:
    """Kills kiosk, device, machine and broker at random moments, and compares ledger and journal."""
    machines = {"machines": [{"name": "bar", "start_seconds": 2, "finish_seconds": 5}]}
    stock = {"stock": {"initial": 10_000, "capacity": 100_000}}
    kiosk = make_kiosk(**SETTINGS, **stock, **(machines if has_machine else {})).start()
    device = Device(kiosk, broker.port, chance.getrandbits(30)).start()
    machine = TerminalMachine(kiosk) if has_machine else None
    if machine:
        machine.start("--seconds", "0.05")
    panel = Client(broker.port, f"{BASE}/payment/terminal", f"{BASE}/machine/bar")
    number = 0

    def is_paid() -> bool:
        nonlocal number
        number += 1
        panel.publish(f"{BASE}/order/p0", json.dumps({"id": f"o{number}", "juice": "kiwi"}))
        return "captured" in steps(kiosk)

    try:
        # On a busy computer, no order may be paid between two kills.
        wait_for_device(panel)
        eventually(is_paid)
        for _ in range(KILLS):
            for _ in range(chance.randrange(2, 7)):
                number += 1
                order = {"id": f"o{number}", "juice": chance.choice(["kiwi", "banana"])}
                # While the panel has no connection, the order is lost.
                with contextlib.suppress(RuntimeError):
                    panel.publish(f"{BASE}/order/p{chance.randrange(4)}", json.dumps(order))
                time.sleep(chance.uniform(0, 0.15))
            victim = chance.choice(["kiosk", "device", "broker"] + (["machine"] if machine else []))
            if victim == "kiosk":
                kiosk.stop(signal.SIGKILL)
                kiosk.start()
            elif victim == "device":
                device.kill()
                device.start()
            elif victim == "broker":
                broker.kill()
                broker.start()
                panel.wait_until_subscribed()
            elif machine:
                machine.kill()
                machine.start("--seconds", "0.05")
        judge(kiosk, device, broker.port, number)
    finally:
        panel.close()
        device.kill()
        if machine:
            machine.kill()


def judge(kiosk: Kiosk, device: Device, port: int, sent: int) -> None:
    def reports() -> tuple[list[int], list[int], bool]:
        """The charges and the jobs that wait for a person, and whether nothing is in progress."""
        now = retained(port)
        # A broker that was killed has no retained messages until the kiosk is back.
        payment = json.loads(now.get(f"{BASE}/payment/terminal", '{"state":"off","queue":0,"charges":[]}'))
        machine = json.loads(now.get(f"{BASE}/machine/bar", '{"jobs":[]}'))
        undecided = [
            job["job"] for job in machine["jobs"] if job["state"] in ("lost", "needs_decision")
        ]
        open_jobs = [job["job"] for job in machine["jobs"] if job["job"] not in undecided]
        is_settled = payment["state"] == "idle" and payment["queue"] == 0 and not open_jobs
        return [charge["charge"] for charge in payment["charges"]], undecided, is_settled

    def is_settled() -> bool:
        charges, jobs, is_idle = reports()
        entries = kiosk.ledger()
        ended = {entry["job"] for entry in entries if entry["status"] in ("made", "failed", "returned")}
        waiting = [e for e in entries if e["status"] == "awaiting_payment" and e["seq"] not in ended]
        held = [c for c, state in device.states().items() if state in ("held", "waiting")]
        of_jobs = [e["charge"] for e in entries if e["status"] == "awaiting_payment" and e["seq"] in jobs]
        return is_idle and {e["seq"] for e in waiting} <= set(jobs) and set(held) <= set(
            charges + of_jobs)

    eventually(is_settled, 120)
    charges, jobs, _ = reports()
    entries, states = kiosk.ledger(), device.states()
    ends = {e["job"]: e for e in entries if e["status"] in ("made", "failed", "returned")}
    count = {"made and captured": 0, "not made": 0, "waits for a person": 0}
    moved = {"captured": {}, "refunded": {}}
    for entry in entries:
        if entry["status"] in moved:
            assert entry["charge"] not in moved[entry["status"]], f"twice: {entry}"
            moved[entry["status"]][entry["charge"]] = round(float(entry["amount"]) * 100)
    for entry in entries:
        if entry["status"] != "awaiting_payment":
            continue
        charge, end = entry["charge"], ends.get(entry["seq"])
        state = states.get(charge)
        if charge in charges or entry["seq"] in jobs:
            count["waits for a person"] += 1
        elif end["status"] == "made":
            assert state == "captured" and moved["captured"][charge] == PRICE, (entry, state)
            count["made and captured"] += 1
        else:
            assert state in (None, "declined", "released"), (entry, end, state)
            count["not made"] += 1
    print(f"{sent} orders sent: {count}; device {device.sums()}")
    undecided = set(charges)
    captured = {r["charge"]: r["amount"] for r in device.records() if r["status"] == "captured"}
    assert {c: a for c, a in captured.items() if c not in undecided} == {
        c: a for c, a in moved["captured"].items() if c not in undecided}
    # The device has never moved the money of a charge twice.
    kinds = [(r["charge"], r["status"]) for r in device.records() if r["status"] != "waiting"]
    assert len(kinds) == len(set(kinds))
    assert count["made and captured"] > 0
    kiosk.verify()
