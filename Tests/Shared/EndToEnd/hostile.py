#!/usr/bin/env python3
"""Sends hostile packets from each role of the shipped access list; another panel must not be
affected.

Usage: /usr/bin/python3 Tests/Shared/EndToEnd/hostile.py [PACKETS] [--seed SEED]

Sends PACKETS packets (default 2,000), generated from SEED on (default random), to the kiosk through
mosquitto, both with the shipped configuration: first with the kiosk on MQTT 5, then again on 3.1.1.
Each seed generates one packet. A failure is shrunk to the packets that cause it.
"""

import argparse
import itertools
import json
import math
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterator

from arrivals import eventually
from auditor import judge_ledger
from displays import expected
from secured_broker import AUDITOR, SecuredBroker
from hostile_packets import ACCOUNTS, BASE, hostile
from kiosk import Kiosk
from packets import PUBLISH, Closed, Connection, Publish, published
from scene import STOCK

PACKETS, BATCH = 2000, 50
# Maximum peak memory of the kiosk in megabytes; bytes of the ledger per entry, and once.
MEMORY, ENTRY, ONCE = 80, 500, 16 * 1024
# Maximum processor time of the kiosk between a press and its answer, in seconds; independent of the
# machine's load.
WORK = 1
LONGEST_LINE = 300
# Maximum number of attempts to shrink a failure; each takes about a second per 100 packets.
ATTEMPTS = 40


class Finding(Exception):
    """A failure that hostile packets have caused."""


# MARK: Other panel

class Other:
    """Presses like a panel with ids, and measures its waiting time and the kiosk's processor time.
    """

    def __init__(self, secured_broker: SecuredBroker, kiosk: Kiosk) -> None:
        self._kiosk = kiosk
        self._connection = connect_as(secured_broker, "panel2")
        self._connection.subscribe(f"{BASE}/order/panel2/result")
        self._number = 0
        # For each press, in seconds.
        self.waited: list[float] = []

    def press(self) -> int:
        """Orders. Returns the number of the entry."""
        self._number += 1
        order = json.dumps({"id": f"{self._number}", "juice": "banana"}).encode()
        message = Publish("panel2", f"{BASE}/order/panel2".encode(), order)
        started, worked = time.monotonic(), self._kiosk.processor_seconds()
        seq = waited = 0
        try:
            self._connection.send(message.encoded(self._number))
            for first, body in self._connection.packets():
                if first >> 4 == PUBLISH:
                    result = json.loads(published(first, body)[1])
                    if result.get("id") == f"{self._number}":
                        seq, waited = result["seq"], time.monotonic() - started
                        break
        except Closed as error:
            raise Finding("another panel is not answered") from error
        self.waited.append(waited)
        if (work := self._kiosk.processor_seconds() - worked) > WORK:
            raise Finding(f"the kiosk computed for {work:.2f} s before it answered another panel")
        return seq


def connect_as(secured_broker: SecuredBroker, name: str, will: Publish | None = None) -> Connection:
    port = secured_broker.local_port if name == "controller" else secured_broker.port
    client_id = f"{random.getrandbits(64):x}"
    return Connection(port, str(secured_broker.ca), name, secured_broker.password(name), client_id, will)


# MARK: World

class World:
    """The shipped secured broker, the kiosk that uses it, and all measurements."""

    def __init__(self, version: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hostile-"))
        lines = [f"{role} {name}" for name, role in ACCOUNTS.items()]
        accounts = "\n".join(["topics kiosk/k1", "panel panel2", *lines])
        self.broker = SecuredBroker(self.folder / "secured_broker", accounts)
        broker = {
            "port": self.broker.local_port, "protocol": version, "username": "controller",
            "password_file": str(self.broker.kiosk / "secrets/controller.password"),
            "tls": {"ca_file": str(self.broker.ca)},
        }
        (self.folder / "kiosk").mkdir()
        self.kiosk = Kiosk(self.folder / "kiosk", None, {
            "broker": broker, "stock": STOCK, "home_assistant": {"enabled": True},
        })
        self.senders: dict[str, Connection] = {}
        self.peak = 0

    def start(self) -> "World":
        self.broker.start()
        self.kiosk.start()
        self.other = Other(self.broker, self.kiosk)
        self.began = time.monotonic()
        self.first = self.last = (self.other.press(), self._ledger_size())
        return self

    def close(self) -> None:
        self.kiosk.kill()
        self.broker.stop()
        shutil.rmtree(self.folder)

    def attack(self, messages: list[Publish], at_once: bool = False) -> None:
        """Sends packets. `at_once`: the kiosk is suspended meanwhile, and then receives all of
        them."""
        if at_once:
            self.kiosk.process.send_signal(signal.SIGSTOP)
        for message in messages:
            try:
                self._send(message)
            except Closed:
                self.senders.pop(message.account, None)
            except ConnectionRefusedError as error:
                raise Finding("the broker has gone") from error
        self.kiosk.process.send_signal(signal.SIGCONT)

    def _send(self, message: Publish) -> None:
        if message.is_will:
            connect_as(self.broker, message.account, will=message).close()
            return
        if message.account not in self.senders:
            self.senders[message.account] = connect_as(self.broker, message.account)
        sender = self.senders[message.account]
        if message.instead:
            sender.send(message.instead)
            self.senders.pop(message.account).close()
        else:
            sender.publish(message)

    # MARK: Invariants

    def look(self) -> None:
        if not self.kiosk.is_alive:
            raise Finding("the kiosk has ended: " + "\n".join(self.kiosk.log.since(0)[-20:]))
        seq = self.other.press()
        self._look_at_memory()
        self._look_at_ledger(seq)
        self._look_at_log()

    def _look_at_memory(self) -> None:
        self.peak = max(self.peak, int(self.kiosk.memory("VmHWM")))
        if self.peak >= MEMORY:
            raise Finding(f"the kiosk has had {self.peak} MB of memory")

    def _ledger_size(self) -> int:
        ledger = sqlite3.connect(f"file:{self.kiosk.folder}/ledger.sqlite?mode=ro", uri=True)
        try:
            pragmas = ["PRAGMA page_count", "PRAGMA page_size"]
            return math.prod(ledger.execute(each).fetchone()[0] for each in pragmas)
        finally:
            ledger.close()

    def _look_at_ledger(self, seq: int) -> None:
        """Checks the growth of the ledger, in total and since the previous check."""
        now = (seq, self._ledger_size())
        for then in (self.first, self.last):
            entries, grown = now[0] - then[0], now[1] - then[1]
            if grown > ENTRY * entries + ONCE:
                raise Finding(f"the ledger has grown by {grown} bytes for {entries} entries")
        self.last = now

    def _look_at_log(self) -> None:
        minutes = 1 + (time.monotonic() - self.began) // 60
        told: Counter[str] = Counter()
        for line in self.kiosk.log:
            if len(line) > LONGEST_LINE:
                raise Finding(f"a line of {len(line)} characters in the log: {line[:LONGEST_LINE]}")
            # Accepted orders, restocks and service changes have one line each.
            if not re.match(r"\S+ info #", line):
                told[kind(line)] += 1
        often = [f"{count} times {what}" for what, count in told.items() if count > minutes]
        if often or any("lost" in what for what in told):
            raise Finding(f"in the log within {minutes:.0f} minutes: {often or list(told)}")

    # MARK: End

    def end(self) -> None:
        """Checks that the kiosk restarts and that its ledger is correct."""
        for sender in self.senders.values():
            sender.close()
        try:
            assert self.kiosk.stop() == 0, "it does not stop in good order"
            self.kiosk.start()
        except (AssertionError, TimeoutError, subprocess.TimeoutExpired) as error:
            raise Finding(f"started again, the kiosk is not online: {error}") from error
        self.other.press()
        try:
            self.kiosk.verify()
            judge_ledger(self.kiosk.entries())
        except AssertionError as error:
            raise Finding(f"the books are not right: {error}") from error
        wanted = {(topic, value.encode()) for topic, value in expected(self.kiosk).items()}
        try:
            eventually(lambda: wanted <= self._shown())
        except TimeoutError as error:
            raise Finding(f"displays do not show {wanted - self._shown()}") from error

    def _shown(self) -> set[tuple[str, bytes]]:
        display = connect_as(self.broker, AUDITOR)
        try:
            return set(display.retained(f"{BASE}/#").items())
        finally:
            display.close()

    def figures(self) -> str:
        entries, grown = (self.last[n] - self.first[n] for n in (0, 1))
        return (
            f"{entries} entries, {grown / max(1, entries):.0f} bytes each; peak {self.peak} MB; "
            f"{len(self.kiosk.log)} lines; another panel waited {spread(self.other.waited)}"
        )


def kind(line: str) -> str:
    """Returns a log line without its variable parts: the reason, or its words."""
    reason = re.search(r"rejected, \w+", line)
    return reason[0] if reason else re.sub(r"[^a-z ]+", "", line.split(" ", 1)[1])[:40]


def spread(seconds: list[float]) -> str:
    """Returns the median, the 99th percentile and the maximum, in milliseconds."""
    ordered = sorted(seconds)
    at = [ordered[int((len(ordered) - 1) * part)] for part in (0.5, 0.99, 1)]
    return " / ".join(f"{each * 1000:.1f}" for each in at) + " ms"


# MARK: Shrinking

def found(version: str, messages: list[Publish], at_once: bool) -> str:
    """Returns the failure that these packets alone cause, or an empty string."""
    world = World(version)
    try:
        world.start().attack(messages, at_once)
        world.look()
        world.end()
    except Finding as finding:
        return str(finding)
    finally:
        world.close()
    return ""


def fewest(seeds: list[int], is_found: Callable[[list[int]], str]) -> list[int]:
    """Removes seeds that are not necessary for the failure, in at most `ATTEMPTS` attempts."""
    size, attempts = len(seeds), 0
    while size := size // 2:
        start = 0
        while start < len(seeds) and attempts < ATTEMPTS:
            attempts += 1
            fewer = seeds[:start] + seeds[start + size:]
            if fewer and is_found(fewer):
                seeds = fewer
            else:
                start += size
    return seeds


def simplest(message: Publish, is_found: Callable[[Publish], str]) -> Publish:
    for each in message.properties:
        others = tuple(other for other in message.properties if other != each)
        if is_found(simpler := replace(message, properties=others)):
            message = simpler
    for changes in ({"payload": b"tea"}, {"qos": 1, "retain": False, "dup": False}):
        if is_found(simpler := replace(message, **changes)):
            message = simpler
    return message


def report(version: str, seeds: list[int], last: int, finding: Finding) -> None:
    """Prints a shrunk failure. `last`: number of packets in the last batch."""
    print(f"FOUND, with the kiosk on MQTT {version}, after {len(seeds)} packets: {finding}")
    leads_to = lambda messages: found(version, messages, at_once=last > BATCH)
    is_found = lambda seeds: leads_to(list(map(hostile, seeds)))
    for count in (last, 10 * last, len(seeds)):
        if is_found(seeds[-count:]):
            break
        print(f"The last {count} alone do not show it.", flush=True)
    else:
        return
    few = fewest(seeds[-count:], is_found)
    messages = list(map(hostile, few))
    if len(few) == 1:
        messages = [simplest(messages[0], lambda message: leads_to([message]))]
    print(f"It takes the packets of these seeds: {few[:20]}: {leads_to(messages)}")
    for message in messages[:20]:
        data = message.instead or message.encoded(1)
        what = "a will" if message.is_will else "a packet"
        print(f"{message.account}, {what} of {len(data)} bytes: {shortened(data)}")
    print(f"Again: deploy/test --hostile 1 --seed {few[0]}")


def shortened(data: bytes) -> str:
    """Returns hexadecimal digits; a repeated sequence is printed once with its count."""
    again = r"((?:..){1,4}?)\1{9,}"
    return re.sub(again, lambda each: f"({each[1]}*{len(each[0]) // len(each[1])})", data.hex())


def batches(seeds: range) -> Iterator[range]:
    """Yields batches, sometimes a large one, which the kiosk receives all at once."""
    start = 0
    for size in itertools.cycle([BATCH] * 20 + [10 * BATCH]):
        if start >= len(seeds):
            return
        yield seeds[start:start + size]
        start += size


def run(version: str, seeds: range) -> bool:
    """Returns whether no failure was found."""
    sent: list[int] = []
    world = World(version)
    try:
        world.start()
        for batch in batches(seeds):
            sent += batch
            world.attack(list(map(hostile, batch)), at_once=len(batch) > BATCH)
            world.look()
        world.end()
        print(f"MQTT {version}: {len(sent)} packets, {world.figures()}", flush=True)
    except Finding as finding:
        report(version, sent, len(batch), finding)
        return False
    finally:
        world.close()
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packets", type=int, nargs="?", default=PACKETS)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    arguments = parser.parse_args()
    print(f"Seeds from {arguments.seed} on", flush=True)
    seeds = range(arguments.seed, arguments.seed + arguments.packets)
    return 0 if all([run(version, seeds) for version in ("5", "3.1.1")]) else 1


if __name__ == "__main__":
    sys.exit(main())
