"""The generated packets cover the intended cases, and findings are shrunk."""

import re
import struct
from collections import Counter

from secured_broker import SHIPPED
from hostile import fewest, kind, shortened
from hostile_packets import ACCOUNTS, BASE, LENGTHS, RIGHTS, hostile

MANY = [hostile(seed) for seed in range(8000)]


def test_a_seed_is_a_packet() -> None:
    assert [hostile(seed) for seed in range(100)] == MANY[:100]
    assert len(set(MANY)) > 4900


def test_every_role_sends_to_everything_that_it_may_write() -> None:
    roles = re.findall(r"^\[(\w+)\]$", (SHIPPED / "acl").read_text(), re.M)
    assert set(roles) == set(ACCOUNTS.values())
    assert RIGHTS["panel1"] == [f"{BASE}/order/%u"]
    for account, patterns in RIGHTS.items():
        sent = [m.topic.decode(errors="replace") for m in MANY if m.account == account]
        for pattern in patterns:
            levels = re.escape(pattern).replace("%u", account).replace(r"\+", "[^/]*")
            assert any(re.fullmatch(levels.replace(r"\#", ".*"), topic) for topic in sent), pattern


def test_every_property_comes_at_every_size() -> None:
    # The properties of a PUBLISH (MQTT 5, 3.3.2.3), and others that it must not have.
    sizes: dict[int, set[int]] = {kind: set() for kind in [1, 2, 3, 8, 9, 0x0B, 0x23, 0x26, 0x7F]}
    twice = 0
    for message in MANY:
        for number, value in message.properties:
            size = struct.unpack("!H", value[:2])[0] if value[1:] else 0
            sizes.setdefault(number, set()).add(size)
        twice += max(Counter(number for number, _ in message.properties).values(), default=0) > 1
    assert all(sizes.values()) and twice > 50
    for number in (3, 9, 0x26):
        assert sizes[number] >= set(LENGTHS) - {2, 1000}
    levels = {value.count(b"/") for m in MANY for number, value in m.properties if number == 8}
    # As many levels below the sender's own topic as mosquitto forwards, and more than it accepts.
    assert {4 + 197, 4 + 205} <= levels


def test_everything_is_retained_and_a_will_and_broken_and_of_each_qos() -> None:
    for account in ACCOUNTS:
        own = [message for message in MANY if message.account == account]
        assert {message.qos for message in own} == {0, 1, 2}
        for each in ("retain", "dup", "is_will", "instead"):
            assert len({bool(getattr(message, each)) for message in own}) == 2, (account, each)
    assert {0, 4096, 4097, 1_000_000} <= {len(message.payload) for message in MANY}


def test_a_line_of_the_log_is_of_the_kind_of_another_that_tells_the_same() -> None:
    one = "09:00:00 warning order/panel1: rejected, malformed: at byte 7"
    assert kind(one) == kind("09:01:07 warning restock/x: rejected, malformed")
    assert kind(one) != kind("09:00:00 warning order/panel1: rejected, too_large")
    assert kind("09:00:00 notice online") != kind("09:00:00 warning lost")


def test_what_is_not_needed_for_a_finding_goes() -> None:
    for few in ([7], [7, 31], [0, 49]):
        is_found = lambda seeds: "found" if set(few) <= set(seeds) else ""
        assert fewest(list(range(50)), is_found) == few
    assert shortened(b"abc" + b"xy" * 20) == "616263(7879*20)"
