"""The payment device of forty lines, from the page alone, is killed at random moments."""

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path

from daemon import ROOT, Daemon
from mosquitto import Mosquitto
from shop import Shop
from test_payment_kills import Killer, Kiosk

#: The hardware: each move of a coin is on the disk.
BOX = """
import json, os, random, time
moves = os.open({path!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
class Box:
    def move(self, kind, charge):
        line = json.dumps(dict(kind=kind, charge=charge["charge"], amount=charge["amount"]))
        os.write(moves, (line + chr(10)).encode())
        os.fsync(moves)
        return True
    def accept(self, charge):
        time.sleep(random.uniform(0, 0.1))
        return random.random() < 0.8 and self.move("accept", charge)
    def keep(self, charge): self.move("keep", charge)
    def give_back(self, charge): self.move("give_back", charge)
    def pay_out(self, charge): self.move("pay_out", charge)
box = Box()
"""

CHARGES = int(os.environ.get("ZVT_CHARGES", "100"))
KILLS = int(os.environ.get("ZVT_KILLS", "30"))


class SmallDevice(Daemon):
    def __init__(self, folder: Path, broker: Mosquitto) -> None:
        super().__init__()
        self.folder, self.broker = folder, broker
        self.moves = folder / "moves"
        self.journal = folder / "coins"
        (folder / "coin_box.py").write_text(BOX.format(path=str(self.moves)))

    def start(self) -> "SmallDevice":
        self.execute(
            sys.executable, ROOT / "config/payment/device.py", str(self.broker.port), self.journal,
            variables={"PYTHONPATH": str(self.folder)})
        return self


class NoTerminal:
    """The killer's other victim."""

    def kill(self) -> None: ...
    def start(self) -> None: ...


def test_the_small_device_is_killed(
    tmp_path: Path, broker: Mosquitto, chance: random.Random, say
):
    device = SmallDevice(tmp_path, broker).start()
    shop = Shop(broker, "coins")
    kiosk = Kiosk(shop, chance)
    killer = Killer(random.Random(chance.random()), device, NoTerminal(), KILLS)
    try:
        shop.status("online")
        killer.start()
        for charge in range(100, 100 + CHARGES):
            kiosk.ends[charge] = kiosk.settle(charge, kiosk.hold(charge, amount=350))
    finally:
        killer.is_over.set()
        if killer.is_alive():
            killer.join()
        device.kill()
        shop.close()
    moves: dict[int, list[str]] = {}
    for line in device.moves.read_text().splitlines():
        move = json.loads(line)
        moves.setdefault(move["charge"], []).append(move["kind"])
    allowed = {
        "declined": [[]], "released": [[], ["accept", "give_back"]], "captured": [["accept", "keep"]],
        "refunded": [["accept", "keep", "pay_out"]],
    }
    for charge, end in kiosk.ends.items():
        if end["status"] != "unknown":
            assert moves.get(charge, []) in allowed[end["status"]], (charge, end, moves.get(charge))
    assert all(len(set(kinds)) == len(kinds) for kinds in moves.values()), "a coin moved twice"
    say(f"{CHARGES} charges, kills {dict(killer.killed)}: {Counter(e['status'] for e in kiosk.ends.values())}")
