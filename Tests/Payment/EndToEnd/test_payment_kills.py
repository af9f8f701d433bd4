"""juice-zvt and its terminal are killed at random moments; both journals stay equal to the cent.

ZVT_CHARGES: number of charges (100). ZVT_KILLS: number of kills (40). KIOSK_SEED: the seed of a failed run.
"""

import os
import random
import threading
import time
from collections import Counter
from typing import Any, Callable

from shop import (  # noqa: F401
    Device, MakeDevice, Shop, TerminalProcess, check_equal, make_device, shop, terminal,
)

CHARGES = int(os.environ.get("ZVT_CHARGES", "100"))
KILLS = int(os.environ.get("ZVT_KILLS", "40"))


class Killer(threading.Thread):
    """Kills the device or the terminal, and starts it again at once."""

    def __init__(
        self, chance: random.Random, device: Device, terminal: TerminalProcess, kills: int
    ) -> None:
        super().__init__()
        self.chance, self.device, self.terminal, self.left = chance, device, terminal, kills
        self.killed: Counter[str] = Counter()
        self.is_over = threading.Event()

    def run(self) -> None:
        while self.left > 0 and not self.is_over.wait(self.chance.uniform(0.05, 1.2)):
            self.left -= 1
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
        lists=chance.random() < 0.7,
    )
    # Nobody is there to release holds whose charge is unknown.
    device = make_device(unknown_holds="release", show_text=chance.random() < 0.5)
    shop.status("online")
    kiosk = Kiosk(shop, chance)
    killer = Killer(random.Random(chance.random()), device, terminal, KILLS)
    killer.start()
    later: list[tuple[int, dict[str, Any]]] = []
    try:
        for charge in range(100, 100 + CHARGES):
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
        killer.is_over.set()
        killer.join()
    # Nothing is in progress any more when the next charge is held.
    shop.held(100 + CHARGES)
    records = device.records
    check_equal(device, terminal)
    states = Counter(record["state"] for record in records.values())
    reasons = Counter(
        f"{record['method']}: {record.get('reason')}" for record in records.values()
        if record["state"] == "unknown"
    )
    say(f"{CHARGES} charges, kills {dict(killer.killed)}: {dict(states)}; unknown: {dict(reasons)}")
    for charge, end in kiosk.ends.items():
        state = records[charge]["state"]
        assert state == end["status"], (charge, end, records[charge])
        if state == "captured":
            assert end["amount"] == records[charge]["booked"]
