"""A card terminal that speaks ZVT over TCP, for the tests: the judge of what was paid.

Written from the facts of the protocol alone (PA00P015) and from recorded packets; it shares no code with
juice-zvt. Its journal is on the disk before it answers, and survives its power cuts (SIGKILL). A file of
behaviour, read again for each command, says what the customer does and how the terminal deviates.

Usage: terminal.py PORT JOURNAL BEHAVIOUR
"""

import json
import os
import random
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

DEFAULTS: dict[str, Any] = {
    "customer": "present",  # present, silent, decline, random
    "card_seconds": 0.05,
    "prompt_seconds": 60,  # time after which the terminal itself ends a prompt
    "decline": 0x05,
    "completes": False,  # ends a declined authorisation by a completion instead of an abort
    "amount_off": 0,  # holds so much more than asked
    "poll_seconds": 0.1,  # time between two questions whether the goods are made
    "patience": 60,  # time after which it asks no more
    "keeps": False,  # books what it was never told to be made
    "counts": False,  # whether the journal has these questions
    "on_silence": "reverse",  # what becomes of a payment whose register is lost: reverse, book, random
    "capture": "ok",  # ok, error, error_booked, silent, silent_booked
    "hold": "ok",  # ok, error_held, silent_held
    "release": "ok",  # ok, error
    "refund": "ok",  # ok, silent_refunded
    "state": 0x00,
    "unknown": [],  # commands that the terminal does not know, as "0622"
    "lists": True,  # whether open reservations are listed in a TLV container
    "container": True,  # whether a registration with a container is accepted
    "renumbers": False,  # repeats its last result under another trace number
    "repeats": True,  # whether repeat receipt brings a result
    "aborts": True,
    "whole": True,  # False: each packet in pieces of one byte; then several packets in one piece
    "noise": False,  # print blocks with card numbers, a long packet, an unknown command
    "half": False,  # ends a status information in its middle, and is silent then
    "terminal": "52523535",
    "seed": 0,  # of all that is random
    "closes": 0.0,  # how often it makes its end of day by itself before a command: receipts begin at 1 again
}

ACK = bytes.fromhex("800000")
#: The journal counts receipts on from one day to the next; the register sees the last four digits.
DAY = 10_000
#: A girocard number and the tracks that a terminal should not send, but may.
CARD_NUMBER = "4711008005757038004"
SEEN_ON_CARD = (CARD_NUMBER, "5598845555548074", "SECRETNAME/OWNER")


def bcd(number: int, count: int) -> bytes:
    return bytes.fromhex(str(number).zfill(2 * count)[-2 * count:])


def number(data: bytes) -> int:
    return int(data.hex())


def packet(control: str, data: bytes = b"") -> bytes:
    length = bytes([len(data)]) if len(data) < 255 else b"\xff" + len(data).to_bytes(2, "little")
    return bytes.fromhex(control) + length + data


def fields(data: bytes) -> dict[int, bytes]:
    """The fields of a command: those that a register sends."""
    sizes = {0x01: 1, 0x02: 1, 0x03: 1, 0x04: 6, 0x19: 1, 0x49: 2, 0x87: 2}
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        identity = data[at]
        if identity == 0x06:
            found[identity] = data[at + 2:at + 2 + data[at + 1]]
            at += 2 + data[at + 1]
            continue
        size = sizes[identity]
        found[identity] = data[at + 1:at + 1 + size]
        at += 1 + size
    return found


class Journal:
    """What the terminal has booked; each line is on the disk before the terminal answers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        if path.exists():
            text = path.read_text()
            whole = text[:text.rfind("\n") + 1]
            self.lines = [json.loads(line) for line in whole.splitlines()]
            if whole != text:
                path.write_text(whole)
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, kind: str, **values: Any) -> dict[str, Any]:
        line = {"kind": kind, **values}
        os.write(self.file, (json.dumps(line) + "\n").encode())
        os.fsync(self.file)
        self.lines.append(line)
        return line

    @property
    def open(self) -> dict[int, int]:
        """Holds by receipt."""
        holds: dict[int, int] = {}
        for line in self.lines:
            if line["kind"] == "hold":
                holds[line["receipt"]] = line["amount"]
            elif line["kind"] in ("book", "release"):
                holds.pop(line["of"], None)
        return holds

    @property
    def booked(self) -> dict[int, int]:
        """Payments by receipt, without those that were cancelled."""
        payments: dict[int, int] = {}
        for line in self.lines:
            if line["kind"] in ("book", "payment"):
                payments[line["receipt"]] = line["amount"]
            elif line["kind"] == "cancel":
                payments.pop(line["of"], None)
        return payments

    @property
    def today(self) -> tuple[int, int]:
        """Number and sum since the last end of day."""
        count = total = 0
        for line in self.lines:
            if line["kind"] in ("book", "payment"):
                count, total = count + 1, total + line["amount"]
            elif line["kind"] == "cancel":
                total -= line["amount"]
            elif line["kind"] in ("day", "closed"):
                count = total = 0
        return count, total

    @property
    def closings(self) -> int:
        """Number of days that the terminal has ended by itself."""
        return sum(line["kind"] == "closed" for line in self.lines)

    @property
    def last(self) -> dict[str, Any] | None:
        """The last result."""
        for line in reversed(self.lines):
            if line["kind"] in ("hold", "book", "release", "payment", "cancel", "failed"):
                return line
        return None

    @property
    def asking(self) -> dict[str, Any] | None:
        """A payment that waited for the goods at the power cut."""
        last = [line for line in self.lines if line["kind"] in ("asking", "payment", "failed")]
        return last[-1] if last and last[-1]["kind"] == "asking" else None

    def next(self) -> dict[str, Any]:
        """The numbers of the next result, and its time."""
        count = sum("receipt" in line for line in self.lines)
        last = max([n for n, line in enumerate(self.lines) if line["kind"] == "closed"], default=0)
        today = sum("receipt" in line for line in self.lines[last:])
        return {
            "receipt": self.closings * DAY + today % 9998 + 1, "trace": count % 999_998 + 1,
            "at": time.strftime("%m%d%H%M%S"),
        }


class Lost(Exception):
    """The register has gone."""


class Terminal:
    def __init__(self, port: int, journal: Path, behaviour: Path) -> None:
        self.journal = Journal(journal)
        self.behaviour_file = behaviour
        # Not the same numbers again after each power cut.
        self.chance = random.Random(f"{self.behaviour['seed']} {len(self.journal.lines)}")
        if (asked := self.journal.asking) is not None:
            self.end_without_register(asked)
        self.server = socket.create_server(("127.0.0.1", port))
        self.buffer = b""

    @property
    def behaviour(self) -> dict[str, Any]:
        own = json.loads(self.behaviour_file.read_text()) if self.behaviour_file.exists() else {}
        return DEFAULTS | own

    def run(self) -> None:
        while True:
            self.connection, _ = self.server.accept()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffer = b""
            try:
                while True:
                    self.execute(*self.read())
            except (Lost, OSError):
                self.connection.close()

    # The connection.

    def read(self, within: float | None = None) -> tuple[int, bytes]:
        """The next packet. A second connection replaces this one."""
        deadline = None if within is None else time.monotonic() + within
        while True:
            if len(self.buffer) >= 3:
                size, start = self.buffer[2], 3
                if size == 255 and len(self.buffer) >= 5:
                    size, start = int.from_bytes(self.buffer[3:5], "little"), 5
                if (size < 255 or start == 5) and len(self.buffer) >= start + size:
                    data, rest = self.buffer[start:start + size], self.buffer[start + size:]
                    control = int.from_bytes(self.buffer[:2], "big")
                    self.buffer = rest
                    return control, data
            left = None if deadline is None else max(0, deadline - time.monotonic())
            ready, _, _ = select.select([self.connection, self.server], [], [], left)
            if self.server in ready:
                raise Lost
            if not ready:
                raise TimeoutError
            received = self.connection.recv(65536)
            if not received:
                raise Lost
            self.buffer += received

    def write(self, data: bytes) -> None:
        if self.behaviour["whole"]:
            self.connection.sendall(data)
        else:
            for byte in data:
                self.connection.sendall(bytes([byte]))

    def lead(self, data: bytes) -> int:
        """Sends a message, and returns the register's answer."""
        self.write(data)
        try:
            control, _ = self.read(5)
            while control == 0x06B0:
                self.write(ACK)
                control, _ = self.read(5)
            return control
        except TimeoutError:
            raise Lost from None

    def end(self, data: bytes) -> None:
        self.lead(data)

    def abort(self, code: int, more: bytes = b"") -> None:
        self.end(packet("061e", bytes([code]) + more))

    def status(self, code: int, line: dict[str, Any] | None = None, more: bytes = b"") -> bytes:
        data = bytes([0x27, code])
        if line:
            data += b"\x04" + bcd(line["amount"], 6) + bytes.fromhex("490978")
            data += bytes.fromhex("0c" + line["at"][4:] + "0d" + line["at"][:4])
            # The number of a card, not masked, as some terminals send it.
            data += b"\x22\xf1\xf0" + bytes.fromhex(CARD_NUMBER + "f")
            data += b"\x87" + bcd(line["receipt"], 2) + b"\x0b" + bcd(line["trace"], 3)
            data += b"\x29" + bytes.fromhex(self.behaviour["terminal"])
            data += b"\x8b\xf0\xf9girocard\x00"
        return packet("040f", data + more)

    # Commands.

    def execute(self, control: int, data: bytes) -> None:
        known = {
            0x0600: self.register, 0x0601: self.authorise, 0x0622: self.reserve,
            0x0623: self.reverse_in_part, 0x0624: self.book_total, 0x0625: self.release,
            0x0630: self.cancel, 0x0620: self.repeat, 0x0501: self.enquire, 0x0650: self.day,
            0x06E0: self.display,
        }
        if control == 0x06B0:
            self.write(ACK)
            return
        if control >> 8 in (0x80, 0x84):
            return
        if control not in known or f"{control:04x}" in self.behaviour["unknown"]:
            self.write(bytes.fromhex("848300"))
            return
        if control == 0x0600 and 0x06 in fields(data[6:]) and not self.behaviour["container"]:
            self.write(bytes.fromhex("849a00"))
            return
        self.write(ACK)
        if control in (0x0601, 0x0622, 0x0630) and self.chance.random() < self.behaviour["closes"]:
            self.close_day()
        known[control](data)

    def close_day(self) -> None:
        """Ends the day, but not with an open reservation, nor in the second of the last result."""
        last = self.journal.last
        if last and not self.journal.open and last["at"] != time.strftime("%m%d%H%M%S"):
            self.journal.add("closed")

    def receipt(self, data: bytes) -> int:
        """The receipt that the register names, of today."""
        return self.journal.closings * DAY + number(data)

    def register(self, data: bytes) -> None:
        self.has_container = len(data) > 6
        identity = bytes.fromhex(self.behaviour["terminal"])
        self.end(packet("060f", b"\x19\x10\x29" + identity + b"\x49\x09\x78"))

    def enquire(self, data: bytes) -> None:
        # As recorded from a Feig terminal, with another state.
        version = b"GER-APP-v2.0.9"
        self.end(
            packet("060f", b"\xf0\xf1\xf4" + version + bytes([self.behaviour["state"]]))
        )

    def display(self, data: bytes) -> None:
        self.end(packet("060f"))

    def repeat(self, data: bytes) -> None:
        last = self.journal.last
        if last and self.behaviour["renumbers"]:
            last = last | {"trace": (last["trace"] + self.chance.randrange(1, 999)) % 999_999}
        if last and self.behaviour["repeats"]:
            self.lead(self.status(last.get("code", 0), last))
        self.end(packet("060f"))

    def prompt(self) -> int | None:
        """Waits for the customer. Returns the code of a failure, or None for a card."""
        behaviour = self.behaviour
        self.lead(bytes.fromhex("04ff010a"))
        customer = behaviour["customer"]
        if customer == "random":
            customer = self.chance.choices(["present", "silent", "decline"], [8, 1, 1])[0]
        deadline = time.monotonic() + behaviour["prompt_seconds"]
        card = time.monotonic() + behaviour["card_seconds"] * self.chance.uniform(0.5, 1.5)
        while True:
            left = (deadline if customer == "silent" else min(card, deadline)) - time.monotonic()
            if left <= 0:
                break
            try:
                control, _ = self.read(left)
            except TimeoutError:
                break
            if control == 0x06B0:
                if behaviour["aborts"]:
                    self.write(ACK)
                    return 0x6C
                self.write(bytes.fromhex("848300"))
        if customer == "silent" or time.monotonic() >= deadline:
            return 0x6C
        self.lead(bytes.fromhex("04ff0104"))
        return behaviour["decline"] if customer == "decline" else None

    def make_noise(self) -> None:
        if not self.behaviour["noise"]:
            return
        number = CARD_NUMBER.encode()
        tracks = b"\x23\xf1\xf2" + bytes(12) + b"\x2d\xf2\xf0SECRETNAME/OWNER    "
        self.lead(packet("06d1", b"\x00Card " + number))
        line = b"\x07" + bytes([len(number) + 5]) + b"Card " + number
        block = b"\x25\x81" + bytes([len(line) * 4]) + line * 4
        self.lead(packet("06d3", b"\x06\x81" + bytes([len(block)]) + block))
        self.lead(packet("06d3", bytes(65_535)))
        # A length that lies, an unknown field, an unknown command.
        self.lead(packet("040f", b"\x27\x00\x22\xf9\xf9\x11"))
        self.lead(packet("040f", b"\x27\x00\x99"))
        self.lead(packet("0455", b"\x01"))
        self.lead(packet("04ff", b""))
        self.lead(packet("040f", b"\x27\x6c" + tracks))

    def reserve(self, data: bytes) -> None:
        behaviour = self.behaviour
        amount = number(fields(data)[0x04]) + behaviour["amount_off"]
        if (code := self.prompt()) is not None:
            return self.abort(code)
        line = self.journal.add("hold", amount=amount, **self.journal.next())
        self.make_noise()
        if behaviour["hold"] == "error_held":
            return self.abort(0xA1)
        if behaviour["hold"] == "silent_held":
            raise Lost
        if behaviour["half"]:
            self.write(self.status(0, line)[:9])
            self.read(60)
        self.lead(self.status(0, line))
        self.end(packet("060f"))

    def reverse_in_part(self, data: bytes) -> None:
        found = fields(data)
        if found[0x87] == b"\xff\xff":
            return self.list_open()
        receipt = self.receipt(found[0x87])
        held = self.journal.open.get(receipt)
        if held is None:
            return self.abort(0xB8)
        self.book(receipt, held - number(found[0x04]))

    def list_open(self) -> None:
        receipts = list(self.journal.open)
        if not receipts:
            return self.abort(0xB8, b"\x87\xff\xff")
        if self.behaviour["lists"] and self.has_container:
            listed = b"".join(b"\x08\x02" + bcd(receipt, 2) for receipt in receipts[:50])
            inner = b"\x23\x81" + bytes([len(listed)]) + listed
            return self.abort(0xB8, b"\x06\x81" + bytes([len(inner)]) + inner)
        self.abort(0xB8, b"\x87" + bcd(receipts[0], 2))

    def book_total(self, data: bytes) -> None:
        found = fields(data)
        receipt = self.receipt(found[0x87])
        if receipt not in self.journal.open:
            return self.abort(0xB8)
        self.book(receipt, number(found[0x04]))

    def book(self, receipt: int, amount: int) -> None:
        how = self.behaviour["capture"]
        if how == "error":
            return self.abort(0xA1)
        if how == "silent":
            raise Lost
        if amount > self.journal.open[receipt] or amount < 0:
            return self.abort(0xB7)
        line = self.journal.add("book", of=receipt, amount=amount, **self.journal.next())
        if how == "error_booked":
            return self.abort(0xA1)
        if how == "silent_booked":
            raise Lost
        self.lead(self.status(0, line))
        self.end(packet("060f"))

    def release(self, data: bytes) -> None:
        receipt = self.receipt(fields(data)[0x87])
        if self.behaviour["release"] == "error":
            return self.abort(0xA1)
        if receipt not in self.journal.open:
            return self.abort(0xB4)
        line = self.journal.add("release", of=receipt, amount=0, **self.journal.next())
        self.lead(self.status(0, line))
        self.end(packet("060f"))

    def cancel(self, data: bytes) -> None:
        receipt = self.receipt(fields(data[3:])[0x87])
        amount = self.journal.booked.get(receipt)
        if amount is None:
            was = any(line["kind"] == "cancel" and line["of"] == receipt for line in self.journal.lines)
            return self.abort(0xB4 if was else 0xB5)
        line = self.journal.add("cancel", of=receipt, amount=amount, **self.journal.next())
        if self.behaviour["refund"] == "silent_refunded":
            raise Lost
        self.lead(self.status(0, line))
        self.end(packet("060f"))

    def authorise(self, data: bytes) -> None:
        behaviour = self.behaviour
        found = fields(data)
        amount = number(found[0x04]) + behaviour["amount_off"]
        if (code := self.prompt()) is not None:
            self.lead(self.status(code))
            return self.end(packet("060f")) if behaviour["completes"] else self.abort(code)
        asked = self.journal.add("asking", amount=amount, **self.journal.next())
        numbers = {key: asked[key] for key in ("receipt", "trace", "at", "amount")}
        self.make_noise()
        # Without a limit one vendor asks three times.
        since = time.monotonic()
        for _ in range(found.get(0x02, b"\x03")[0]):
            if behaviour["counts"]:
                self.journal.add("question")
            try:
                answer = self.lead_for_goods(self.status(0, asked))
            except (Lost, OSError):
                self.end_without_register(asked)
                raise Lost from None
            if answer[0] == 0x8000:
                return self.pay(numbers)
            if answer[0] == 0x8466:
                self.journal.add("failed", code=0x6C, **numbers)
                return self.abort(0x6C)
            if answer[0] == 0x849D:
                return self.pay(numbers | {"amount": number(answer[1][1:7])})
            self.wait(behaviour["poll_seconds"], asked)
            if time.monotonic() - since >= behaviour["patience"]:
                break
        if behaviour["keeps"]:
            return self.pay(numbers)
        self.journal.add("failed", code=0x6C, **numbers)
        self.abort(0x6C)

    def pay(self, numbers: dict[str, int]) -> None:
        how = self.behaviour["capture"]
        if how == "error":
            self.journal.add("failed", code=0xA1, **numbers)
            return self.abort(0xA1)
        line = self.journal.add("payment", **numbers)
        if how == "error_booked":
            return self.abort(0xA1)
        if how in ("silent", "silent_booked"):
            raise Lost
        asked = next(each for each in reversed(self.journal.lines) if each["kind"] == "asking")
        if line["amount"] != asked["amount"]:
            self.lead(packet("040f", b"\x04" + bcd(line["amount"], 6)))
        self.end(packet("060f"))

    def lead_for_goods(self, data: bytes) -> tuple[int, bytes]:
        self.write(data)
        try:
            answer = self.read(5)
            while answer[0] == 0x06B0:
                self.write(ACK)
                answer = self.read(5)
            return answer
        except TimeoutError:
            raise Lost from None

    def wait(self, seconds: float, asked: dict[str, Any]) -> None:
        """Waits, and notices when the register has gone."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                if self.read(left)[0] == 0x06B0:
                    self.write(ACK)
            except TimeoutError:
                return
            except (Lost, OSError):
                self.end_without_register(asked)
                raise Lost from None

    def end_without_register(self, asked: dict[str, Any]) -> None:
        """What becomes of an approved payment without a register differs between terminals."""
        how = self.behaviour["on_silence"]
        numbers = {key: asked[key] for key in ("receipt", "trace", "at", "amount")}
        if how == "book" or how == "random" and self.chance.random() < 0.5:
            self.journal.add("payment", **numbers)
        else:
            self.journal.add("failed", code=0x6C, **numbers)

    def day(self, data: bytes) -> None:
        if self.journal.open:
            receipt = next(iter(self.journal.open))
            return self.abort(0xB8, b"\x87" + bcd(receipt, 2))
        count, total = self.journal.today
        line = self.journal.add("day", count=count, amount=total)
        totals = bytes(4) + bytes(7) * 2 + bytes([count % 256]) + bcd(max(total, 0), 6) + bytes(7) * 4
        more = b"\x60\xf0\xf5\xf3" + totals
        self.lead(packet("040f", b"\x27\x00\x04" + bcd(max(line["amount"], 0), 6) + more))
        self.end(packet("060f"))


if __name__ == "__main__":
    Terminal(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])).run()
