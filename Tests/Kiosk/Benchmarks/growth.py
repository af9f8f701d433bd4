"""Measures the kiosk with growing ledgers, menus, panels and displays."""

import shutil
from functools import partial
from pathlib import Path
from typing import Callable

from contenders import JuiceKiosk
from goals import Figure
from measure import order_of, running
from report import middle, spread, table

Tell = Callable[[str], None]
# Orders in flight while a ledger is created.
IN_FLIGHT = 512
MOST_AT_ONCE = 1_000_000
# Time limit in seconds of a command that reads a whole ledger.
LONG = 1200


def sizes(largest: int) -> list[int]:
    """Returns the numbers of orders in a ledger: 0, and powers of ten from 100,000."""
    found, size = [0], 100_000
    while size <= largest:
        found.append(size)
        size *= 10
    return found


# MARK: Ledgers

def make_ledgers(folder: Path, wanted: list[int], tell: Tell) -> list[dict]:
    """Creates the missing ledgers of these sizes: one process makes all orders. Returns its memory
    by number of orders."""
    memory = []
    # A high maximum age, so that no order becomes stale while the machine is busy.
    patient = partial(JuiceKiosk, orders={"max_age_seconds": 86400})
    missing = [size for size in wanted if not (folder / f"{size}").exists()]
    if not missing:
        return memory
    with running(patient, folder / "maker") as drive:
        for size in missing:
            while (rest := size - drive.count) > IN_FLIGHT:
                # The load sends IN_FLIGHT more orders than it times. An answer may be repeated.
                drive.run(orders=min(rest, MOST_AT_ONCE) - IN_FLIGHT, in_flight=IN_FLIGHT,
                          give_up=86_400_000)
                resident = drive.contender.memory("VmRSS")
                memory.append({"orders": drive.count, "memory": resident})
                tell(f"{drive.count} orders made: {resident / 2**20:.1f} MiB")
            copy = folder / f"{size}"
            copy.mkdir()
            copied = drive.contender.kiosk.command(
                "ledger", "backup", str(copy / "ledger.sqlite"), within=LONG
            )
            if copied.returncode:
                copy.rmdir()
                raise RuntimeError(copied.stderr)
    check(drive.contender, drive.count)
    shutil.rmtree(folder / "maker")
    return memory


def check(contender: JuiceKiosk, count: int) -> None:
    """Checks that the ledger is valid and has each order once. Uses SQL, because an export of
    millions of orders would take too long."""
    contender.kiosk.verify(LONG)
    made = contender.rows(
        "SELECT COUNT(*), COUNT(DISTINCT id) FROM entry WHERE status = 'ready'"
    )
    if made != [(count, count)]:
        raise RuntimeError(f"{count} orders, made and different ones: {made[0]}")


def bytes_per_order(contender: JuiceKiosk) -> dict[str, float]:
    """Returns the bytes per order of each table with its indexes."""
    orders = contender.last()
    rows = contender.rows(
        "SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY 1"
    )
    return {name: size / orders for name, size in rows}


def measure(folder: Path, wanted: list[int], tell: Tell, turns: int) -> list[dict]:
    """Measures all sizes in turns, so that a slow minute affects all of them."""
    measured = []
    for turn in range(turns):
        for size in order_of(turn, wanted):
            tell(f"turn {turn + 1} of {turns}: {size} entries")
            kind = lambda _, broker: JuiceKiosk(folder / f"{size}", broker)
            with running(kind, folder / f"broker-{turn}-{size}") as drive:
                # The number of entries is larger than any id in the ledger.
                drive.count = drive.contender.last()
                # First republishes what was unconfirmed when the ledger was copied, so that the
                # timed run does not.
                drive.run(orders=1, in_flight=1, give_up=10_000)
                alone = drive.run(orders=3000, seconds=4, warm_up=300, in_flight=1)
                many = drive.run(orders=20000, seconds=3, warm_up=1000, in_flight=64)
                measured.append({
                    "turn": turn, "entries": size, "start": drive.contender.start_seconds,
                    "p50": alone["p50"], "p99": alone["p99"], "throughput": many["throughput"],
                    "memory": drive.contender.memory("VmRSS"),
                })
    for size in wanted:
        contender = JuiceKiosk(folder / f"{size}", drive.contender.broker)
        contender.kiosk.verify(LONG)
        measured.append({"entries": size, "bytes": contender.size() / contender.last(),
                         "tables": bytes_per_order(contender)})
    return measured


# MARK: Panels and displays

FRUITS, JUICES, PANELS, DISPLAYS = 200, 500, 1000, 200


class LargeMenu(JuiceKiosk):
    """A kiosk with a menu of 500 juices of two fruits each."""

    def __init__(self, folder: Path, broker: object) -> None:
        menu = {
            "fruits": {f"f{number}": f"Fruit {number}" for number in range(FRUITS)},
            "juices": {
                f"j{number}": {
                    "en": f"Juice {number}",
                    "recipe": {f"f{number % FRUITS}": 2, f"f{(number * 7 + 1) % FRUITS}": 1},
                }
                for number in range(JUICES)
            },
        }
        super().__init__(folder, broker, menu=menu)

    def check(self, count: int) -> None:
        self.kiosk.verify()


PERIPHERALS = {
    "one panel's connection, the built-in menu": (JuiceKiosk, {}),
    f"{JUICES} juices of {FRUITS} fruits": (LargeMenu, {"menu": JUICES}),
    f"{PANELS:,} panels": (JuiceKiosk, {"panels": PANELS, "connections": PANELS}),
    f"{DISPLAYS} displays": (JuiceKiosk, {"displays": DISPLAYS}),
}


def peripherals(folder: Path, tell: Tell, turns: int) -> list[dict]:
    measured = []
    for turn in range(turns):
        for number, (name, (kind, options)) in order_of(turn, list(enumerate(PERIPHERALS.items()))):
            tell(f"turn {turn + 1} of {turns}: {name}")
            with running(kind, folder / f"peripherals-{turn}-{number}") as drive:
                for in_flight in (1, 64):
                    cell = drive.run(
                        orders=20000, seconds=3, warm_up=1000, in_flight=in_flight, **options
                    )
                    measured.append({"turn": turn, "peripherals": name} | cell)
                memory = drive.contender.memory("VmHWM")
                measured.append({"turn": turn, "peripherals": name, "in_flight": 0, "memory": memory})
            drive.check()
    return measured


# MARK: Tables

def ledger_table(measured: list[dict]) -> str:
    rows = []
    for size in sorted({cell["entries"] for cell in measured}):
        cells = [cell for cell in measured if cell["entries"] == size]
        values = lambda key, scale=1: [cell[key] * scale for cell in cells if key in cell]
        rows.append([
            f"{size:,}", spread(values("start", 1000)), spread(values("p50")),
            middle(values("p99")), spread(values("throughput")),
            middle(values("memory", 2**-20), 1),
            f"{values('bytes')[0]:.0f}" if size else "",
        ])
    return table(["orders in the ledger", "start ms", "p50 µs, 1 in flight", "p99 µs",
                  "orders/s, 64 in flight", "MiB", "bytes/order"], rows)


def kept(tables: dict[str, float]) -> float:
    """Returns the bytes per order without the tables whose rows are deleted: answers and
    fingerprints."""
    return sum(size for name, size in tables.items() if name not in ("answer", "delivery"))


def peripheral_table(measured: list[dict]) -> str:
    rows = []
    for name in PERIPHERALS:
        values = lambda in_flight, key: [
            cell[key] for cell in measured
            if (cell["peripherals"], cell["in_flight"]) == (name, in_flight)
        ]
        rows.append([
            name, spread(values(1, "p50")), spread(values(64, "throughput")),
            middle([memory / 2**20 for memory in values(0, "memory")], 1),
        ])
    return table(["peripherals", "p50 µs, 1 in flight", "orders/s, 64 in flight", "peak MiB"], rows)


def figures(measured: list[dict], memory: list[dict]) -> list[Figure]:
    largest = max(cell["entries"] for cell in measured)

    def values(size: int, key: str) -> list[float]:
        return [cell[key] for cell in measured if cell["entries"] == size and key in cell]

    ratios = [after / before for after, before in zip(values(largest, "p50"), values(0, "p50"))]
    found = [Figure(f"p50 at {largest:,} entries, of an empty ledger's", ratios, 1.05)]
    million = 1_000_000
    if largest >= million:
        tables = values(million, "tables")[0]
        made = [cell["memory"] / 2**20 for cell in memory if cell["orders"] > million - IN_FLIGHT]
        found += [
            Figure("start to online with 1,000,000 entries",
                   [second * 1000 for second in values(million, "start")], 100, unit=" ms"),
            Figure("memory after 1,000,000 orders made", made[:1], 32, unit=" MiB"),
            Figure(f"memory after {largest:,} orders made", made[-1:], 32, unit=" MiB"),
            Figure("disk per order, entries and indexes", [kept(tables)], 250, unit=" bytes"),
        ]
    return [figure for figure in found if figure.values]
