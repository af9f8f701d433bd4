"""SIGHUP applies a new configuration to the running kiosk."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from arrivals import eventually
from client import Client, retained
from conftest import MakeBroker, MakeClient, MakeKiosk, MakeScene, Say
from kiosk import Kiosk
from mosquitto import Mosquitto
from scene import STOCK
from service_manager import Manager

TAKEN = "the new configuration is taken"
REFUSED = "the new configuration is not taken: "
BUTTON = {"name": "hall", "device": "generic", "topic": "new/button", "buttons": {"press": "kiwi"}}
MENU = {
    "base": "standard",
    "fruits": {"orange": {"en": "Orange"}},
    "juices": {"orange": {"en": "Orange juice", "recipe": {"orange": 3}}},
}


def write(kiosk: Kiosk, /, **changes: Any) -> None:
    """Changes sections of the current file."""
    configuration = json.loads(kiosk.config.read_text())
    for section, values in changes.items():
        is_menu = section == "menu"
        if isinstance(values, dict) and not is_menu:
            values = configuration.get(section, {}) | values
        configuration[section] = values
    # Replaced as one step, because a kiosk that starts may be reading it.
    draft = kiosk.config.with_suffix(".draft")
    draft.write_text(json.dumps(configuration, indent=2))
    draft.replace(kiosk.config)


def reload(kiosk: Kiosk, text: str = TAKEN) -> str:
    """Reloads. Returns the log line with the result."""
    since = len(kiosk.log)
    kiosk.process.send_signal(signal.SIGHUP)
    kiosk.wait_for_log("configuration", since)
    lines = [line for line in kiosk.log.since(since) if "configuration" in line]
    assert len(lines) == 1 and text in lines[0], lines
    return lines[0]


def was_away(kiosk: Kiosk) -> bool:
    return kiosk.log.count(lambda line: line.endswith(" online")) > 1


def test_a_new_juice_is_sold_without_a_pause(
    broker: Mosquitto, kiosk: Kiosk, panel: Client
) -> None:
    assert panel.order("orange")["reason"] == "unknown_juice"
    write(kiosk, menu=MENU, orders={"max_quantity": 2}, stock={"initial": 20})
    reload(kiosk)
    assert panel.order("orange")["status"] == "out_of_stock"
    panel.restock({"id": "r1", "add": {"orange": 20}})
    assert panel.order("orange")["used"] == {"orange": 3}
    panel.messages.first(lambda m: m.topic == "kiosk/k1/stock/orange" and m.text == "17")
    order = {"id": "a", "juice": "kiwi", "quantity": 3}
    assert panel.order(order)["reason"] == "quantity_out_of_range"
    shown = retained(broker.port)
    # Fruits that are not new keep their stock.
    assert shown["kiosk/k1/stock/kiwi"] == "10"
    assert "Orange juice" in shown["kiosk/k1/menu"]
    # And back: the oranges remain in the ledger.
    write(kiosk, menu={})
    reload(kiosk)
    eventually(lambda: "kiosk/k1/stock/orange" not in retained(broker.port))
    assert kiosk.stock()["orange"] == 17
    statuses = {m.text for m in panel.messages if m.topic == "kiosk/k1/status"}
    assert statuses == {"online"} and not was_away(kiosk)
    kiosk.verify()


def test_panels_and_displays_come_and_go(
    broker: Mosquitto, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk()
    write(kiosk, panels=[BUTTON | {"name": "old", "topic": "old/button"}])
    kiosk.start()
    person = make_client("kiosk/k1/order/+/result", "screen")
    display = {"topic": "screen", "text": "Kiwi {stock.kiwi}"}
    write(kiosk, panels=[BUTTON], displays=[display], home_assistant={"enabled": True})
    reload(kiosk)
    person.messages.first(lambda m: m.topic == "screen" and m.text == "Kiwi 10")
    person.publish("old/button", "press")
    person.publish("new/button", "press")
    first = person.messages.first(lambda m: m.topic.endswith("/result"))
    assert (first.topic, first.json["seq"]) == ("kiosk/k1/order/hall/result", 2)
    person.messages.first(lambda m: m.topic == "screen" and m.text == "Kiwi 7")
    eventually(lambda: retained(broker.port, "homeassistant"))
    write(kiosk, panels=[], home_assistant={"enabled": False})
    reload(kiosk)
    person.publish("new/button", "press")
    assert person.order("banana")["seq"] == 3
    eventually(lambda: not retained(broker.port, "homeassistant"))
    assert not was_away(kiosk)


def test_a_restart_with_other_panels_counts_a_press_once(
    make_broker: MakeBroker, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    """The resumed session has the filter of the process before, and the broker sends a copy for each filter."""
    broker = make_broker(settings="allow_duplicate_messages true")
    kiosk = make_kiosk(broker, panels=[BUTTON | {"topic": "new/#"}]).start()
    panel = make_client("kiosk/#", port=broker.port)
    kiosk.stop(signal.SIGKILL)
    write(kiosk, panels=[BUTTON])
    kiosk.start()
    panel.publish("new/button", "press")
    assert panel.order("banana")["seq"] == 3
    assert kiosk.stock()["kiwi"] == 7


def test_a_broken_file_changes_nothing_and_says_why(kiosk: Kiosk, panel: Client) -> None:
    good = kiosk.config.read_text()
    kiosk.config.write_text("orders: {max_quantity: 1}\nmenu:\n  juces: {}\n  base: no\n")
    checked = kiosk.command("check")
    first, *others = checked.stderr.removeprefix("juice-kiosk: ").splitlines()
    assert checked.returncode == 78 and first.startswith(f"{kiosk.config}:3:3: menu.juces: ")
    expected = f"{REFUSED}{first} ({len(others)} more: juice-kiosk check lists all)"
    assert reload(kiosk, REFUSED).endswith(expected)
    kiosk.config.write_text("kiosk: {language: fr}")
    assert reload(kiosk, REFUSED).endswith("must be en or ko, not 'fr'")
    kiosk.config.write_text("broker: [")
    assert "this is not YAML" in reload(kiosk, REFUSED)
    kiosk.config.unlink()
    assert "there is no such file" in reload(kiosk, REFUSED)
    order = {"id": "a", "juice": "banana", "quantity": 2}
    assert panel.order(order)["status"] == "ready"
    kiosk.config.write_text(good)
    reload(kiosk)
    assert not was_away(kiosk)


def test_what_needs_a_restart_is_named_and_nothing_is_taken(
    kiosk: Kiosk, panel: Client
) -> None:
    good = kiosk.config.read_text()
    write(
        kiosk, kiosk={"root": "shop", "time_zone": "Asia/Seoul"}, broker={"port": 1},
        ledger={"path": "other.sqlite"}, orders={"max_quantity": 1},
    )
    named = "a change of kiosk.root, kiosk.time_zone, broker.port, ledger.path needs a restart"
    assert named in reload(kiosk, REFUSED)
    assert panel.order({"id": "a", "juice": "banana", "quantity": 2})["status"] == "ready"
    # The comparison is with the running configuration, not with the rejected one.
    kiosk.config.write_text(good)
    write(kiosk, orders={"max_quantity": 1})
    reload(kiosk)
    assert panel.order({"id": "b", "juice": "banana", "quantity": 2})["status"] == "rejected"


def test_while_the_broker_is_away(
    broker: Mosquitto, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk()
    person = make_client("kiosk/k1/order/+/result")
    broker.stop()
    kiosk.launch()
    kiosk.wait_for_log("cannot be reached")
    write(kiosk, panels=[BUTTON])
    reload(kiosk)
    broker.start()
    kiosk.wait_for_log(" online")
    person.wait_until_subscribed()
    person.publish("new/button", "press")
    person.messages.first(lambda m: m.json["status"] == "ready")
    assert kiosk.stop() == 0


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_under_load_nothing_is_lost_and_nothing_twice(
    broker: Mosquitto, make_kiosk: MakeKiosk, make_scene: MakeScene, say: Say, version: str
) -> None:
    kiosk = make_kiosk(stock=STOCK, broker={"protocol": version}).start()
    scene = make_scene(kiosk, broker, version)
    files = [
        {"menu": MENU, "panels": [BUTTON], "displays": [{"topic": "s", "text": "{stock.orange}"}]},
        {"menu": {}, "panels": [BUTTON | {"topic": "new/+"}], "displays": []},
        {"menu": {}, "panels": []},
    ]
    for number in range(30):
        scene.work(3)
        write(kiosk, **files[number % 3])
        reload(kiosk)
        good = kiosk.config.read_text()
        kiosk.config.write_text("kiosk: {name: k1}")
        reload(kiosk, REFUSED)
        kiosk.config.write_text(good)
    say(f"60 reloads, {scene.end()}")
    assert not was_away(kiosk)


def test_the_service_manager_is_told(
    broker: Mosquitto, make_kiosk: MakeKiosk, tmp_path: Path
) -> None:
    manager = Manager(str(tmp_path / "notify"))
    kiosk = make_kiosk().start(**manager.variables)
    manager.wait_for("READY=1")
    before = 0
    for text in [TAKEN, REFUSED]:
        since = len(manager.heard)
        reload(kiosk, text)
        manager.wait_for("READY=1", since)
        lines = [line for line in manager.heard.since(since) if not line.startswith("WATCHDOG")]
        names, values = zip(*(line.split("=", 1) for line in lines))
        assert names == ("RELOADING", "MONOTONIC_USEC", "READY")
        assert int(values[1]) > before
        before = int(values[1])
        kiosk.config.write_text("kiosk: {name: k1}")


def test_a_kiosk_that_starts_still_does_not_say_that_it_is_ready(
    broker: Mosquitto, make_kiosk: MakeKiosk, tmp_path: Path
) -> None:
    manager = Manager(str(tmp_path / "notify"))
    kiosk = make_kiosk()
    broker.stop()
    kiosk.launch(**manager.variables)
    kiosk.wait_for_log("cannot be reached")
    reload(kiosk)
    assert kiosk.stop() == 0
    assert manager.heard.count(lambda line: line in ("READY=1", "RELOADING=1")) == 0
