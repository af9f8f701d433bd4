#!/usr/bin/env python3
"""Relays malformed properties of MQTT 5 to the kiosk, as a broker would that checks nothing.

Usage: /usr/bin/python3 Tests/Shared/EndToEnd/relay.py [PACKETS] [--seed SEED] [--every N]
       [--known-properties]

Sends PACKETS orders (default 2,000) whose properties are generated from SEED on (default random):
every property of the standard in every wrong form. Another panel orders meanwhile. Each order must
be acknowledged, and each of the other panel answered within two seconds. The kiosk uses MQTT 3.1.1
after a malformed packet has ended two connections; every N packets (default 20) it is restarted then.

`--known-properties` omits unknown properties and wrong lengths. libmosquitto 2.0.11 reads on behind
them, and aborts the process at an unknown property (`property__read` logs without a handle).
"""

import argparse
import json
import random
import socket
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

from arrivals import eventually
from kiosk import Kiosk
from packets import PUBLISH, Server, packet, text, variable
from scene import STOCK

PACKETS, EVERY = 2000, 20
# Maximum time in seconds for which another panel waits, without restarts of the kiosk.
LONGEST = 2
ORDERS = b"kiosk/k1/order/"

BYTE, SHORT, LONG, VARIABLE, DATA, TEXT, PAIR = range(7)
# All properties (MQTT 5, 2.2.2.2), and their types.
TYPES = {
    0x01: BYTE, 0x02: LONG, 0x03: TEXT, 0x08: TEXT, 0x09: DATA, 0x0B: VARIABLE, 0x11: LONG,
    0x12: TEXT, 0x13: SHORT, 0x15: TEXT, 0x16: DATA, 0x17: BYTE, 0x18: LONG, 0x19: BYTE,
    0x1A: TEXT, 0x1C: TEXT, 0x1F: TEXT, 0x21: SHORT, 0x22: SHORT, 0x23: SHORT, 0x24: BYTE,
    0x25: BYTE, 0x26: PAIR, 0x27: LONG, 0x28: BYTE, 0x29: BYTE, 0x2A: BYTE,
}
OF_PUBLISH = [0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x23, 0x26]
TEXTS = [
    b"", b"x", b"#", b"a/+", b"a/#", b"kiosk/k1/order/panel1/reply", b"\xc3\x28", b"\xed\xa0\x80",
    b"a\0b", b"\x01\x1f", b"\xef\xbf\xbf", b"\xff\xfe", b"x" * 65_535, "패".encode() * 1000,
]


def value(kind: int, chance: Random) -> bytes:
    """Returns a value of a type, valid or at a border."""
    number = chance.choice([0, 1, 2, 10, 255, 65_535, 2**31, 2**32 - 1])
    if kind == BYTE:
        return bytes([number & 255])
    if kind == SHORT:
        return struct.pack("!H", number & 65_535)
    if kind == LONG:
        return struct.pack("!I", number)
    if kind == VARIABLE:
        return variable(number & 2**28 - 1)
    if kind == PAIR:
        return text(chance.choice(TEXTS)) + text(chance.choice(TEXTS))
    return text(chance.choice(TEXTS))


def properties(seed: int, known: bool = False) -> bytes:
    """Returns the bytes between packet id and payload. The same seed returns the same bytes."""
    chance = Random(seed)
    body = b""
    for _ in range(chance.choice([0, 1, 1, 1, 2, 3])):
        kind = chance.choice([chance.choice(OF_PUBLISH), chance.choice(list(TYPES))])
        # A value of another type, too short or too long, is another property at its end.
        written = value(TYPES[kind] if known or chance.random() < 0.8 else chance.randrange(7), chance)
        one = bytes([kind]) + written
        body += one * chance.choice([1, 1, 1, 2])
    spoil = chance.random()
    if body and not known and spoil < 0.15:
        # The last one is cut off.
        body = body[:chance.randrange(1, len(body))]
    elif not known and spoil < 0.25:
        body += bytes([chance.choice([0, 0x04, 0x0A, 0x2B, 0x7F, 0xFF]), 1, 2, 3])
    if not known and chance.random() < 0.05:
        return chance.choice([b"\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x80\x80\x80\x80\x01"])
    length = len(body)
    if not known and chance.random() < 0.1:
        length = max(0, length + chance.choice([-3, -1, 1, 3, 100_000]))
    return variable(length) + body


class Relay(Server):
    """A broker for one kiosk that delivers given bytes, and keeps them until they are acknowledged."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kiosk: tuple[socket.socket, int] | None = None
        self._number = 0
        self._pending: dict[int, tuple[bytes, bytes, bytes]] = {}
        self._known: set[bytes] = set()
        # Orders that waited for a session that the kiosk has ended.
        self.dropped = 0
        self.answers: dict[str, float] = {}
        self.connections: Counter[int] = Counter()
        # The protocol level of each client.
        self._levels: dict[socket.socket, int] = {}
        super().__init__()

    def publish(self, topic: bytes, properties: bytes, payload: bytes) -> None:
        with self._lock:
            self._number = self._number % 65_535 + 1
            self._pending[self._number] = topic, properties, payload
            if self._kiosk:
                self._deliver(self._number, 0b0010)

    @property
    def waiting(self) -> int:
        with self._lock:
            return len(self._pending)

    @property
    def is_plain(self) -> bool:
        """Whether the kiosk uses MQTT 3.1.1."""
        with self._lock:
            return self._kiosk is not None and self._kiosk[1] == 4

    def _deliver(self, number: int, flags: int) -> None:
        topic, properties, payload = self._pending[number]
        connection, level = self._kiosk
        body = text(topic) + struct.pack("!H", number) + (properties if level == 5 else b"") + payload
        try:
            connection.sendall(packet(PUBLISH, body, flags))
        except OSError:
            pass  # It is delivered again on the next connection.

    def leave(self, client: socket.socket) -> None:
        self._levels.pop(client, None)
        with self._lock:
            if self._kiosk and self._kiosk[0] is client:
                self._kiosk = None

    def take(self, client: socket.socket, first: int, body: bytes) -> None:
        if first >> 4 == 1:
            self._levels[client] = body[6]
        level = self._levels.get(client, 0)
        nothing = b"\0" if level == 5 else b""
        kind = first >> 4
        if kind == 1:
            start = 10 + (1 + body[10] if level == 5 else 0)
            name = body[start + 2:start + 2 + int.from_bytes(body[start:start + 2], "big")]
            has_session = name in self._known and not body[7] & 2
            # Under the lock, so that a connection that the kiosk makes afterwards is registered afterwards.
            with self._lock:
                client.sendall(packet(2, bytes([has_session, 0]) + nothing))
                if name == b"juice-kiosk-k1":
                    self.connections[level] += 1
                    self._known.add(name)
                    self._kiosk = client, level
                    if not has_session:
                        self.dropped += len(self._pending)
                        self._pending.clear()
                    for number in self._pending:
                        self._deliver(number, 0b1010)
        elif kind == 8:
            filters, rest = 0, body[2 + len(nothing):]
            while rest:
                filters, rest = filters + 1, rest[2 + int.from_bytes(rest[:2], "big") + 1:]
            client.sendall(packet(9, body[:2] + nothing + b"\1" * filters))
        elif kind == 10:
            client.sendall(packet(11, body[:2] + (b"\0\0" if level == 5 else b"")))
        elif kind == 3:
            end = 2 + int.from_bytes(body[:2], "big")
            if first & 0b110:
                client.sendall(packet(4, body[end:end + 2]))
            if body[2:end] == ORDERS + b"panel2/result":
                rest = body[end + 2:]
                # The kiosk's properties are shorter than 128 bytes.
                result = json.loads(rest[1 + rest[0]:] if level == 5 else rest)
                self.answers.setdefault(result.get("id", ""), time.monotonic())
        elif kind == 4:
            with self._lock:
                self._pending.pop(int.from_bytes(body[:2], "big"), None)
        elif kind == 12:
            client.sendall(b"\xd0\0")
        elif kind == 14:
            raise OSError("it has disconnected")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packets", type=int, nargs="?", default=PACKETS)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--known-properties", action="store_true")
    parser.add_argument("--every", type=int, default=EVERY)
    arguments = parser.parse_args()
    print(f"Seeds from {arguments.seed} on", flush=True)
    relay = Relay()
    findings: list[str] = []
    waited: list[float] = []
    with tempfile.TemporaryDirectory(prefix="relay-") as folder:
        kiosk = Kiosk(Path(folder), relay, {"stock": STOCK})
        kiosk.start()
        for count in range(arguments.packets):
            seed = arguments.seed + count
            order = json.dumps({"id": f"h{seed}", "juice": "kiwi"}).encode()
            relay.publish(ORDERS + b"panel1", properties(seed, arguments.known_properties), order)
            sent = time.monotonic()
            relay.publish(ORDERS + b"panel2", b"\0", b'{"id":"p%d","juice":"banana"}' % seed)
            try:
                eventually(lambda: not relay.waiting and f"p{seed}" in relay.answers)
                waited.append(relay.answers[f"p{seed}"] - sent)
                if waited[-1] > LONGEST:
                    findings.append(f"seed {seed}: another panel waited {waited[-1]:.1f} s")
            except TimeoutError:
                findings.append(f"seed {seed}: {relay.waiting} orders are not acknowledged")
            if relay.dropped:
                findings.append(f"seed {seed}: the kiosk has ended its session")
            if not kiosk.is_alive:
                findings.append(f"seed {seed}: the kiosk has ended: {kiosk.log.since(0)[-3:]}")
            if findings:
                break
            if relay.is_plain and count % arguments.every == 0:
                kiosk.stop()
                kiosk.start()
        if kiosk.is_alive:
            kiosk.verify()
            orders = Counter(entry["id"] for entry in kiosk.entries() if entry.get("id"))
            panel2 = [orders[f"p{arguments.seed + each}"] for each in range(count + 1)]
            if not findings and set(panel2) != {1}:
                findings.append(f"orders of another panel that count 0, 1, 2 times: {Counter(panel2)}")
            made = Counter(orders[f"h{arguments.seed + each}"] for each in range(count + 1))
            print(f"Orders with such properties that count 0, 1, 2 times: {dict(made)}")
            if max(made) > 1:
                findings.append("an order counts twice")
        kiosk.kill()
    relay.close()
    for finding in findings:
        print(f"FOUND: {finding}; bytes {properties(seed, arguments.known_properties)[:60].hex()}")
        print("\n".join(kiosk.log.since(0)[-10:]))
    waited = sorted(waited) or [0]
    print(
        f"{count + 1} packets; connections with MQTT 5: {relay.connections[5]}, 3.1.1: {relay.connections[4]}; "
        f"another panel waited {waited[len(waited) // 2] * 1000:.0f} ms (median), "
        f"{max(waited) * 1000:.0f} ms at most")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
