"""A flooding client does not delay the answers of others, nor exhaust the memory."""

import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from typing import Any, Iterator

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from arrivals import TIMEOUT
from client import BASE, Client
from conftest import MakeBroker, MakeKiosk, Say
from displays import wait_for_truth
from kiosk import ROOT, Kiosk, shipped
from mosquitto import Mosquitto
from scene import STOCK

FLOOD = ROOT / "Tests/Shared/EndToEnd/flood.py"
MESSAGES = int(os.environ.get("KIOSK_FLOOD", "20000"))
# Maximum rate of one sender (the default), and the rate of a faulty one.
PER_SECOND, TOO_MUCH = 50, 5000
# Maximum number of rejections answered per second.
REFUSALS = 100
# Peak memory of the process under any load, in megabytes.
MEMORY = 80


@pytest.fixture
def make_kiosk(make_kiosk: MakeKiosk) -> MakeKiosk:
    def make(*arguments: Any, **settings: Any) -> Kiosk:
        kiosk = make_kiosk(*arguments, **settings)
        kiosk.program = shipped()
        return kiosk

    return make


@pytest.fixture
def kiosk(make_kiosk: MakeKiosk) -> Kiosk:
    return make_kiosk(stock=STOCK, orders={"max_per_second": PER_SECOND}).start()


@contextmanager
def flood(
    broker: Mosquitto, kind: str, count: int = 0, rate: int = 0
) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, FLOOD, str(broker.port), kind, str(count), str(rate)]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def press_beside(broker: Mosquitto, presses: int = 100) -> None:
    """Presses with a separate panel each time, so that none reaches its rate limit."""
    names = [f"{uuid.uuid4()}" for _ in range(presses)]
    # Only their own results: those of the flood would keep this client busy.
    panels = Client(broker.port, *(f"{BASE}/order/{name}/result" for name in names))
    try:
        for name in names:
            result = panels.order({"id": "1", "juice": "kiwi"}, panel=name)
            assert result["status"] == "ready"
    finally:
        panels.close()


def insist(panels: Client, number: int) -> int:
    """Presses until the kiosk answers, as a panel with ids may. Returns the number of attempts."""
    since, topic = len(panels.messages), f"{BASE}/order/other{number}"
    for attempt in range(1, 61):
        panels.publish(topic, '{"id":"1","juice":"kiwi"}')
        try:
            result = panels.messages.first(lambda m: m.topic == f"{topic}/result", since, within=1)
            assert result.json["status"] == "ready"
            return attempt
        except TimeoutError:
            continue
    raise TimeoutError("not answered in a minute")


def refusals(kiosk: Kiosk) -> list[str]:
    return [line for line in kiosk.log if "order/flood: rejected" in line]


@pytest.mark.parametrize("kind", ["presses", "garbage", "ids"])
def test_a_panel_a_hundred_times_too_fast_gets_no_more_than_its_share(
    broker, kiosk: Kiosk, say: Say, kind: str
) -> None:
    """`deploy/bench --flood` measures the delay of the other panels."""
    heard = Client(broker.port, f"{BASE}/order/flood/result")
    with flood(broker, kind, rate=TOO_MUCH):
        heard.messages.until(lambda: len(heard.messages) > 0)
        press_beside(broker)
    recorded = kiosk.ledger()
    # The flood's entries per second of the kiosk's clock.
    seconds = Counter(entry["at"][:19] for entry in recorded if entry.get("source") == "order/flood")
    answers = len(heard.messages)
    heard.close()
    say(f"{seconds.total()} recorded in {len(seconds)} s, {answers} answered; peak {kiosk.memory('VmHWM'):.0f} MB")
    assert sum(entry.get("source") != "order/flood" for entry in recorded if "source" in entry) >= 100
    assert (kind == "garbage") == (not seconds)
    assert all(count <= PER_SECOND for count in seconds.values())
    assert kiosk.memory("VmHWM") < MEMORY


@pytest.mark.parametrize("kind", ["restocks", "settings"])
def test_an_account_with_each_name_gets_no_more_than_its_share(
    broker, kiosk: Kiosk, say: Say, kind: str
) -> None:
    """The account of the dashboard has each name below `restock` and `settings`."""
    answers = Client(broker.port, f"{BASE}/restock/+/result", f"{BASE}/settings/+/result")
    started = time.monotonic()
    with flood(broker, kind, rate=1000):
        answers.messages.until(lambda: len(answers.messages) > 0)
        began = time.monotonic()
        press_beside(broker)
        took = time.monotonic() - began
    seconds = time.monotonic() - started
    done = answers.messages.count(lambda m: m.json.get("reason") != "rate_limited")
    answers.close()
    say(f"{done} of {kind} in {seconds:.1f} s, 100 orders in {took:.2f} s")
    assert 1 <= done <= 2 * PER_SECOND * (seconds + 2)
    kiosk.verify()


@pytest.mark.parametrize("kind", ["presses", "garbage", "ids"])
def test_as_many_messages_as_the_socket_takes(
    broker, kiosk: Kiosk, say: Say, kind: str
) -> None:
    """The broker receives more than it can forward, and drops messages of any sender. A panel that
    repeats its order still receives an answer."""
    panels = Client(broker.port, f"{BASE}/order/+/result")
    started = time.monotonic()
    presses = answers = 0
    with flood(broker, kind, count=MESSAGES) as sender:
        while sender.poll() is None:
            answers += 1
            presses += insist(panels, answers)
    rate = MESSAGES / (time.monotonic() - started)
    # The flood has ended without lasting effect.
    insist(panels, 0)
    # The kiosk has read what the broker had stored meanwhile.
    seconds = time.monotonic() - started
    panels.close()
    told = panels.messages.count(lambda m: m.topic == f"{BASE}/order/flood/result")
    made = [entry for entry in kiosk.ledger() if entry.get("source") == "order/flood"]
    say(
        f"{MESSAGES} messages, {rate:.0f}/s, {len(made)} made, {told} "
        f"answers; {answers} others answered, after {presses} presses; peak {kiosk.memory('VmHWM'):.0f} MB"
    )
    assert told <= (PER_SECOND + REFUSALS) * (seconds + 2)
    assert len(made) <= PER_SECOND * (seconds + 2)
    assert kiosk.memory("VmHWM") < MEMORY
    # Each reason once a minute.
    assert 1 <= len(refusals(kiosk)) <= 2 * (1 + seconds // 60)
    kiosk.verify()
    wait_for_truth(kiosk, broker)


def test_ten_thousand_panels_with_one_press_each(broker, kiosk: Kiosk, say: Say) -> None:
    panels = Client(broker.port, f"{BASE}/events")
    started = time.monotonic()
    with flood(broker, "panels", count=10_000) as sender:
        panels.messages.until(lambda: len(panels.messages) >= 10_000)
        seconds = time.monotonic() - started
        assert sender.wait(TIMEOUT) == 0
    panels.close()
    made = [entry for entry in kiosk.ledger() if entry["status"] == "ready"]
    assert {entry["source"] for entry in made} == {f"order/flood{n}" for n in range(10_000)}
    assert len(made) == 10_000
    say(f"all made within {seconds:.1f} s; peak {kiosk.memory('VmHWM'):.0f} MB")
    assert kiosk.memory("VmHWM") < MEMORY
    assert refusals(kiosk) == []
    wait_for_truth(kiosk, broker)


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_large_packets_cost_no_memory(
    make_broker: MakeBroker, make_kiosk: MakeKiosk, say: Say, version: str
) -> None:
    """On MQTT 5 the kiosk announces its maximum packet size; this broker accepts any size."""
    limit = "max_packet_size 268435455" if version == "5" else ""
    broker = make_broker(settings=limit)
    kiosk = make_kiosk(broker, broker={"protocol": version}, stock=STOCK).start()
    panels = Client(broker.port, f"{BASE}/order/+/result")
    try:
        sent = []
        for number in range(3000):
            properties = Properties(PacketTypes.PUBLISH)
            # Every second packet exceeds the maximum packet size.
            properties.UserProperty = ("x", "y" * (65_000 if number % 2 else 60_000))
            sent.append(
                panels.client.publish(f"{BASE}/order/p", b"kiwi", 1, properties=properties)
            )
        for message in sent:
            message.wait_for_publish(30)
        assert panels.order("kiwi", panel="other")["status"] == "ready"
        large = Client(broker.port, protocol="3.1.1")
        large.client.publish(f"{BASE}/order/p", bytes(200_000_000), 1).wait_for_publish(30)
        large.close()
        assert panels.order("kiwi", panel="other")["status"] == "ready"
        say(f"peak {kiosk.memory('VmHWM'):.0f} MB")
        assert kiosk.memory("VmHWM") < MEMORY
    finally:
        panels.close()
