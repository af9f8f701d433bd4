"""Publishes at any rate, in a separate process.

Usage: flood.py PORT KIND COUNT RATE

Sends COUNT messages (0: until it is killed) at RATE per second (0: as fast as the socket accepts).
Exits after the broker has acknowledged all of them.
"""

import contextlib
import random
import socket
import struct
import sys
import threading
import time

from packets import CONNECT, PUBLISH, packet, text

BASE = "kiosk/k1"


class Publisher:
    """Publishes with QoS 1 on one connection (MQTT 3.1.1), and counts the acknowledgements."""

    def __init__(self, port: int, name: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(packet(CONNECT, text("MQTT") + bytes([4, 2, 0, 0]) + text(name)))
        assert self.socket.recv(4) == bytes([0x20, 2, 0, 0])
        self.sent, self.confirmed = 0, 0
        self.pending = bytearray()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        count = 0
        # A broker that is killed resets the connection.
        with contextlib.suppress(ConnectionResetError):
            while part := self.socket.recv(1 << 20):
                count += len(part)
                # A PUBACK has 4 bytes.
                self.confirmed = count // 4

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        number = struct.pack("!H", self.sent % 65_535 + 1)
        self.pending += packet(PUBLISH, text(topic) + number + payload, 0b10 | retain)
        self.sent += 1

    def flush(self) -> None:
        self.socket.sendall(self.pending)
        self.pending.clear()


GARBAGE = random.Random(0).randbytes(4096)
KINDS = {
    # Messages that the kiosk does not receive: the same load for the broker alone.
    "elsewhere": lambda n: ("elsewhere/flood", b"banana"),
    "presses": lambda n: ("order/flood", b"banana"),
    "garbage": lambda n: ("order/flood", GARBAGE),
    "ids": lambda n: ("order/flood", b'{"id":"%d","juice":"banana"}' % n),
    "restocks": lambda n: (f"restock/s{n}", b'{"add":{"kiwi":1}}'),
    "settings": lambda n: (f"settings/s{n}", b'{"low":%d}' % (n % 9)),
    "panels": lambda n: (f"order/flood{n}", b"banana"),
}


def main(port: int, kind: str, count: int, rate: int) -> None:
    publisher = Publisher(port, f"flood-{kind}")
    # A burst every hundredth of a second.
    size = rate // 100 or 1000
    due = time.monotonic()
    while not count or publisher.sent < count:
        for number in range(publisher.sent, min(publisher.sent + size, count or sys.maxsize)):
            topic, payload = KINDS[kind](number)
            publisher.publish(f"{BASE}/{topic}", payload)
        publisher.flush()
        due = max(due + 0.01, time.monotonic() - 0.1)
        if rate:
            time.sleep(max(0, due - time.monotonic()))
    while publisher.confirmed < count:
        assert publisher.reader.is_alive(), "the broker has closed the connection"
        time.sleep(0.01)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
