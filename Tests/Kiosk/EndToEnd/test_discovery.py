"""Home Assistant discovery messages; test_home_assistant.py tests what Home Assistant makes of
them."""

import json
import sqlite3

import pytest

from arrivals import eventually
from client import Client, retained, soon
from conftest import MakeClient, MakeKiosk
from kiosk import FRUITS, RECIPES, Kiosk
from mosquitto import Mosquitto

KIWIS_ONLY = {
    "fruits": {"kiwi": "Kiwi"}, "juices": {"kiwi": {"en": "Kiwi juice", "recipe": {"kiwi": 3}}}
}


def discovery(broker: Mosquitto) -> dict[str, dict]:
    return {
        topic: json.loads(text) for topic, text in retained(broker.port, "homeassistant").items()
    }


def restart(kiosk: Kiosk, **settings: dict) -> None:
    kiosk.stop()
    kiosk.configure(None, settings)
    kiosk.start()


def settings(broker: Mosquitto, form: str, **others: dict) -> dict[str, dict]:
    return {
        "broker": {"port": broker.port}, "home_assistant": {"enabled": True, "form": form}
    } | others


def test_a_message_for_each_entity(broker: Mosquitto, make_kiosk: MakeKiosk) -> None:
    def topics(fruits: list[str], juices: list[str]) -> set[str]:
        entities = {"button/refill", "switch/service", "event/order"}
        for fruit in fruits:
            entities |= {f"sensor/stock_{fruit}", f"number/set_{fruit}"}
            entities.add(f"binary_sensor/alert_{fruit}")
        for juice in juices:
            entities |= {f"button/order_{juice}", f"sensor/servings_{juice}"}
        return {f"homeassistant/{entity.replace('/', '/kiosk_k1/')}/config" for entity in entities}

    def announced() -> set[str]:
        return {topic for topic in discovery(broker) if "/diagnostic_" not in topic}

    kiosk = make_kiosk(**settings(broker, "components")).start()
    eventually(lambda: announced() == topics(FRUITS, list(RECIPES)))
    restart(kiosk, **settings(broker, "components", menu=KIWIS_ONLY))
    eventually(lambda: announced() == topics(["kiwi"], ["kiwi"]))
    restart(kiosk, **settings(broker, "device"))
    eventually(lambda: set(discovery(broker)) == {"homeassistant/device/kiosk_k1/config"})
    restart(kiosk, broker={"port": broker.port})
    eventually(lambda: discovery(broker) == {})


def test_a_message_for_the_device(broker: Mosquitto, make_kiosk: MakeKiosk) -> None:
    def components() -> dict[str, dict]:
        messages = list(discovery(broker).values())
        return messages[0]["components"] if messages else {}

    kiosk = make_kiosk(**settings(broker, "device")).start()
    everything = eventually(components)
    # A removed component is announced with its platform alone for an hour, and then no longer.
    fewer = settings(broker, "device", menu=KIWIS_ONLY)
    restart(kiosk, **fewer)
    eventually(lambda: components()["set_mango"] == {"platform": "number"})
    assert components().keys() == everything.keys()
    assert components()["set_kiwi"] == everything["set_kiwi"]
    restart(kiosk, **fewer)
    assert components()["set_mango"] == {"platform": "number"}
    kiosk.stop()
    # After the hour the ledger does not list its topics any more.
    ledger = sqlite3.connect(kiosk.folder / "ledger.sqlite")
    with ledger:
        assert ledger.execute("DELETE FROM topic WHERE topic LIKE '%mango%'").rowcount > 0
    ledger.close()
    kiosk.start()
    eventually(lambda: "set_mango" not in components())


@pytest.mark.parametrize("form", ["components", "device"])
def test_the_first_date_adds_its_entities(
    broker: Mosquitto, make_kiosk: MakeKiosk, panel: Client, form: str
) -> None:
    def has_dates() -> bool:
        texts = retained(broker.port, "homeassistant").values()
        return any('"kiosk_k1_expired"' in text for text in texts)

    kiosk = make_kiosk(**settings(broker, form)).start()
    eventually(lambda: discovery(broker))
    assert not has_dates()
    panel.restock({"id": "r", "add": {"kiwi": 1}, "best_before": {"kiwi": soon(3600)}})
    eventually(has_dates)
    panel.restock({"id": "s", "set": {"kiwi": 0}})
    kiosk.stop()
    kiosk.start()
    eventually(lambda: not has_dates())


def test_a_birth_is_answered_with_everything(
    broker: Mosquitto, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    make_kiosk(**settings(broker, "components")).start()
    home = make_client("kiosk/k1/#", "homeassistant/#")
    home.messages.first(lambda message: message.topic == "kiosk/k1/status")
    kept = retained(broker.port) | retained(broker.port, "homeassistant")
    assert "homeassistant/switch/kiosk_k1/service/config" in kept
    since = len(home.messages)
    home.publish("homeassistant/status", "online")

    def again() -> dict[str, str]:
        return {message.topic: message.text for message in home.messages.since(since)}

    home.messages.until(lambda: kept.keys() <= again().keys())
    assert json.loads(again()["kiosk/k1/health"])["dropped"] == 0
    changing = {f"kiosk/k1/{name}" for name in ("stock", "health", "sales", "forecast")}
    assert all(again()[topic] == text for topic, text in kept.items() if topic not in changing)
