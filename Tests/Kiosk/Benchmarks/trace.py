"""Proves from outside that an acknowledgement leaves only after its order is synced to the disk.

strace reports each byte received from and sent to the broker, and each write and sync of the
ledger. This module reassembles the MQTT packets from them.
"""

import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

READING = ("read", "recvfrom")
WRITING = ("write", "sendto", "pwrite64")
SYNCING = ("fsync", "fdatasync")
PUBLISH, PUBACK = 3, 4


def is_allowed() -> bool:
    """Returns whether strace works here; a container may forbid it."""
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True)
    return tried.returncode == 0


def under(file: Path) -> list[object]:
    return ["strace", "-D", "-f", "-qq", "-y", "-xx", "-s", "4194304", "-e", "signal=none",
            "-e", "trace=" + ",".join(READING + WRITING + SYNCING), "-o", file]


@dataclass
class Stream:
    """Splits the bytes of one direction into packets."""

    rest: bytes = b""

    def packets(self, more: bytes) -> list[tuple[int, bytes]]:
        """Returns the first byte and the body of each packet that is complete."""
        data, found = self.rest + more, []
        while packet := self._first(data):
            found.append(packet[:2])
            data = data[packet[2]:]
        self.rest = data
        return found

    @staticmethod
    def _first(data: bytes) -> tuple[int, bytes, int] | None:
        length = 0
        for position, byte in enumerate(data[1:5]):
            length |= (byte & 127) << 7 * position
            if byte < 128:
                end = position + 2 + length
                return (data[0], data[position + 2:end], end) if len(data) >= end else None
        return None


@dataclass
class Disk:
    """The known state of the ledger at one moment."""

    #: The packet identifiers of the orders received since the last sync, and of those before it.
    unsynced: frozenset[int] = frozenset()
    synced: frozenset[int] = frozenset()
    has_unsynced_writes: bool = False


@dataclass
class Trace:
    """Evaluates the system calls in the order in which they returned."""

    acknowledged: int = 0
    syncs: int = 0
    too_early: list[str] = field(default_factory=list)
    _disk: Disk = field(default_factory=Disk)
    _streams: dict[tuple[str, bool], Stream] = field(default_factory=lambda: defaultdict(Stream))

    def returned(self, call: str, file: str, data: bytes, disk_before: Disk) -> None:
        if file.startswith(("socket:", "TCP:")):
            is_incoming = call in READING
            for first, body in self._streams[file, is_incoming].packets(data):
                if is_incoming and first >> 4 == PUBLISH and first & 6:
                    self._orders(body)
                elif not is_incoming and first >> 4 == PUBACK:
                    # The bytes may have left as soon as the call began.
                    self._acknowledges(int.from_bytes(body[:2], "big"), disk_before)
        elif call in WRITING and file.endswith("ledger.sqlite-wal"):
            self._disk = replace(self._disk, has_unsynced_writes=True)
        elif call in SYNCING and file.endswith(("ledger.sqlite", "ledger.sqlite-wal")):
            self.syncs += 1
            self._disk = Disk(synced=self._disk.synced | self._disk.unsynced)

    def _orders(self, body: bytes) -> None:
        topic = 2 + int.from_bytes(body[:2], "big")
        packet = int.from_bytes(body[topic:topic + 2], "big")
        self._disk = replace(self._disk, unsynced=self._disk.unsynced | {packet})

    def _acknowledges(self, packet: int, disk: Disk) -> None:
        self.acknowledged += 1
        if packet not in disk.synced:
            self.too_early.append(f"packet {packet}: no sync since it was read")
        elif disk.has_unsynced_writes:
            self.too_early.append(f"packet {packet}: the ledger has writes that are not synced")
        self._disk = replace(
            self._disk, synced=self._disk.synced - {packet}, unsynced=self._disk.unsynced - {packet}
        )

    @property
    def disk(self) -> Disk:
        return self._disk


LINE = re.compile(r"^(\d+) +(?:(\w+)\(\d+<(.*?)>(?=[,) ])|<\.\.\. (\w+) resumed>)(.*)$")
DATA = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def read(file: Path) -> Trace:
    trace = Trace()
    #: The unfinished call of each thread: its name, file and bytes, and the synced state at its
    #: start.
    begun: dict[str, tuple[str, str, bytes, Disk]] = {}
    for line in file.read_text().splitlines():
        if not (parts := LINE.match(line)):
            continue
        thread, call, name, _, rest = parts.groups()
        if call:
            begun[thread] = (call, unescaped(name).decode(), payload(rest), trace.disk)
        if thread not in begun or rest.endswith("<unfinished ...>"):
            continue
        call, name, data, disk = begun.pop(thread)
        result = re.search(r"= (-?\d+)[^=]*$", rest)
        if result and (count := int(result[1])) >= 0:
            data = data or payload(rest)
            trace.returned(call, name, data if call in SYNCING else data[:count], disk)
    return trace


def payload(text: str) -> bytes:
    """Returns the bytes of a call. strace prints those of a read only after it has returned."""
    found = DATA.search(text)
    return unescaped(found[1]) if found else b""


def unescaped(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()
