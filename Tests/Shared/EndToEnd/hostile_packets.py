"""Generates packets of MQTT 5 from each role of the shipped access list.

A seed always generates the same packet.
"""

import re
import struct
from dataclasses import replace
from random import Random
from typing import Any

from secured_broker import SHIPPED
from kiosk import FRUITS, RECIPES
from packets import PUBLISH, Properties, Publish, packet, text, variable

BASE = "kiosk/k1"
# An account of each role.
ACCOUNTS = {
    "panel1": "panel", "office": "dashboard", "homeassistant": "homeassistant",
    "window": "display", "nagios": "monitor", "controller": "controller", "bar": "machine",
    "terminal": "payment", "fridge": "sensor",
}
# Lengths around the limits of the kiosk and of the protocol; levels around mosquitto's limit of
# 200.
LENGTHS = [0, 1, 2, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 20_000, 65_534, 65_535]
LEVELS = [1, 2, 5, 10, 100, 195, 197, 198, 199, 200, 201, 205, 1000, 30_000]


def rights(role: str) -> list[str]:
    """Returns the topic filters that a role may write, according to the shipped access list."""
    block = re.search(rf"^\[{role}\]$(.*?)(?=^\[|\Z)", (SHIPPED / "acl").read_text(), re.M | re.S)
    return re.findall(r"^topic (?:read)?write (\S+)$", block[1].replace("%b", BASE), re.M)


RIGHTS = {account: rights(role) for account, role in ACCOUNTS.items()}


def hostile(seed: int) -> Publish:
    return Maker(seed).publish()


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        # Accounts whose messages the kiosk does not receive send less.
        self.account = self.random.choices(list(ACCOUNTS), [8, 4, 3, 1, 1, 1, 2, 2, 2])[0]
        # A broker rejects a packet with a broken part, so most packets have none.
        self.is_broken = self.chance(0.2)

    def publish(self) -> Publish:
        topic = self.pick([self.topic], [self.topic, self.odd_topic])()
        payload = self.payload(topic)
        message = Publish(
            self.account, topic, payload, qos=self.random.choice([0, 1, 1, 1, 2]),
            retain=self.chance(0.1), dup=self.chance(0.05), properties=self.properties(topic),
        )
        if self.chance(0.03):
            return replace(message, payload=payload[:65_535], is_will=True)
        if self.is_broken and self.chance(0.2):
            return replace(message, instead=self.spoilt(message))
        return message

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def pick(self, proper: list, broken: list) -> Any:
        return self.random.choice(broken if self.is_broken and self.chance(0.5) else proper)

    # MARK: Topics

    def topic(self) -> bytes:
        """Returns a topic that the account may write or, sometimes, one that another account may.
        """
        if (own := RIGHTS[self.account]) and self.chance(0.9):
            pattern = self.random.choice(own)
        else:
            pattern = self.random.choice(self.random.choice(list(filter(None, RIGHTS.values()))))
        pattern = pattern.replace("%u", self.account)
        levels = [self.name() if level == "+" else level for level in pattern.split("/")]
        topic = "/".join(levels).encode()
        return (topic.removesuffix(b"#") + self.tail() if levels[-1] == "#" else topic)[:65_535]

    def name(self) -> str:
        return self.random.choice([
            self.account, "panel1", "x", "x" * 64, "x" * 65, "패" * 64, "x" * self.length(), "",
            " ", "$SYS", "-", "..", '"', "'; DROP TABLE entry", "k1", f"n{self.random.random()}",
        ])

    def tail(self) -> bytes:
        levels = self.random.choice(LEVELS)
        return self.random.choice([
            b"result", b"reply", b"a/b/c", b"", b"/", b"/" * levels, b"a/" * levels,
            b"x" * self.length(), "패".encode() * 100, b"$SYS", b"stock",
        ])

    def odd_topic(self) -> bytes:
        return self.random.choice([
            b"", b"/", b"kiosk", b"$SYS/broker/version", b"$control/dynamic-security/v1",
            b"$share/a/kiosk/k1/order/panel1", b"kiosk/k1/order/panel1/result", b"kiosk/k1/stock",
            b"kiosk/k2/order/panel1", b"kiosk/k1/order/+", b"kiosk/k1/#", b"kiosk/k1/order/\0",
            b"kiosk/k1/order/\xff\xfe", b"kiosk/k1/order/\xed\xa0\x80", b"kiosk/k1/order/a\nb",
            b"kiosk/k1/order/\x1b[2J", b"kiosk/k1/order/\xef\xbf\xbf", b"/" * 65_535,
            b"kiosk/k1/order/panel1/" + self.tail()[:65_000], b"x" * self.length(),
            self.random.randbytes(20),
        ])

    def length(self) -> int:
        """Returns a length, mostly short, because the rest of a packet with a long part is not
        examined."""
        return self.random.choice(LENGTHS) if self.chance(0.2) else self.random.randrange(64)

    # MARK: Properties

    def properties(self, topic: bytes) -> Properties:
        """Returns properties of a PUBLISH (MQTT 5, 3.3.2.3); broken packets also have others, or
        duplicates."""
        likely = {
            self.expiry: 0.2, self.format: 0.2, self.content_type: 0.2, self.user: 0.3,
            self.correlation: 0.4, lambda: self.response_topic(topic): 0.4, self.alias: 0.05,
        }
        if self.is_broken:
            likely |= {self.subscription: 0.1, self.another: 0.1}
        has_all = self.chance(0.05)
        chosen = [kind() for kind, chance in likely.items() if has_all or self.chance(chance)]
        return tuple(self.pick([chosen], [chosen, chosen + chosen[:1], chosen * 2]))

    def expiry(self) -> tuple[int, bytes]:
        seconds = self.random.choice([0, 1, 60, 3600, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1])
        return 0x02, struct.pack("!I", seconds)

    def format(self) -> tuple[int, bytes]:
        return 0x01, bytes([self.pick([0, 1], [2, 255])])

    def content_type(self) -> tuple[int, bytes]:
        return 0x03, text(self.string())

    def user(self) -> tuple[int, bytes]:
        """Returns a user property, the only one that may occur more than once."""
        pair = text(self.string()) + text(self.string())
        most = 1 + (1_000_000 if self.chance(0.05) else 20_000) // len(pair)
        return 0x26, b"\x26".join([pair] * min(most, self.random.choice([1, 1, 2, 10, 100, 1000])))

    def correlation(self) -> tuple[int, bytes]:
        return 0x09, text(self.random.randbytes(self.length()))

    def response_topic(self, topic: bytes) -> tuple[int, bytes]:
        own = topic + b"/" + self.tail()
        elsewhere = self.pick(
            [topic, b"/", b"$SYS/x", b"kiosk/k1/stock/kiwi", b"kiosk/k1/restock/office",
             b"kiosk/k1/order/panel2/result", b"x" * 65_535, "패".encode() * 1000],
            [b"", b"#", topic + b"/+", topic + b"/#", topic + b"/a/+/b", self.string()])
        return 0x08, text(self.random.choice([own, own, own, elsewhere])[:65_535])

    def alias(self) -> tuple[int, bytes]:
        return 0x23, struct.pack("!H", self.pick([1, 2, 10], [0, 11, 65_535]))

    def subscription(self) -> tuple[int, bytes]:
        return 0x0B, variable(self.random.choice([0, 1, 2**28 - 1]))

    def another(self) -> tuple[int, bytes]:
        return self.random.choice([0x11, 0x15, 0x21, 0x27, 0x7F, 0xFF]), self.random.randbytes(4)

    def string(self) -> bytes:
        return self.pick(
            [b"x" * self.length(), b"x" * 5, b"", "패".encode() * (self.length() // 3)],
            [b"\xff\xfe", b"a\0b", b"\x01\x1f", b"\xed\xa0\x80", b"\xef\xbf\xbf"])

    # MARK: Payloads

    def payload(self, topic: bytes) -> bytes:
        if self.chance(0.2):
            return self.odd_payload()
        if b"/restock/" in topic:
            return self.restock()
        return self.service() if b"/service/" in topic else self.order()

    def order(self) -> bytes:
        juice = self.random.choice([*RECIPES, "tea", f"t{self.random.random()}", "x" * 64, "x" * 65])
        if self.chance(0.2):
            return juice.encode()
        return self.command({"juice": f'"{juice}"', "quantity": self.number(1, 10)})

    def restock(self) -> bytes:
        def amounts(low: int) -> str:
            fruits = self.random.choices([*FRUITS, "durian"], k=self.random.choice([0, 1, 2, 5]))
            return "{" + ",".join(f'"{fruit}":{self.number(low, 100)}' for fruit in fruits) + "}"

        steps = {"add": amounts(-100), "set": amounts(0), "expect": amounts(0)}
        return self.command({name: steps[name] for name in steps if self.chance(0.6)})

    def service(self) -> bytes:
        word = self.random.choice(["open", "open", "open", "closed", "shut"])
        return word.encode() if self.chance(0.5) else self.command({"service": f'"{word}"'})

    def command(self, members: dict[str, str]) -> bytes:
        if self.chance(0.6):
            number = self.random.choice([self.random.randrange(20), self.random.getrandbits(60)])
            members["id"] = f'"h{number}"'
        if self.chance(0.2):
            members["sent_at"] = self.random.choice([
                '"1970-01-01T00:00:00Z"', '"9999-12-31T23:59:60Z"', '"2026-02-30T00:00:00Z"', "1",
            ])
        written = [f'"{name}":{value}' for name, value in members.items()]
        if self.chance(0.15):
            name = self.random.choice([*members, "id", "x", "x" * 4000])
            written.append(f'"{name}":{self.value()}')
        self.random.shuffle(written)
        return ("{" + ",".join(written) + "}").encode()

    def number(self, low: int, high: int) -> str:
        if self.chance(0.8):
            return f"{self.random.randint(low, high)}"
        return self.random.choice([
            f"-{self.random.getrandbits(63)}", f"{self.random.getrandbits(63)}", f"{2**63}",
            f"{-2**63}", "0", "-0", "1e400", "-1e-400", "1.0", "1e2", "9" * 300, "01", "NaN",
        ])

    def value(self) -> str:
        depth = self.random.choice([10, 100, 1000, 2000])
        return self.random.choice([
            "null", "true", "[]", "{}", '""', '"\\ud800"', '"\\u0000"', '"a/b"', "7", "1e400",
            f'"{"x" * 65}"', f'"{"x" * 3000}"', "[" * depth + "]" * depth, '{"a":' * depth + "1",
            '"' + "\\u001b" * 100 + '"', self.number(0, 9),
        ])

    def odd_payload(self) -> bytes:
        size = self.random.choice([*LENGTHS, 4096, 4097, 1_000_000 if self.chance(0.1) else 10])
        return self.random.choice([
            b"", b" ", b"\0" * size, b"x" * size, b"[" * size, b"{" + b" " * size + b"}",
            b"\xff\xfe\xfa", b'{"id":"\xc3\x28"}', b"null", b"17", self.random.randbytes(size),
            b'{"juice":"banana"' + b',"x":"x"' * (size // 8) + b"}", b"online",
        ])

    # MARK: Malformed packets

    def spoilt(self, message: Publish) -> bytes:
        data = message.encoded(1)
        place = self.random.randrange(len(data))
        rest = data[1 + len(variable(len(data))):]
        return self.random.choice([
            data[:place],
            data[:place] + bytes([data[place] ^ 1 << self.random.randrange(8)]) + data[place + 1:],
            data[:1] + b"\xff\xff\xff\xff\x7f" + rest,
            data[:1] + variable(2**28 - 1) + rest,
            data[:1] + variable(len(rest) + 5) + rest,
            data[:1] + variable(max(0, len(rest) - 5)) + rest,
            packet(PUBLISH, rest, 0b110),
            packet(PUBLISH, text(message.topic) + b"\0\0" + b"\0" + message.payload, 0b10),
            packet(PUBLISH, text(message.topic) + b"\0\1" + variable(2**28 - 1), 0b10),
            packet(self.random.choice([0, 1, 3, 8, 10, 12, 15]), rest, self.random.randrange(16)),
            self.random.randbytes(place % 1000),
        ])
