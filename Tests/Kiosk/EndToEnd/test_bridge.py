"""Tests deploy/mosquitto/bridge.conf, with a mosquitto in the shop and one at head office."""

import re

import pytest

from client import BASE, Client, retained
from conftest import MakeBroker, MakeKiosk
from kiosk import ROOT, Kiosk
from mosquitto import Mosquitto

SHIPPED = ROOT / "deploy/mosquitto/bridge.conf"
PASSES = ["stock", "stock/kiwi", "juice/kiwi", "menu", "alert/kiwi", "service", "status", "info",
          "health", "sales", "forecast", "history", "machine/bar"]


def bridge(centre: Mosquitto) -> str:
    """Returns the shipped configuration, but for a broker without TLS on this machine."""
    text = SHIPPED.read_text()
    text = re.sub("^bridge_cafile.*$", "", text, flags=re.M)
    return text.replace("broker.example.com:8883", f"127.0.0.1:{centre.port}")


@pytest.fixture
def centre(make_broker: MakeBroker) -> Mosquitto:
    return make_broker(users={"shop1": "change-this", "office": "secret"})


@pytest.fixture
def shop(centre: Mosquitto, make_broker: MakeBroker) -> Mosquitto:
    return make_broker(settings=bridge(centre))


@pytest.fixture
def kiosk(shop: Mosquitto, make_kiosk: MakeKiosk) -> Kiosk:
    return make_kiosk(shop, machines=[{"name": "bar", "juices": ["mango"]}]).start()


def office(centre: Mosquitto) -> Client:
    return Client(centre.port, "kiosk/#", login=("office", "secret"))


def test_the_whole_state_passes() -> None:
    acl = (ROOT / "deploy/mosquitto/acl").read_text()
    roles = "".join(re.findall(r"^\[(?:display|dashboard|monitor)\]$[^\[]*", acl, re.M))
    state = {topic for topic in re.findall("^topic read %b/(.*)$", roles, re.M)
             if "%u" not in topic and not topic.endswith("/result")}
    out = set(re.findall(r"^topic kiosk/k1/(\S+) out 1$", SHIPPED.read_text(), re.M))
    assert {topic for topic in out if not topic.endswith("/result")} == state


def test_head_office_sees_the_shop_and_restocks_it(centre: Mosquitto, kiosk: Kiosk) -> None:
    desk = office(centre)
    try:
        for topic in PASSES:
            desk.messages.first(lambda m: m.topic == f"{BASE}/{topic}")
        desk.messages.first(lambda m: (m.topic, m.text) == (f"{BASE}/bridge", "1"))
        assert desk.ask("restock/head-office", '{"add":{"kiwi":5}}').json["status"] == "applied"
        desk.messages.first(lambda m: (m.topic, m.text) == (f"{BASE}/stock/kiwi", "15"))
        assert desk.ask("service/head-office", "closed").json["status"] == "applied"
        decided = desk.ask("job/head-office", '{"job":7,"decision":"poured"}').json
        assert decided["reason"] == "no_decision_needed"
    finally:
        desk.close()


def test_nothing_else_crosses(centre: Mosquitto, shop: Mosquitto, kiosk: Kiosk) -> None:
    desk, panel = office(centre), Client(shop.port, "kiosk/#")
    try:
        desk.publish(f"{BASE}/order/panel1", "kiwi")
        desk.publish(f"{BASE}/restock/somebody", '{"add":{"kiwi":5}}')
        desk.publish(f"{BASE}/stock/kiwi", "999")
        # The bridge preserves the order: after this answer, an earlier message has arrived or never
        # will.
        desk.ask("restock/head-office", '{"add":{"mango":1}}')
        assert panel.order("banana", "panel1")["status"] == "ready"
        assert [entry["status"] for entry in kiosk.ledger()[1:]] == ["restocked", "ready"]
        desk.messages.first(lambda m: (m.topic, m.text) == (f"{BASE}/stock/banana", "8"))
        heard = {message.topic for message in desk.messages}
        assert not heard & {f"{BASE}/order/panel1/result"}
        assert retained(shop.port)[f"{BASE}/stock/kiwi"] == "10"
    finally:
        desk.close()
        panel.close()


def test_what_happens_while_the_line_is_away_arrives_later(
    centre: Mosquitto, shop: Mosquitto, kiosk: Kiosk
) -> None:
    desk = office(centre)
    desk.messages.first(lambda m: m.topic == f"{BASE}/stock")
    desk.close()
    centre.stop()
    panel = Client(shop.port, "kiosk/#")
    try:
        for _ in range(3):
            assert panel.order("banana")["status"] == "ready"
    finally:
        panel.close()
    desk = None
    try:
        centre.start()
        desk = office(centre)
        made = lambda: [
            m.json["seq"] for m in desk.messages
            if m.topic == f"{BASE}/events" and m.json["status"] == "ready"
        ]
        desk.messages.until(lambda: len(set(made())) == 3)
    finally:
        if desk:
            desk.close()


def test_a_retained_restock_is_never_applied(centre: Mosquitto, kiosk: Kiosk) -> None:
    """A bridge forwards retained messages on each connect, without the RETAIN flag."""
    desk = office(centre)
    refused = lambda: desk.messages.count(
        lambda m: m.topic == f"{BASE}/restock/head-office/result" and m.json["reason"] == "retained"
    )
    try:
        desk.messages.first(lambda m: (m.topic, m.text) == (f"{BASE}/bridge", "1"))
        desk.publish(f"{BASE}/restock/head-office", '{"add":{"kiwi":5}}', retain=True)
        desk.messages.until(lambda: refused() == 1)
        for times in (2, 3):
            centre.stop()
            centre.start()
            desk.wait_until_subscribed()
            desk.messages.until(lambda: refused() >= times)
        assert [entry["status"] for entry in kiosk.ledger()[1:]] == ["rejected"] * refused()
        assert kiosk.stock()["kiwi"] == 10
    finally:
        desk.close()
