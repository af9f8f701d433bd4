"""Publishes at any rate, in a separate process.

Usage: flood.py PORT KIND COUNT RATE

Sends COUNT messages (0: until it is killed) at RATE per second (0: as fast as the socket accepts).
Exits after the broker has acknowledged all of them.
"""

import itertools
import os
import socket
import struct
import sys
import threading
import time

from packets import CONNECT, PUBLISH, packet, text

BASE = "kiosk/k1"


def publish(topic: str, payload: bytes, number: int) -> bytes:
    """Encodes a PUBLISH with QoS 1 (MQTT 3.1.1: 3.3)."""
    return packet(PUBLISH, text(f"{BASE}/{topic}") + struct.pack("!H", number % 65_535 + 1) + payload, 0b10)


GARBAGE = os.urandom(4096)
KINDS = {
    # Messages that the kiosk does not receive: the same load for the broker alone.
    "elsewhere": lambda n: publish("elsewhere/flood", b"banana", n),
    "presses": lambda n: publish("order/flood", b"banana", n),
    "garbage": lambda n: publish("order/flood", GARBAGE, n),
    "ids": lambda n: publish("order/flood", b'{"id":"%d","juice":"banana"}' % n, n),
    "panels": lambda n: publish(f"order/flood{n}", b"banana", n),
}


def read_confirmations(connection: socket.socket, count: int) -> None:
    received = 0
    # A PUBACK has 4 bytes.
    while received < 4 * count or not count:
        data = connection.recv(1 << 20)
        assert data, "the broker has closed the connection"
        received += len(data)


def main(port: int, kind: str, count: int, rate: int) -> None:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(packet(CONNECT, text("MQTT") + bytes([4, 2, 0, 0]) + text(f"flood-{kind}")))
    assert len(connection.recv(4)) == 4
    reader = threading.Thread(target=read_confirmations, args=[connection, count], daemon=True)
    reader.start()
    numbers = iter(range(count)) if count else itertools.count()
    # A burst every hundredth of a second.
    size = rate // 100 or 1000
    due = time.monotonic()
    while burst := b"".join(map(KINDS[kind], itertools.islice(numbers, size))):
        connection.sendall(burst)
        due = max(due + 0.01, time.monotonic() - 0.1)
        if rate:
            time.sleep(max(0, due - time.monotonic()))
    reader.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
