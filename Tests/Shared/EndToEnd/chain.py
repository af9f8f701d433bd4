#!/usr/bin/env python3
"""Injects random failures into a chain, then checks that each entry is in the archive exactly once.

Kiosks sell, and publish their ledgers to three nodes of RabbitMQ. One of two archivers stores the
entries in PostgreSQL. Meanwhile the test kills nodes, archivers and the database, and cuts the
connection of a tenth of the kiosks. --daemons of the kiosks run the shipped program with one
mosquitto; the others use the same controller, core, ledger and uplink in one process with in-memory
brokers.

    Tests/Shared/EndToEnd/chain.py [--kiosks 1000] [--daemons 50] [--orders 200] [--pace 400] [--seed N]

Prints its actions and the resources of each part. Fails if an entry is missing, duplicated or
different, if a kiosk is not back within a minute of a node's failure, if an open uplink is silent
for longer than 30 seconds, or if a kiosk has no downward subscription at the end.
"""

import argparse
import csv
import io
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable

import crowd
from archive import Archive
from arrivals import eventually
from cluster import PARTS, Cluster
from crowd import Crowd, Daemons, Member, Watch
from meter import Meter
from proxy import Proxy

NODES = PARTS[:3]
MOST_SECONDS_BACK = 60.0
MOST_SECONDS_SILENT = 30.0
#: `Uplink.longestHesitation` plus a minute for a kiosk that returned last.
MOST_SECONDS_DEAF = 660.0
#: Time limit for entries in flight after all failures are repaired.
TIMEOUT = 300.0

#: The columns of `crowd.entries`.
ARCHIVED = """
    SELECT kiosk, epoch, seq, round(extract(epoch FROM at) * 1000)::bigint, status, source, id, juice, quantity,
      ticket, reason, machine, job, place, amount, currency, changes, missing
    FROM juice.event ORDER BY kiosk, epoch, seq
"""


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Archiver(Archive):
    """One of the two archivers of a cluster."""

    def __init__(self, config: Path, middle: Cluster) -> None:
        super().__init__(config)
        shutil.copy(middle.folder / "archive.yaml", config)

    @property
    def is_active(self) -> bool:
        """Whether its log reports that it is active."""
        words = ("archiving", "another archiver is active", "may take over", "Trying again")
        last = [line for line in self.log if any(word in line for word in words)][-1:]
        return self.process is not None and any("archiving" in line for line in last)


class Chain:
    def __init__(self, folder: Path, options: argparse.Namespace, stack: ExitStack) -> None:
        self.options = options
        self.chance = random.Random(options.seed)
        ids = [f"k{number}" for number in range(1, options.kiosks + 1)]
        self.middle = Cluster()
        stack.callback(self.middle.close)
        self.middle.start().accounts(ids)
        self.lines = [Proxy(self.middle.port(node)) for node in NODES]
        for line in self.lines:
            stack.callback(line.close)
        self.watch = Watch(ids)
        self.cut = set(self.chance.sample(ids, max(1, len(ids) // 10)))
        members = [self._member(name) for name in ids]
        shared = {"orders": options.orders, "seed": options.seed,
                  "caFile": str(self.middle.authority)}
        # The daemons are chosen at random.
        chosen = set(self.chance.sample(ids, options.daemons))
        pace = options.pace * options.daemons / options.kiosks
        self.daemons = Daemons(
            folder / "daemons", [each for each in members if each.id in chosen], self.watch,
            shared | {"pace": max(pace, 0.1)})
        self.crowd = Crowd(
            folder / "crowd", [each for each in members if each.id not in chosen], self.watch,
            shared | {"pace": max(1, int(options.pace - pace))})
        stack.callback(self.daemons.kill)
        stack.callback(self.crowd.kill)
        self.archivers = [Archiver(folder / f"archive{number}.yaml", self.middle) for number in (1, 2)]
        for archiver in self.archivers:
            stack.callback(archiver.kill)
        self.meter = Meter({
            "kiosks in one process": lambda: [self.crowd.process.pid] if self.crowd.process else [],
            "daemons": lambda: [k.process.pid for k in self.daemons.kiosks.values() if k.process],
            "RabbitMQ": lambda: self.middle.pids(*NODES),
            "PostgreSQL": lambda: self.middle.pids("database"),
            "archivers": lambda: [a.process.pid for a in self.archivers if a.process],
        })
        stack.callback(self.meter.close)

    def _member(self, name: str) -> Member:
        uplink = self.middle.uplink(name)
        if name in self.cut:
            uplink["addresses"] = [f"127.0.0.1:{line.port}" for line in self.lines]
        return Member(name, uplink)

    # MARK: Phases

    def run(self) -> list[str]:
        self.wrong: list[str] = []
        for archiver in self.archivers:
            archiver.launch()
        eventually(lambda: any(archiver.is_active for archiver in self.archivers))
        with Phase(self, "nobody there"):
            time.sleep(20)
        with Phase(self, "everybody connects"):
            self.daemons.start()
            self.crowd.start()
            self._until_well(TIMEOUT)
        with Phase(self, "open, and nothing sold"):
            time.sleep(30)
        self.crowd.sell()
        self.daemons.sell()
        with Phase(self, "sold in peace"):
            time.sleep(self.options.peace)
        with Phase(self, "sold while things break"):
            while not self._is_sold():
                for fault in self.chance.sample(self.faults, len(self.faults)):
                    fault()
        with Phase(self, "the rest"):
            self._until_archived()
        self._check_outages(time.time())
        self._until_all_hear()
        self._compare()
        self.crowd.stop()
        self.daemons.stop()
        return self.wrong

    @property
    def faults(self) -> list[Callable[[], None]]:
        return [self._kill_leader, self._kill_follower, self._kill_database, self._kill_archiver, self._cut_lines]

    def _kill_leader(self) -> None:
        self._kill_node(self.middle.leader(), "the queue's leader")

    def _kill_follower(self) -> None:
        leader = self.middle.leader()
        self._kill_node(self.chance.choice([n for n in NODES if n != leader]), "not the queue's leader")

    def _kill_node(self, node: str, what: str) -> None:
        pause = self.chance.uniform(5, 20)
        at = time.time()
        self.middle.kill(node)
        time.sleep(pause)
        self.middle.start(node)
        self._recovered(f"{node}, {what}, was away for {time.time() - at:.0f} s", at, MOST_SECONDS_BACK)

    def _kill_database(self) -> None:
        pause = self.chance.uniform(2, 15)
        at = time.time()
        self.middle.kill("database")
        time.sleep(pause)
        self.middle.start("database")
        self._recovered(f"the database was away for {time.time() - at:.0f} s", at)

    def _kill_archiver(self) -> None:
        active = [each for each in self.archivers if each.is_active] or self.archivers
        archiver = self.chance.choice(active)
        at = time.time()
        archiver.kill()
        other = next(each for each in self.archivers if each is not archiver)
        eventually(lambda: other.is_active)
        say(f"another archiver took over after {time.time() - at:.1f} s")
        archiver.launch()
        self._recovered("the active archiver was killed", at)

    def _cut_lines(self) -> None:
        pause = self.chance.uniform(5, 40)
        at = time.time()
        for line in self.lines:
            line.is_down = True
            line.cut()
        time.sleep(pause)
        for line in self.lines:
            line.is_down = False
        self._recovered(f"the line of {len(self.cut)} kiosks was cut for {pause:.0f} s", at)

    def _recovered(self, what: str, since: float, limit: float | None = None) -> None:
        """Waits until all kiosks have recovered, and a random time until the next failure."""
        self._until_well(TIMEOUT)
        # A kiosk that only seems to have recovered is soon silent.
        time.sleep(2 * Watch.USUAL)
        self._until_well(TIMEOUT)
        outages = self.watch.outages(since - Watch.USUAL)
        back: dict[str, float] = {}
        for outage in outages:
            back[outage.kiosk] = max(back.get(outage.kiosk, 0), (outage.end or time.time()) - since)
        last = max(back.values(), default=0)
        half = statistics.median(back.values()) if back else 0
        say(f"{what}: {len(back)} kiosks felt it, half were back after {half:.1f} s, all after {last:.1f} s")
        if limit and last > limit:
            self.wrong.append(f"{what}: the last kiosk was back after {last:.1f} s")
        time.sleep(self.chance.uniform(0, 5))

    def _query(self, sql: str) -> str:
        return self.middle.query(sql, "archive")

    def _until_well(self, within: float) -> None:
        try:
            eventually(lambda: self.watch.unavailable == 0, within)
        except TimeoutError:
            raise TimeoutError(f"{self.watch.unavailable} kiosks are closed or silent; {self.watch.reasons}") from None

    def _is_sold(self) -> bool:
        parts = [self.crowd, self.daemons]
        return all(
            crowd.orders(path) >= self.options.orders for part in parts for _, path in part.ledgers())

    @property
    def archived(self) -> int:
        return int(self._query("SELECT count(*) FROM juice.event"))

    def _until_archived(self) -> None:
        recorded = sum(len(crowd.entries(path)) for _, path in self.ledgers)
        deadline = time.monotonic() + TIMEOUT
        while self.archived < recorded and time.monotonic() < deadline:
            time.sleep(1)

    def _until_all_hear(self) -> None:
        """Waits for all subscriptions. After repeated failures, a kiosk retries after up to ten
        minutes."""
        begin = time.monotonic()
        while (hearing := self.middle.hearing()) < self.options.kiosks and time.monotonic() < begin + MOST_SECONDS_DEAF:
            # Each query starts another Erlang process.
            time.sleep(5)
        say(f"{hearing} kiosks hear what comes down, {time.monotonic() - begin:.0f} s later")
        if hearing < self.options.kiosks:
            self.wrong.append(f"{hearing} kiosks hear what comes down")

    @property
    def ledgers(self) -> list[tuple[str, Path]]:
        return [*self.crowd.ledgers(), *self.daemons.ledgers()]

    # MARK: Checks

    def _check_outages(self, now: float) -> None:
        silences = [(outage.end or now) - outage.begin for outage in self.watch.silent]
        longest = max(silences, default=0.0)
        say(f"{len(self.watch.closed) - self.options.kiosks} connections ended; of those that were open, "
            f"{len(silences)} were silent for more than {Watch.USUAL:.0f} s, at most for {longest:.1f} s")
        for reason, count in self.watch.reasons.most_common(5):
            say(f"   {count} times: {reason}")
        if longest > MOST_SECONDS_SILENT:
            self.wrong.append(f"a way up was open and silent for {longest:.1f} s")

    def _compare(self) -> None:
        self.wrong += compare(self._query, self.ledgers)


def compare(query: Callable[[str], str], ledgers: list[tuple[str, Path]]) -> list[str]:
    """Returns the differences between an archive and the ledgers of its kiosks."""
    wrong: list[str] = []

    def expect(sql: str, answer: str) -> None:
        try:
            # The archive updates its sums within a second when no events arrive.
            eventually(lambda: query(f"SELECT {sql}") == answer, 30)
        except TimeoutError:
            wrong.append(f"{sql}: {query(f'SELECT {sql}')} instead of {answer}")

    archived: dict[str, list[tuple]] = {}
    for kiosk, *row in csv.reader(io.StringIO(query(f"COPY ({ARCHIVED}) TO STDOUT CSV"))):
        archived.setdefault(kiosk, []).append(row_of(row))
    glasses, used, total = 0, {}, 0
    for kiosk, path in ledgers:
        recorded = crowd.entries(path)
        total += len(recorded)
        if recorded != archived.get(kiosk, []):
            wrong.append(difference(kiosk, recorded, archived.get(kiosk, [])))
        for entry in recorded:
            if entry[3] == "ready":
                glasses += entry[7]
                for fruit, change in entry[-2].items():
                    used[fruit] = used.get(fruit, 0) - change
    expect("days FROM juice.summed_up", "0")
    expect("sum(glasses) FROM juice.sales", f"{glasses}")
    expect("string_agg(fruit || used, ' ' ORDER BY fruit) FROM (SELECT fruit, sum(used) AS used"
           " FROM juice.fruit_used GROUP BY fruit HAVING sum(used) > 0) AS fruits",
           " ".join(f"{fruit}{used[fruit]}" for fruit in sorted(used)))
    for table in ("gap", "conflict", "quarantine"):
        expect(f"count(*) FROM juice.{table}", "0")
    say(f"{total} entries of {len(ledgers)} ledgers compared")
    return wrong


def row_of(row: list[str]) -> tuple:
    """Converts a row of PostgreSQL into SQLite's values."""
    numbers = {0, 1, 2, 7, 8, 11, 12, 13}
    plain = [None if text == "" else int(text) if place in numbers else text
             for place, text in enumerate(row[:-2])]
    return (*plain, *(json.loads(text) if text else None for text in row[-2:]))


def difference(kiosk: str, recorded: list[tuple], archived: list[tuple]) -> str:
    missing = sorted({entry[1] for entry in recorded} - {entry[1] for entry in archived})
    if missing:
        return f"{kiosk}: of {len(recorded)} entries {len(missing)} are missing, from {missing[0]} on"
    for entry in archived:
        if entry not in recorded:
            return f"{kiosk}: archived as {entry}"
    return f"{kiosk}: {len(archived)} rows for {len(recorded)} entries"


class Phase:
    """Prints the resources that each part has used in a phase."""

    def __init__(self, chain: Chain, name: str) -> None:
        self.chain, self.name = chain, name

    def __enter__(self) -> None:
        say(f"== {self.name}")
        self.began, self.entries = time.monotonic(), self.chain.archived
        self.before = self.chain.meter.look()

    def __exit__(self, *_: Any) -> None:
        seconds = time.monotonic() - self.began
        after, memory = self.chain.meter.look(), self.chain.meter.memory()
        entries = self.chain.archived - self.entries
        say(f"   {seconds:.0f} s, {entries} entries archived, {entries / seconds:.0f} in a second")
        for part, had in after.items():
            taken = had - self.before[part]
            say(f"   {part:22} {taken:7.1f} s of a processor ({taken / seconds:4.2f}), {memory[part]:6.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kiosks", type=int, default=1000)
    parser.add_argument("--daemons", type=int, default=50)
    parser.add_argument("--orders", type=int, default=200)
    parser.add_argument("--pace", type=float, default=400, help="orders of all kiosks in a second")
    parser.add_argument("--peace", type=float, default=60, help="seconds before the first thing breaks")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    say(f"--kiosks {options.kiosks} --daemons {options.daemons} --orders {options.orders} "
        f"--pace {options.pace:g} --seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="chain-") as folder, ExitStack() as stack:
        wrong = Chain(Path(folder), options, stack).run()
    for line in wrong[:20]:
        say(f"WRONG: {line}")
    say("everything is there, once" if not wrong else f"{len(wrong)} things are wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
