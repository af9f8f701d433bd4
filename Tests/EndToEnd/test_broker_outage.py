"""A broker that goes away and comes back, with and without its memory."""

import signal
import socket

import pytest

from client import BASE, Client
from conftest import MakeBroker, MakeClient, MakeKiosk
from displays import wait_for_truth
from load import BusyPanel, assert_nothing_lost_and_nothing_twice


@pytest.mark.parametrize("version", ["5", "3.1.1"])
@pytest.mark.parametrize("persistence", [True, False], ids=["persistent", "forgetful"])
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_the_kiosk_comes_back_and_nothing_is_made_twice(
    make_broker: MakeBroker, make_kiosk: MakeKiosk, sign: int, persistence: bool, version: str
) -> None:
    broker = make_broker(persistence=persistence)
    plenty = {"initial": 100_000, "capacity": 100_000}
    kiosk = make_kiosk(broker, broker={"protocol": version}, stock=plenty).start()
    panel = BusyPanel(broker.port, "p1", has_ids=True, protocol=version)
    try:
        panel.wait_for_answers(50)
        since = len(kiosk.log)
        broker.stop(sign)
        broker.start()
        kiosk.wait_for_log(" online", since)
        panel.wait_until_subscribed()
        # What a broker forgets nobody answers: with an id, the panel may send it again.
        panel.insist()
        another = Client(broker.port, "kiosk/#", protocol=version)
        assert another.order("banana", panel="p2")["status"] == "ready"
        another.close()
    finally:
        panel.close()
    assert_nothing_lost_and_nothing_twice(kiosk, [panel], plenty["initial"])
    wait_for_truth(kiosk, broker)


def test_an_outage_is_told_once_not_per_attempt(
    broker, kiosk, make_client: MakeClient
) -> None:
    since = len(kiosk.log)
    broker.stop()
    # Something that is no broker takes its place, and counts the attempts.
    with socket.create_server(("127.0.0.1", broker.port)) as server:
        server.settimeout(20)
        for _ in range(3):
            server.accept()[0].close()
    broker.start()
    kiosk.wait_for_log(" online", since, within=30)
    told = kiosk.log.since(since)[:-1]
    assert 1 <= len(told) <= 2, told
    assert "broker" in told[0]
    panel = make_client("kiosk/#")
    assert panel.order("banana")["status"] == "ready"
    assert len(kiosk.log.since(since)) == len(told) + 2
    panel.messages.first(lambda m: m.topic == f"{BASE}/status" and m.text == "online")
    wait_for_truth(kiosk, broker)


def test_a_kiosk_may_start_before_its_broker(
    make_broker: MakeBroker, make_kiosk: MakeKiosk
) -> None:
    broker = make_broker()
    broker.stop()
    kiosk = make_kiosk(broker)
    kiosk.launch()
    kiosk.wait_for_log("cannot be reached")
    broker.start()
    kiosk.wait_for_log(" online", within=30)
    wait_for_truth(kiosk, broker)
