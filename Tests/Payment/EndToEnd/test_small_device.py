"""The payment devices of forty lines, from the page alone, are killed at random moments."""

import itertools
import os
import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from arrivals import eventually
from mosquitto import Mosquitto
from shop import Shop, SmallDevice
from test_payment_kills import Killer, Kiosk

CHARGES = int(os.environ.get("ZVT_CHARGES", "100"))
KILLS = int(os.environ.get("ZVT_KILLS", "30"))


class NoTerminal:
    """The killer's other victim."""

    def kill(self) -> None: ...
    def start(self) -> None: ...


@pytest.mark.parametrize("program", ["device.py", "at_once.py"])
def test_the_small_device_is_killed(
    tmp_path: Path, broker: Mosquitto, chance: random.Random, say, program: str
):
    device = SmallDevice(tmp_path, broker, chance, program).start()
    shop = Shop(broker, "coins")
    kiosk = Kiosk(shop, chance)
    killer = Killer(random.Random(chance.random()), device, NoTerminal(), KILLS)
    try:
        shop.status("online")
        killer.start()
        for charge in itertools.count(100):
            if len(kiosk.ends) >= CHARGES and killer.has_ended:
                break
            end = kiosk.ends[charge] = kiosk.settle(charge, kiosk.hold(charge, amount=350))
            if program == "at_once.py" and end["status"] == "captured" and chance.random() < 0.5:
                kiosk.ends[charge] = kiosk.ask(
                    charge, lambda charge=charge: shop.send("refund", charge), {"refunded", "unknown"},
                    {"captured"})
    finally:
        try:
            killer.end()
        finally:
            device.kill()
            shop.close()
    moves: dict[int, list[str]] = {}
    for move in device.moves:
        moves.setdefault(move["charge"], []).append(move["kind"])
    taken = ["accept"] if program == "at_once.py" else ["accept", "keep"]
    allowed = {
        "declined": [[]], "released": [[], ["accept", "give_back"]], "captured": [taken],
        "refunded": [[*taken, "pay_out"]],
    }
    for charge, end in kiosk.ends.items():
        if end["status"] != "unknown":
            assert moves.get(charge, []) in allowed[end["status"]], (charge, end, moves.get(charge))
    assert all(len(set(kinds)) == len(kinds) for kinds in moves.values()), "a coin moved twice"
    ends = Counter(end["status"] for end in kiosk.ends.values())
    say(f"{len(kiosk.ends)} charges, kills {dict(killer.killed)}: {dict(ends)}")
    assert ends["captured"]


@pytest.mark.parametrize("program", ["device.py", "at_once.py"])
def test_the_prompt_is_published_while_the_customer_pays(
    tmp_path: Path, broker: Mosquitto, chance: random.Random, program: str
):
    device = SmallDevice(tmp_path, broker, chance, program)
    device.waits.touch()
    device.start()
    shop = Shop(broker, "coins")
    try:
        shop.status("online")
        since = shop.charge(100)
        shop.answer(100, "waiting", since=since)
        device.waits.unlink()
        shop.answer(100, "held", "captured", "declined", since=since)
    finally:
        device.kill()
        shop.close()


@pytest.mark.parametrize("program", ["device.py", "at_once.py"])
def test_a_release_ends_the_prompt_of_a_device_that_started_before_the_broker(
    tmp_path: Path, broker: Mosquitto, chance: random.Random, program: str
):
    broker.stop()
    device = SmallDevice(tmp_path, broker, chance, program)
    device.waits.touch()
    device.start()
    try:
        # The thread that connects.
        eventually(lambda: len(list(Path(f"/proc/{device.process.pid}/task").iterdir())) > 1)
        broker.start()
        with closing(Shop(broker, "coins")) as shop:
            shop.status("online")
            since = shop.charge(100)
            shop.answer(100, "waiting", since=since)
            shop.send("release", 100)
            shop.answer(100, "declined", since=since)
        assert device.moves == []
    finally:
        device.kill()
