"""Every failure of the broker and the network, with a kiosk under load."""

import random
import signal
import time

import paho.mqtt.client as mqtt
import pytest

from arrivals import eventually
from client import paho
from conftest import MakeClient, MakeKiosk, MakeScene, Say
from kiosk import Kiosk
from proxy import PUBACK, Proxy
from scene import FAULTS, STOCK

CUTS = 2 * FAULTS
# The kiosk's keep-alive in seconds: it detects a silent broker within twice this time.
KEEP_ALIVE = 10


def behind(proxy: Proxy, make_kiosk: MakeKiosk, version: str = "5") -> Kiosk:
    """Returns a kiosk that connects through the proxy, unlike its panels."""
    return make_kiosk(broker={"port": proxy.port, "protocol": version}, stock=STOCK).start()


def test_a_broker_that_freezes_for_longer_than_the_keep_alive(
    broker, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    scene = make_scene(kiosk, broker)
    scene.work()
    since = len(kiosk.log)
    started = time.monotonic()
    broker.freeze()
    kiosk.wait_for_log("the broker sent nothing for the keep-alive time", since, 3 * KEEP_ALIVE)
    frozen = time.monotonic() - started
    broker.process.send_signal(signal.SIGCONT)
    kiosk.wait_for_log(" online", since)
    scene.work()
    say(f"frozen for {frozen:.0f} s, {scene.end()}")


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_connection_cut_in_mid_packet(
    broker, proxy: Proxy, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say, version: str,
    chance: random.Random,
) -> None:
    kiosk = behind(proxy, make_kiosk, version)
    scene = make_scene(kiosk, broker, version)
    for since in scene.repetitions(CUTS):
        cuts = proxy.cuts
        proxy.cut_after(chance.randrange(1, 20_000))
        eventually(lambda: proxy.cuts > cuts)
    say(f"{CUTS} cuts, {scene.end()}")


def test_one_reconnect_after_another(
    broker, proxy: Proxy, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say
) -> None:
    kiosk = behind(proxy, make_kiosk)
    scene = make_scene(kiosk, broker)
    for since in scene.repetitions(CUTS):
        proxy.cut()
        kiosk.wait_for_log(" online", since)
    say(f"{CUTS} reconnects, {scene.end()}")


def test_a_client_with_the_same_id_fights_for_the_session(
    broker, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say
) -> None:
    kiosk = make_kiosk(stock=STOCK).start()
    scene = make_scene(kiosk, broker)
    scene.work()
    since = len(kiosk.log)

    def told() -> list[str]:
        return [line for line in kiosk.log.since(since) if "the same client id" in line]

    takeovers = []
    rival = paho("juice-kiosk-k1", protocol=mqtt.MQTTv5)
    rival.reconnect_delay_set(1, 1)
    rival.on_disconnect = lambda *_: takeovers.append(time.monotonic())
    rival.connect("127.0.0.1", broker.port)
    rival.loop_start()
    try:
        # The kiosk takes its session back after increasing delays. If it was just writing, it
        # receives no reason.
        eventually(lambda: len(takeovers) >= 3 and len(told()) >= 1)
    finally:
        rival.disconnect()
        rival.loop_stop()
    # A client that takes over with a clean start discards the queued messages.
    for panel in scene.panels:
        panel.ask_again()
    scene.panels[0].wait_for_answers(10, within=90)
    say(f"{len(takeovers)} takeovers, {scene.end(broker_lost='presses')}")
    assert len(told()) <= len(takeovers) + 1


def test_a_proxy_that_swallows_confirmations_does_not_silence_the_kiosk(
    broker, proxy: Proxy, make_kiosk: MakeKiosk, make_client: MakeClient, say: Say
) -> None:
    kiosk = behind(proxy, make_kiosk)
    panel = make_client("kiosk/#")
    proxy.swallows = PUBACK
    since = len(kiosk.log)
    started = time.monotonic()
    assert panel.order({"id": "1", "juice": "banana"})["ticket"] == 1
    kiosk.wait_for_log("the broker does not acknowledge messages", since, 4 * KEEP_ALIVE)
    noticed = time.monotonic() - started
    kiosk.wait_for_log(" online", since)
    # The kiosk repeats unconfirmed answers, and publishes new ones.
    panel.messages.first(lambda m: m.topic.endswith("/result") and b"duplicate" in m.payload)
    assert panel.order({"id": "2", "juice": "banana"})["ticket"] == 2
    proxy.swallows = None
    since = len(kiosk.log)
    proxy.cut()
    kiosk.wait_for_log(" online", since)
    assert panel.order({"id": "3", "juice": "banana"})["ticket"] == 3
    say(f"noticed after {noticed:.0f} s")
