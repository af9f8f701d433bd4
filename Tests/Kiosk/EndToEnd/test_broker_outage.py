"""A broker that stops and restarts, with and without its stored state."""

import signal
import socket

import pytest

from client import BASE
from conftest import MakeBroker, MakeClient, MakeKiosk, MakeScene, Say
from displays import wait_for_truth
from scene import FAULTS, STOCK


# What the broker keeps depends on how it ends, not on the protocol: 3.1.1 with the most that it loses.
@pytest.mark.parametrize(
    ("sign", "persistence", "version"),
    [
        pytest.param(signal.SIGTERM, True, "5", id="stopped-persistent-5"),
        pytest.param(signal.SIGTERM, False, "5", id="stopped-forgetful-5"),
        pytest.param(signal.SIGKILL, True, "5", id="killed-persistent-5"),
        pytest.param(signal.SIGKILL, False, "5", id="killed-forgetful-5"),
        pytest.param(signal.SIGKILL, False, "3.1.1", id="killed-forgetful-3.1.1"),
    ],
)
def test_the_kiosk_comes_back_and_nothing_is_made_twice(
    make_broker: MakeBroker, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say, sign: int,
    persistence: bool, version: str,
) -> None:
    broker = make_broker(persistence=persistence, counts=True)
    kiosk = make_kiosk(broker, broker={"protocol": version}, stock=STOCK).start()
    scene = make_scene(kiosk, broker, version)
    for since in scene.repetitions(FAULTS):
        broker.stop(sign)
        broker.start()
        kiosk.wait_for_log(" online", since)
        # Orders that the broker loses are not answered; a panel with ids sends them again.
        for panel in scene.panels:
            panel.ask_again()
    # mosquitto saves queued messages when it stops, and every half hour.
    is_saved = persistence and sign == signal.SIGTERM
    say(f"{FAULTS} ends, {scene.end(broker_lost='answers' if is_saved else 'presses')}")


def test_an_outage_is_told_once_for_each_reason_not_per_attempt(
    broker, kiosk, make_client: MakeClient
) -> None:
    since = len(kiosk.log)
    broker.stop()
    # A server that is not a broker replaces it, and counts the connections.
    with socket.create_server(("127.0.0.1", broker.port)) as server:
        server.settimeout(20)
        for _ in range(3):
            server.accept()[0].close()
    broker.start()
    kiosk.wait_for_log(" online", since)
    # An attempt before the server listens has a reason of its own: each reason is told once.
    told = [line.split(" ", 1)[1] for line in kiosk.log.since(since)[:-1]]
    assert "broker" in told[0]
    assert len(set(told)) == len(told), told
    panel = make_client("kiosk/#")
    assert panel.order("banana")["status"] == "ready"
    kiosk.wait_for_log("banana ready", since)
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
    kiosk.wait_for_log(" online")
    wait_for_truth(kiosk, broker)
