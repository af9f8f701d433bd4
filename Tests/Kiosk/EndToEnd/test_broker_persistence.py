"""Messages that mosquitto has acknowledged, and whether they survive its kill -9 or a broken file."""

import random
import subprocess
import threading
from pathlib import Path
from typing import Callable

import paho.mqtt.client as mqtt
import pytest

from arrivals import TIMEOUT, eventually
from client import BASE, Client, paho, retained
from conftest import MakeBroker, MakeKiosk
from kiosk import ROOT
from mosquitto import Mosquitto

# Messages in flight at most, and of which number the broker is killed.
IN_FLIGHT, LONGEST = 20, 3000
KILLS = 10
PLUGIN = next(Path("/usr/lib").glob("*/mosquitto/mosquitto_persist_sqlite.so"), None)
# As in deploy/docs/brokers.md.
SQLITE = """
plugin {plugin}
plugin_opt_db_file {folder}/mosquitto.sqlite3
plugin_opt_flush_period 0
plugin_opt_sync full
"""


def connect(broker: Mosquitto, name: str, **callbacks: Callable) -> mqtt.Client:
    """Connects with a session that lasts."""
    client = paho(name, protocol=mqtt.MQTTv311, clean_session=False)
    for callback, function in callbacks.items():
        setattr(client, callback, function)
    online = threading.Event()
    client.on_connect = lambda *_: online.set()
    client.max_inflight_messages_set(IN_FLIGHT)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    assert online.wait(TIMEOUT), "no connection to the broker"
    return client


def subscribe(broker: Mosquitto, **callbacks: Callable) -> mqtt.Client:
    subscribed = threading.Event()
    reader = connect(broker, "reader", on_subscribe=lambda *_: subscribed.set(), **callbacks)
    reader.subscribe("order", 1)
    assert subscribed.wait(TIMEOUT)
    return reader


def disconnect(client: mqtt.Client) -> None:
    client.disconnect()
    client.loop_stop()


def lost_by_a_kill(broker: Mosquitto, count: int) -> int:
    """Kills the broker when it has acknowledged `count` messages for a disconnected session. Returns
    how many of all acknowledged ones the session lacks then."""
    disconnect(subscribe(broker))

    numbers: dict[int, int] = {}
    acknowledged: set[int] = set()
    is_enough = threading.Event()

    def confirmed(client: mqtt.Client, data: object, packet_id: int) -> None:
        acknowledged.add(packet_id)
        if len(acknowledged) >= count:
            is_enough.set()

    panel = connect(broker, "panel", on_publish=confirmed)
    for number in range(count + 10 * IN_FLIGHT):
        numbers[panel.publish("order", f"{number}", 1).mid] = number
    assert is_enough.wait(TIMEOUT), f"only {len(acknowledged)} of {count} are acknowledged"
    broker.kill()
    disconnect(panel)
    wanted = {numbers[each] for each in acknowledged}

    broker.start()
    received: set[int] = set()
    over = threading.Event()

    def arrived(client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
        over.set() if message.payload == b"end" else received.add(int(message.payload))

    reader = subscribe(broker, on_message=arrived)
    panel = connect(broker, "panel2")
    panel.publish("order", "end", 1).wait_for_publish(TIMEOUT)
    eventually(over.is_set)
    disconnect(reader)
    disconnect(panel)
    return len(wanted - received)


@pytest.mark.skipif(PLUGIN is None, reason="mosquitto 2.1 has the plugin")
def test_the_sqlite_plugin_loses_no_more_than_what_is_in_flight(
    make_broker: MakeBroker, tmp_path: Path, chance: random.Random
) -> None:
    """With the settings of deploy/docs/brokers.md. Its defaults commit every few seconds."""
    folder = tmp_path / "sqlite"
    folder.mkdir()
    broker = make_broker(persistence=False, settings=SQLITE.format(plugin=PLUGIN, folder=folder))
    for _ in range(KILLS):
        # Mostly 0; it acknowledges before it commits.
        assert lost_by_a_kill(broker, chance.randrange(1, LONGEST)) <= IN_FLIGHT


def test_without_it_mosquitto_loses_what_it_has_not_saved(make_broker: MakeBroker) -> None:
    broker = make_broker(settings="autosave_interval 1800")
    assert lost_by_a_kill(broker, 100) >= 100


def half(content: bytes) -> bytes:
    return content[:len(content) // 2]


def nothing(content: bytes) -> bytes:
    return b""


def nul(content: bytes) -> bytes:
    return bytes(len(content))


def header_only(content: bytes) -> bytes:
    return content[:10]


def intact(content: bytes) -> bytes:
    return content


def of_a_later_version(content: bytes) -> bytes:
    return content[:22] + b"\x63" + content[23:]


@pytest.mark.parametrize("damage", [intact, half, nothing, nul, header_only, of_a_later_version])
def test_the_kiosk_sells_again_after_a_broken_file(
    damage: Callable[[bytes], bytes], broker: Mosquitto, make_kiosk: MakeKiosk, panel: Client
) -> None:
    """A power cut of the computer, then what the unit of mosquitto does before its start."""
    kiosk = make_kiosk(orders={"max_age_seconds": 600}).start()
    assert panel.order("kiwi")["status"] == "ready"
    kiosk.kill()
    panel.publish("kiosk/k1/order/panel2", '{"id":"queued","juice":"kiwi"}')
    broker.stop()
    database = broker.folder / "mosquitto.db"
    database.write_bytes(damage(database.read_bytes()))
    damaged = database.read_bytes()
    # Of a run that was killed.
    (broker.folder / "check-database.Abc123/with").mkdir(parents=True)

    checked = subprocess.run(
        [ROOT / "deploy/mosquitto/check-database", broker.folder / "mosquitto.conf"],
        capture_output=True, text=True, timeout=TIMEOUT, check=True)
    broken = database.with_name("mosquitto.db.broken")
    if damage in (intact, nothing):
        assert (checked.stdout, database.read_bytes()) == ("", damaged)
        assert not broken.exists()
    else:
        assert "cannot be read (Error: " in checked.stdout and "are lost" in checked.stdout
        assert broken.read_bytes() == damaged
    assert not list(broker.folder.glob("check-database*"))

    broker.start()
    kiosk.start()
    # What is lost is the order that waited; the kiosk publishes its retained messages again.
    stock = "4" if damage is intact else "7"
    eventually(lambda: retained(broker.port).get(f"{BASE}/stock/kiwi") == stock)
    customer = Client(broker.port, "kiosk/#")
    assert customer.order("kiwi")["status"] == "ready"
    customer.close()


def test_a_database_is_left_alone_if_mosquitto_does_not_start_without_it(tmp_path: Path) -> None:
    database = tmp_path / "mosquitto.db"
    database.write_bytes(bytes(100))
    (tmp_path / "mosquitto.conf").write_text(f"persistence_location {tmp_path}/\nuser no-such-user\n")
    checked = subprocess.run(
        [ROOT / "deploy/mosquitto/check-database", tmp_path / "mosquitto.conf"],
        capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert "is unknown: mosquitto does not start without it either" in checked.stderr
    assert database.exists() and not list(tmp_path.glob("*.broken"))
