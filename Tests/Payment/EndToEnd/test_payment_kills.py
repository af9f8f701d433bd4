"""Everything is killed at random moments; ledger and journals stay equal to the cent.

ZVT_CHARGES, ZVT_KILLS: number of charges (40, or more until the last kill) and kills (16) of juice-zvt and its
terminal alone.
PAYMENT_ORDERS, PAYMENT_KILLS: number of orders (12) and kills (6) of the kiosk, its machine, the broker, the
payment device and the terminal, in each mode; first each of them once. KIOSK_SEED: the seed of a failed run,
also of the terminal and the coin box; the moments of the kills still differ.
The simulation with payment and `ZVTTests` prove each moment of a kill; these tests prove that the programs,
their files and their connections do the same.
"""

import itertools
import json
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

import pytest

from arrivals import eventually
from client import BASE, Client
from conftest import MakeKiosk
from kiosk import RECIPES
from kiosk import Kiosk as KioskProcess
from mosquitto import Mosquitto
from pouring import Customers, Person, TerminalMachine, Watcher
from shop import (  # noqa: F401
    Device, MakeDevice, Shop, SmallDevice, TerminalProcess, check_equal, make_device, shop, terminal,
)
from terminal import DAY

CHARGES = int(os.environ.get("ZVT_CHARGES", "40"))
KILLS = int(os.environ.get("ZVT_KILLS", "16"))
ORDERS = int(os.environ.get("PAYMENT_ORDERS", "12"))
ALL_KILLS = int(os.environ.get("PAYMENT_KILLS", "6"))
PRICE = 350
IN_PROGRESS = ("begun", "waiting", "capturing", "releasing", "refunding")


class Killer(threading.Thread):
    """Kills the device or the terminal, and starts it again at once."""

    def __init__(
        self, chance: random.Random, device: Device, terminal: TerminalProcess, kills: int
    ) -> None:
        super().__init__()
        self.chance, self.device, self.terminal, self.kills = chance, device, terminal, kills
        self.killed: Counter[str] = Counter()
        self.error: Exception | None = None
        self.is_over = threading.Event()

    @property
    def has_ended(self) -> bool:
        """Whether it has killed as often as it shall, or failed."""
        return self.killed.total() >= self.kills or self.error is not None

    def run(self) -> None:
        try:
            self.kill()
        except Exception as error:
            self.error = error

    def end(self) -> None:
        """Ends the kills, and raises what has gone wrong with one."""
        self.is_over.set()
        if self.ident:
            self.join()
        if self.error:
            raise self.error

    def kill(self) -> None:
        while not self.has_ended and not self.is_over.wait(self.chance.uniform(0.05, 1.2)):
            what = self.chance.choice(["device", "terminal", "both"])
            self.killed[what] += 1
            if what in ("device", "both"):
                self.device.kill()
            if what in ("terminal", "both"):
                self.terminal.kill()
                self.terminal.start()
            if what in ("device", "both"):
                self.device.start()


class Kiosk:
    """One charge after the other, as the contract asks for it, in a hurry."""

    def __init__(self, shop: Shop, chance: random.Random) -> None:
        self.shop, self.chance = shop, chance
        self.ends: dict[int, dict[str, Any]] = {}

    def ask(
        self, charge: int, send: Callable[[], int], done: set[str], again: set[str],
        within: float = 120,
    ) -> dict[str, Any]:
        """Sends, and asks for the state where no answer comes, until it is one of `done`; sends once
        more after one of `again`."""
        deadline = time.monotonic() + within
        since = send()
        while time.monotonic() < deadline:
            try:
                answer = self.shop.answer(charge, *done, *again, since=since, within=1.0)
            except TimeoutError:
                since = self.shop.send("state", charge)
                continue
            if answer["status"] in done:
                return answer
            if "reason" not in answer:
                time.sleep(0.05)  # The device may work on it; a kiosk sends it every 5 seconds.
            since = send()
        raise TimeoutError(f"charge {charge}: {self.shop.answers(charge)}")

    def hold(self, charge: int, **values: Any) -> dict[str, Any]:
        """Sends the charge until it has an end or is held; ends a prompt that takes too long."""
        deadline = time.monotonic() + 120
        since = self.shop.charge(charge, **values)
        done = ("held", "declined", "released", "unknown", "captured")
        started = time.monotonic()
        while time.monotonic() < deadline:
            try:
                return self.shop.answer(charge, *done, since=since, within=0.4)
            except TimeoutError:
                is_prompt = "waiting" in self.shop.answers(charge)
                if is_prompt and time.monotonic() - started > 1.5:
                    self.shop.send("release", charge)
                else:
                    self.shop.charge(charge, **values)
        raise TimeoutError(f"charge {charge}: {self.shop.answers(charge)}")

    def settle(self, charge: int, held: dict[str, Any]) -> dict[str, Any]:
        if held["status"] != "held":
            return held
        final = {"captured", "released", "unknown"}
        if self.chance.random() < 0.25:
            return self.ask(
                charge, lambda: self.shop.send("release", charge), final | {"declined"},
                {"held", "waiting"},
            )
        amount = held["amount"] // self.chance.choice([1, 1, 2])
        answer = self.ask(
            charge, lambda: self.shop.send("capture", charge, amount=amount), final, {"held"}
        )
        if answer["status"] == "captured" and self.chance.random() < 0.15:
            answer = self.ask(
                charge, lambda: self.shop.send("refund", charge), {"refunded", "unknown"},
                {"captured"},
            )
        return answer


def test_random_kills_leave_both_journals_equal(
    make_device: MakeDevice, terminal: TerminalProcess, shop: Shop, chance: random.Random, say
):
    terminal.behave(
        customer="random", card_seconds=0.05, on_silence="random", prompt_seconds=5,
        lists=chance.random() < 0.7, poll_seconds=chance.choice([0, 0.1]), renumbers=chance.random() < 0.5,
    )
    # Nobody is there to release holds whose charge is unknown.
    device = make_device(unknown_holds="release", show_text=chance.random() < 0.5)
    shop.status("online")
    kiosk = Kiosk(shop, chance)
    killer = Killer(random.Random(chance.random()), device, terminal, KILLS)
    killer.start()
    later: list[tuple[int, dict[str, Any]]] = []
    try:
        for charge in itertools.count(100):
            if len(kiosk.ends) + len(later) >= CHARGES and killer.has_ended:
                break
            terminal.behave(
                capture=chance.choices(["ok", "error", "error_booked", "silent_booked"], [9, 1, 1, 1])[0],
                hold=chance.choices(["ok", "error_held", "silent_held"], [9, 1, 1])[0],
            )
            quantity = chance.choice([1, 2])
            held = kiosk.hold(
                charge, amount=350 * quantity, quantity=quantity,
                ready_seconds=chance.choice([0, 10]),
            )
            terminal.behave(capture=chance.choice(["ok", "error_booked", "silent_booked"]))
            is_hold = held["status"] == "held" and (
                device.records[charge]["method"] == "reservation"
            )
            if is_hold and chance.random() < 0.4:
                later.append((charge, held))
            else:
                kiosk.ends[charge] = kiosk.settle(charge, held)
            while later and (len(later) > 3 or chance.random() < 0.3):
                number, earlier = later.pop(0)
                kiosk.ends[number] = kiosk.settle(number, earlier)
        terminal.behave(capture="ok", hold="ok", customer="present")
        for number, earlier in later:
            kiosk.ends[number] = kiosk.settle(number, earlier)
    finally:
        killer.end()
    # Nothing is in progress any more when the next charge is held.
    shop.held(charge)
    records = device.records
    check_equal(device, terminal)
    states = Counter(record["state"] for record in records.values())
    reasons = Counter(
        f"{record['method']}: {record.get('reason')}" for record in records.values()
        if record["state"] == "unknown"
    )
    say(f"{len(kiosk.ends)} charges, kills {dict(killer.killed)}: {dict(states)}; unknown: {dict(reasons)}")
    assert states["captured"]
    for charge, end in kiosk.ends.items():
        state = records[charge]["state"]
        assert state == end["status"], (charge, end, records[charge])
        if state == "captured":
            assert end["amount"] == records[charge]["booked"]


# MARK: Everything


class CardDesk:
    """juice-zvt and its terminal, as the person sees them who reads the terminal's receipts."""

    def __init__(self, device: Device, terminal: TerminalProcess, chance: random.Random) -> None:
        self.device, self.terminal, self.chance = device, terminal, chance
        self.name = device.name
        self.parts = {"juice-zvt": device, "terminal": terminal}

    def behave(self) -> None:
        pick = lambda *kinds: self.chance.choices(kinds, [40] + [1] * (len(kinds) - 1))[0]
        self.terminal.behave(
            capture=pick("ok", "error", "error_booked", "silent_booked"),
            hold=pick("ok", "error_held", "silent_held"),
            customer=self.chance.choices(["present", "decline", "silent"], [20, 3, 1])[0],
        )

    def end(self) -> None:
        self.terminal.behave(capture="ok", hold="ok", customer="present")

    @property
    def states(self) -> dict[int, tuple[str, str | None]]:
        """The device's state of each charge, and its reason."""
        return {
            charge: (record["state"], record.get("reason"))
            for charge, record in self.device.records.items()
        }

    def truth(self, charge: int) -> tuple[str, int]:
        """What has become of the money of a charge, and how much of it is booked."""
        journal, records = self.terminal.journal, self.device.records
        receipts = {charge: self._receipt(record, journal.lines) for charge, record in records.items()}
        receipt = receipts.get(charge)
        if charge in records and receipt is None:
            # The device never got the number: a payment that belongs to no other charge.
            strays = sorted(set(journal.booked) - set(receipts.values()))
            waiting = [number for number, receipt in receipts.items() if receipt is None]
            place = sorted(waiting, reverse=True).index(charge)
            receipt = strays[-1 - place] if place < len(strays) else None
        if receipt in journal.booked:
            return "captured", journal.booked[receipt]
        if receipt in journal.open:
            return "held", 0
        cancelled = any(line["kind"] == "cancel" and line["of"] == receipt for line in journal.lines)
        return "refunded" if cancelled else "nothing", 0

    @staticmethod
    def _receipt(record: dict[str, Any], lines: list[dict[str, Any]]) -> int | None:
        """The receipt of the payment, or of what is left of the hold."""
        numbers = (record.get("receipt"), record.get("moment"))
        receipt = next(
            (line["receipt"] for line in lines if "at" in line and (line["receipt"] % DAY, line["at"]) == numbers),
            numbers[0])
        booked = [line["receipt"] for line in lines if line["kind"] == "book" and line["of"] == receipt]
        return booked[-1] if booked else receipt

    @property
    def closings(self) -> int:
        return self.terminal.journal.closings

    @property
    def booked(self) -> int:
        return sum(self.terminal.journal.booked.values())

    @property
    def held(self) -> int:
        return len(self.terminal.journal.open)

    def settle(self, charge: int) -> None:
        """Nothing: the person at the terminal asks the device."""


class CoinDesk:
    """The device of forty lines and its box, of which a person takes out what is in doubt."""

    closings = 0

    def __init__(self, device: SmallDevice) -> None:
        self.device, self.name = device, "coins"
        self.parts = {"device": device}

    def behave(self) -> None: ...
    def end(self) -> None: ...

    @property
    def states(self) -> dict[int, tuple[str, str | None]]:
        return {number: (charge["status"], None) for number, charge in self.device.charges.items()}

    def truth(self, charge: int) -> tuple[str, int]:
        kinds = [move["kind"] for move in self.device.moves if move["charge"] == charge]
        if not kinds:
            return "nothing", 0
        ends = {"accept": "held", "keep": "captured", "give_back": "nothing", "pay_out": "refunded"}
        return ends[kinds[-1]], PRICE if kinds[-1] == "keep" else 0

    @property
    def booked(self) -> int:
        return sum(self.truth(charge)[1] for charge in {m["charge"] for m in self.device.moves})

    @property
    def held(self) -> int:
        charges = {move["charge"] for move in self.device.moves}
        return sum(self.truth(charge)[0] == "held" for charge in charges)

    def settle(self, charge: int) -> None:
        """Takes the coins of an unknown charge out of the box, by hand."""
        if self.truth(charge)[0] == "held":
            self.device.move("give_back", charge)


class Cashier(Client):
    """Decides about charges by what the money says, and refunds some."""

    def __init__(
        self, port: int, kiosk: KioskProcess, desk: CardDesk | CoinDesk, chance: random.Random
    ) -> None:
        self.kiosk, self.desk, self.chance = kiosk, desk, chance
        self.report: dict[str, Any] = {"state": "off", "charges": []}
        #: Why each charge had to wait for a person.
        self.reasons: dict[int, str] = {}
        self.refunds: set[int] = set()
        self.next = 0.0
        super().__init__(port, f"{BASE}/payment/{desk.name}")

    def received(self, message: Any) -> None:
        self.report = json.loads(message.payload)

    def decide(self) -> None:
        if not self.report["charges"] or time.monotonic() < self.next:
            return
        self.next = time.monotonic() + 1
        entries = self.kiosk.ledger()
        made = {entry["job"] for entry in entries if entry["status"] == "made"}
        for charge in self.report["charges"]:
            number = charge["charge"]
            state, reason = self.desk.states.get(number, ("not there", None))
            self.reasons.setdefault(
                number, f"kiosk: {charge['reason']}; device: {state}, {reason}")
            if state in IN_PROGRESS:
                continue
            self.desk.settle(number)
            is_made = charge.get("job") in made
            choices = {
                "captured": ["captured"] if is_made else ["refund", "captured"],
                "held": ["capture" if is_made else "release"],
                "refunded": ["refunded", "released"], "nothing": ["released", "refunded"],
            }[self.desk.truth(number)[0]]
            for choice in choices:
                self.say(number, choice)

    def refund(self) -> None:
        """Asks for the refund of a charge, which may be captured or not."""
        charges = [number for number, state in self.desk.states.items() if state[0] == "captured"]
        if charges:
            self.refunds.add(number := self.chance.choice(charges))
            self.say(number, "refund")

    def say(self, charge: int, choice: str) -> None:
        decision = json.dumps({"charge": charge, "decision": choice})
        self.client.publish(f"{BASE}/job/cashier", decision, 1)


@pytest.mark.parametrize("kind", ["auto", "goods_first", "reservation", "device"])
def test_everything_is_killed(
    kind: str, tmp_path: Path, broker: Mosquitto, make_kiosk: MakeKiosk, make_device: MakeDevice,
    terminal: TerminalProcess, chance: random.Random, say,
) -> None:
    if kind == "device":
        desk: CardDesk | CoinDesk = CoinDesk(SmallDevice(tmp_path, broker, chance).start())
    else:
        # The terminal asks again at once, repeats its last result under another number, and ends its
        # day by itself.
        terminal.behave(
            card_seconds=0.05, on_silence="random", prompt_seconds=1, poll_seconds=0, renumbers=True,
            closes=0.1)
        # Nobody is there to release holds whose charge is unknown.
        desk = CardDesk(make_device(unknown_holds="release", mode=kind), terminal, chance)
        eventually(desk.device.journal.exists)
    kiosk = make_kiosk(
        payment={"devices": [{"name": desk.name}], "pay_seconds": 8},
        machines=[{"name": "bar", "start_seconds": 3, "finish_seconds": 10}],
        menu={
            "base": "standard", "currency": "EUR",
            "juices": {juice: {"price": PRICE / 100} for juice in RECIPES},
        },
        stock={"initial": 1_000_000, "capacity": 2_000_000}, orders={"max_age_seconds": 8},
    ).start()
    machine = TerminalMachine(kiosk)
    pour = lambda: machine.launch("--seconds", "0.05", "--fail-every", "9")
    pour()
    watcher = Watcher(broker.port)
    person = Person(machine, watcher, lambda: "give_back")
    cashier = Cashier(broker.port, kiosk, desk, chance)
    # Another order of the same panel would replace one that is not paid.
    panels = [Customers(broker.port, f"p{number}", window=1) for number in range(3)]
    # The broker is the first to start again.
    start = {"broker": broker.start, "kiosk": kiosk.launch, "machine": pour} | {
        name: part.start for name, part in desk.parts.items()}
    parts: dict[str, Any] = {"broker": broker, "kiosk": kiosk, "machine": machine} | desk.parts
    killed: Counter[str] = Counter()
    unkilled = chance.sample(list(parts), len(parts))

    def work() -> None:
        """People decide, and what has ended by itself starts again."""
        for name, part in parts.items():
            if part.process is None or part.process.poll() is not None:
                start[name]()
        person.decide()
        cashier.decide()

    def is_over() -> bool:
        work()
        states = {state for state, _ in desk.states.values()}
        return (
            cashier.report["state"] == "idle" and not cashier.report["charges"]
            and not watcher.report()["jobs"] and states.isdisjoint([*IN_PROGRESS, "held"])
        )

    ended = lambda: sum(
        end["status"] in ("ready", "failed") for panel in panels for end in list(panel.ends.values()))
    try:
        while ended() < ORDERS or killed.total() < ALL_KILLS:
            desk.behave()
            for _ in range(chance.randrange(2 + 2 * ORDERS // ALL_KILLS // 3)):
                chance.choice(panels).wait_for_ends(1, work)
            if chance.random() < 0.2:
                cashier.refund()
            # At any moment of an order.
            threading.Event().wait(chance.uniform(0, 0.3))
            if killed.total() * ORDERS <= ended() * ALL_KILLS:
                victims = [unkilled.pop()] if unkilled else chance.sample(list(parts), chance.choice([1, 1, 1, 2]))
                for victim in victims:
                    killed[victim] += 1
                    parts[victim].kill()
                for victim in start:
                    if victim in victims:
                        start[victim]()
        desk.end()
        for panel in panels:
            panel.stop()
        for panel in panels:
            while len(panel.orders) > len(panel.ends):
                panel.wait_for_ends(1, work)
        eventually(is_over, 180)
        compare(kiosk, desk, machine, cashier, person, killed, say)
    finally:
        for client in [watcher, cashier, *panels]:
            client.close()
        machine.kill()
        desk.device.kill()


def compare(
    kiosk: KioskProcess, desk: CardDesk | CoinDesk, machine: TerminalMachine, cashier: Cashier,
    person: Person, killed: Counter[str], say: Callable[[str], None],
) -> None:
    """Checks that each order is one of the four, and that the money is the same everywhere."""
    kiosk.verify()
    entries = kiosk.ledger()
    ends = {e["job"]: e for e in entries if e["status"] in ("made", "failed", "returned")}
    moved: dict[str, dict[int, int]] = {"captured": {}, "refunded": {}}
    decided = {e["charge"] for e in entries if "charge" in e and e.get("source", "").startswith("job/")}
    for entry in entries:
        if (sums := moved.get(entry["status"])) is not None:
            assert entry["charge"] not in sums, f"twice: {entry}"
            sums[entry["charge"]] = round(float(entry["amount"]) * 100)
    captured, refunded = moved["captured"], moved["refunded"]
    pours = [line for line in machine.pours() if line["pour"] == "begins"]
    assert len({line["job"] for line in pours}) == len(pours), "a juice was poured twice"
    kinds: Counter[str] = Counter()
    for entry in entries:
        if entry["status"] != "awaiting_payment":
            continue
        charge, end = entry["charge"], ends[entry["seq"]]
        net = captured.get(charge, 0) - refunded.get(charge, 0)
        truth, booked = desk.truth(charge)
        assert booked == net and truth != "held", (entry, end, truth, booked, net)
        if charge in refunded:
            assert net == 0
            kinds["refunded"] += 1
        elif end["status"] == "made" and net == PRICE:
            kinds["made and captured"] += 1
        elif end["status"] != "made" and net == 0:
            kinds["not made, nothing held"] += 1
        else:
            assert charge in decided, (entry, end, net)
            kinds["settled by a person"] += 1
        state, _ = desk.states.get(charge, ("not there", None))
        if state != "unknown":
            assert state == "captured" if net else state != "captured", (entry, state, net)
    net = sum(captured.values()) - sum(refunded.values())
    assert (desk.booked, desk.held) == (net, 0)
    kinds["days that the terminal ended"] = desk.closings
    whole = sum(kinds.values()) - desk.closings
    why = Counter(cashier.reasons.values())
    say(
        f"{whole} orders, {killed.total()} kills {dict(killed)}: {dict(kinds)}; ledger and journal {net}; "
        f"{len(cashier.reasons)} charges waited for a person: {dict(why)}; jobs: {dict(person.decisions)}"
    )
    assert whole >= ORDERS and captured
