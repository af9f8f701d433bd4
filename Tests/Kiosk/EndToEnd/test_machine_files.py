"""Tests the files of config/machines without their devices: the four rules, and a juice of a real
kiosk.

esphome.py compiles the code of esphome.yaml; tasmota.py interprets the rules of tasmota.txt.
Neither has run on a device, as deploy/docs/machines.md states.
"""

import json
import threading
from pathlib import Path
from typing import Iterator

import pytest

import esphome
from arrivals import TIMEOUT, Arrivals
from client import BASE, paho
from conftest import MakeClient, MakeKiosk
from esphome import ESPHome
from tasmota import Tasmota

Device = ESPHome | Tasmota


@pytest.fixture(params=["esphome", "tasmota"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Device]:
    device = ESPHome(tmp_path) if request.param == "esphome" else Tasmota()
    yield device
    device.close()


class Asking:
    """Sends a kiosk's messages to a device, and collects its answers."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def make(self, job: int, quantity: int = 1) -> list[str]:
        order = {"job": job, "ticket": 1, "juice": "kiwi", "quantity": quantity,
                 "recipe": {"kiwi": 3}}
        return self.answers(self.device.hear(self.device.topics[0], order), job)

    def cancel(self, job: int) -> list[str]:
        return self.answers(self.device.hear(self.device.topics[1], {"job": job}), job)

    def finish(self, job: int) -> list[str]:
        return self.answers(self.device.finish(), job)

    def answers(self, published: list[tuple[str, str, bool]], job: int) -> list[str]:
        answers = [json.loads(payload) for _, payload, _ in published]
        assert {topic for topic, _, _ in published} <= {f"{BASE}/made/{self.device.name}"}
        assert not any(retain for _, _, retain in published)
        assert all(answer["job"] == job for answer in answers)
        # A repeated answer adds no information.
        return list(dict.fromkeys(answer["status"] for answer in answers))


def test_the_four_rules(device: Device) -> None:
    kiosk = Asking(device)
    assert kiosk.make(5) == ["started"]
    assert kiosk.make(5) == kiosk.cancel(5) == ["started"]
    assert kiosk.finish(5) == ["done"]
    assert kiosk.make(5) == kiosk.cancel(5) == ["done"]
    assert kiosk.make(4) == kiosk.cancel(4) == ["unknown"]
    assert kiosk.cancel(7) == ["cancelled"]
    assert kiosk.make(7) == ["cancelled"]
    assert device.begun == 1
    assert kiosk.make(8) == ["started"]
    device.cut_power()
    assert kiosk.make(8) == kiosk.cancel(8) == ["unknown"]
    assert kiosk.make(7) == ["unknown"]
    assert device.begun == 2
    assert kiosk.make(12) == ["started"]
    assert kiosk.finish(12) == ["done"]


def test_a_cancellation_in_the_middle_of_another_job(device: Device) -> None:
    kiosk = Asking(device)
    assert kiosk.make(5) == ["started"]
    assert kiosk.cancel(9) == ["cancelled"]
    assert kiosk.finish(5) == ["done"]
    assert kiosk.make(9) == ["cancelled"]
    assert device.begun == 1


def test_the_number_is_in_flash_before_the_pumps_start(device: Device) -> None:
    kiosk = Asking(device)
    kiosk.make(16_777_215)
    assert int(device.poured[-1][0 if isinstance(device, ESPHome) else 1]) == 16_777_215


def test_it_pours_what_the_recipe_says(tmp_path: Path) -> None:
    device = ESPHome(tmp_path, milliseconds_a_piece="100, 200, 300, 400, 500")
    device.hear(device.topics[0], {"job": 1, "quantity": 1, "recipe": {"kiwi": 1, "mango": 2}})
    # Strawberry, banana, pineapple, kiwi, mango. Each pump has its own time.
    assert device.poured == [(1, [0, 0, 0, 400, 1000])]
    assert device.pumps == {3}
    device.finish()
    assert device.pumped == [3, 4] and device.pumps == set()
    device.close()
    pump = Tasmota()
    Asking(pump).make(1, quantity=3)
    assert pump.poured == [(24, "1")] and pump.is_on
    pump.finish()
    assert not pump.is_on


# MARK: ESPHome

@pytest.fixture
def esp32(tmp_path: Path) -> Iterator[ESPHome]:
    device = ESPHome(tmp_path)
    yield device
    device.close()


def test_a_flash_that_takes_nothing_pours_nothing(esp32: ESPHome) -> None:
    kiosk = Asking(esp32)
    esp32.tell("wear is 1")
    assert kiosk.make(5) == kiosk.cancel(5) == []
    assert esp32.begun == 0
    esp32.tell("wear is 0")
    assert kiosk.make(5) == ["started"]


def test_a_busy_machine_leaves_the_next_job_to_the_kiosk(esp32: ESPHome) -> None:
    kiosk = Asking(esp32)
    kiosk.make(5)
    assert kiosk.make(6) == []
    assert kiosk.finish(5) == ["done"]
    assert kiosk.make(6) == ["started"]
    assert esp32.begun == 2


def test_an_empty_bottle_is_a_fault_and_a_failure(esp32: ESPHome) -> None:
    kiosk = Asking(esp32)
    assert esp32.connect() == [(f"{BASE}/machine/bar/status", "online", True)]
    kiosk.make(5)
    ended = esp32.set("empty", True)
    failed = {"job": 5, "status": "failed", "reason": "bottle empty", "made": 0, "used": {"kiwi": 3}}
    assert json.loads(ended[0][1]) == failed
    assert ended[1] == (f"{BASE}/machine/bar/status", "fault: bottle empty", True)
    assert esp32.pumps == set()
    assert json.loads(esp32.hear(esp32.topics[1], {"job": 5})[0][1]) == failed
    assert esp32.connect()[0][1] == "fault: bottle empty"
    # The device reports finished jobs and starts none.
    assert kiosk.make(5) == ["failed"]
    assert kiosk.make(6) == []
    assert esp32.set("empty", False) == [(f"{BASE}/machine/bar/status", "online", True)]
    assert kiosk.make(6) == ["started"]


def test_nothing_runs_during_and_after_an_emergency_stop(esp32: ESPHome) -> None:
    kiosk = Asking(esp32)
    fault = (f"{BASE}/machine/bar/status", "fault: emergency stop", True)
    online = (f"{BASE}/machine/bar/status", "online", True)
    assert esp32.set("emergency", True) == [fault]
    assert esp32.connect() == [fault] and kiosk.make(5) == []
    assert esp32.set("emergency", False) == [online]
    assert esp32.pumped == []
    assert kiosk.make(5) == ["started"] and esp32.pumps == {3}
    failed, told = esp32.set("emergency", True)
    assert json.loads(failed[1])["reason"] == "emergency stop"
    assert told == fault and esp32.pumps == set()
    assert kiosk.cancel(5) == ["failed"]
    assert esp32.set("emergency", False) == [online]
    assert esp32.finish() == [] and esp32.pumped == [3]
    for sensor in ("emergency", "empty", "no_cup"):
        assert "delayed_on_off" in esp32.sensors[sensor]["filters"][0], "contacts bounce"


@pytest.mark.parametrize("recipe", [{"kiwi": 1, "durian": 2}, {"durian": 1}, {}])
def test_a_fruit_without_a_pump_is_a_failure(esp32: ESPHome, recipe: dict[str, int]) -> None:
    order = {"job": 5, "quantity": 1, "recipe": recipe}
    started, failed = [json.loads(each[1]) for each in esp32.hear(esp32.topics[0], order)]
    assert started["status"] == "started"
    assert failed == {"job": 5, "status": "failed", "reason": "no pump", "made": 0, "used": {}}
    assert json.loads(esp32.hear(esp32.topics[1], {"job": 5})[0][1]) == failed
    assert esp32.pumped == [] and Asking(esp32).make(6) == ["started"]


def test_a_program_pours_its_fruit(esp32: ESPHome) -> None:
    kiosk = Asking(esp32)
    program = {"job": 5, "program": "clean", "quantity": 1, "recipe": {"kiwi": 5}}
    assert kiosk.answers(esp32.hear(esp32.topics[0], program), 5) == ["started"]
    assert esp32.pumps == {3}
    assert kiosk.finish(5) == ["done"]


def test_each_glass_has_a_cup(esp32: ESPHome) -> None:
    def texts(published: list[tuple[str, str, bool]]) -> list[tuple[str, str | None]]:
        answers = [json.loads(each[1]) for each in published]
        return [(answer["status"], answer.get("reason")) for answer in answers]

    esp32.set("no_cup", True)
    kiosk = Asking(esp32)
    assert kiosk.make(5, quantity=3) == ["started", "waiting"] and esp32.pumped == []
    assert texts(esp32.hear(esp32.topics[1], {"job": 5})) == [("waiting", "no cup")]
    for glass in (1, 2):
        assert texts(esp32.set("no_cup", False)) == [("started", None)]
        assert texts(esp32.finish()) == [("waiting", "next cup")]
        assert esp32.pumped == [3] * glass and esp32.pumps == set()
        assert texts(esp32.set("no_cup", True)) == [("waiting", "no cup")]
    esp32.set("no_cup", False)
    assert texts(esp32.finish()) == [("done", None)]
    assert esp32.pumped == [3] * 3
    # The cup is taken away while the pump runs.
    kiosk.make(6)
    assert texts(esp32.set("no_cup", True)) == [("failed", "cup removed")]
    assert esp32.pumps == set()


@pytest.mark.parametrize("begun", [1, 2])
def test_a_failed_order_of_several_glasses_says_what_was_made(esp32: ESPHome, begun: int) -> None:
    order = {"job": 5, "quantity": 3, "recipe": {"kiwi": 3, "mango": 1}}
    esp32.hear(esp32.topics[0], order)
    esp32.finish()
    if begun == 2:
        esp32.set("no_cup", True)
        esp32.set("no_cup", False)
    failed = json.loads(esp32.set("empty", True)[0][1])
    assert failed == {"job": 5, "status": "failed", "reason": "bottle empty", "made": 1,
                      "used": {"kiwi": 3 * begun, "mango": begun}}
    # Neither a repetition nor an order that does not begin changes it.
    assert json.loads(esp32.hear(esp32.topics[0], order)[0][1]) == failed
    esp32.set("empty", False)
    esp32.tell("wear is 1")
    assert esp32.hear(esp32.topics[0], {"job": 6, "quantity": 1, "recipe": {"kiwi": 1}}) == []
    assert json.loads(esp32.hear(esp32.topics[1], {"job": 5})[0][1]) == failed


def test_numbers_that_have_gone_back_are_forgotten_by_hand(esp32: ESPHome) -> None:
    kiosk = Asking(esp32)
    kiosk.make(5000)
    esp32.tell("forget")
    assert kiosk.make(2) == ["unknown"]
    kiosk.finish(5000)
    esp32.tell("forget")
    esp32.cut_power()
    assert kiosk.make(2) == ["started"]


def test_it_says_what_the_contract_asks_for() -> None:
    """Checks the settings outside of the code: clean sessions, a last will, no restarts, and TLS."""
    settings = esphome.yaml.load(esphome.FILE.read_text(), esphome.Loader)
    mqtt = settings["mqtt"]
    assert settings["wifi"]["reboot_timeout"] == mqtt["reboot_timeout"] == "0s"
    assert (mqtt["port"], mqtt["certificate_authority"]) == (8883, "broker_ca")
    topic = "${base}/machine/${machine}/status"
    assert mqtt["clean_session"] is True and mqtt["birth_message"] is None
    for message in (mqtt["will_message"], mqtt["shutdown_message"]):
        assert message == {"topic": topic, "payload": "offline", "qos": 1, "retain": True}
    assert [each["qos"] for each in mqtt["on_json_message"]] == [1, 1]


# MARK: Tasmota

@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("kind", ["make", "cancel"])
def test_power_is_cut_after_each_command_of_a_rule(kind: str, steps: int) -> None:
    device = Tasmota()
    kiosk = Asking(device)
    kiosk.make(5)
    kiosk.finish(5)
    order = {"job": 6, "quantity": 1}
    device.arrive(device.topics[0 if kind == "make" else 1], order)
    device.run(steps)
    heard = [json.loads(payload)["status"] for _, payload, _ in device.published]
    begun = device.begun
    device.cut_power()
    answers = kiosk.make(6)
    if begun == 2 or "cancelled" in heard:
        assert answers == ["unknown"]
    assert device.begun == 2 if answers == ["started"] else device.begun == begun


def test_the_same_message_twice_before_a_command_has_run() -> None:
    device = Tasmota()
    for _ in range(3):
        device.arrive(device.topics[0], {"job": 6, "quantity": 1})
    assert {json.loads(payload)["status"] for _, payload, _ in device.take()} == {"started"}
    assert device.begun == 1


def test_a_cancellation_is_none_of_the_orders() -> None:
    """Tasmota's subscription to make/pump also matches make/pump/cancel."""
    device = Tasmota()
    device.connect()
    device.hear(device.topics[1], {"job": 6})
    assert device.begun == 0


def test_numbers_that_a_float_cannot_tell_apart_pour_nothing() -> None:
    device = Tasmota()
    kiosk = Asking(device)
    assert kiosk.make(16_777_216) == ["started"]
    kiosk.finish(16_777_216)
    assert kiosk.make(16_777_217) == []
    assert device.begun == 1


# MARK: With a kiosk

def test_a_juice_of_a_real_kiosk(
    device: Device, make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    """The topics are the kiosk's own, not copies in the test."""
    machine = {"name": device.name, "juices": [device.juice], "start_seconds": 60}
    make_kiosk(machines=[machine]).start()
    panel = make_client(f"{BASE}/order/p1/result", f"{BASE}/juice/{device.juice}")
    client = make_client(*device.topics)

    def publish(messages: list[tuple[str, str, bool]]) -> None:
        for topic, payload, retain in messages:
            client.publish(topic, payload, retain)

    publish(device.connect())
    panel.messages.first(lambda message: message.topic.endswith(device.juice) and message.text != "0")
    accepted = panel.order({"id": "a1", "juice": device.juice, "quantity": device.quantity})
    assert (accepted["status"], accepted["machine"]) == ("accepted", device.name)
    order = client.messages.first(lambda message: message.topic == device.topics[0])
    publish(device.hear(order.topic, order.json))
    publish(device.finish())
    if isinstance(device, ESPHome):
        # The second glass.
        for no_cup in (True, False):
            publish(device.set("no_cup", no_cup))
        publish(device.finish())
    ready = panel.messages.first(
        lambda message: message.topic.endswith("result") and message.json["status"] == "ready")
    assert ready.json["id"] == "a1"
    assert device.begun == 1


def test_what_a_broker_keeps_for_a_machine_that_is_away_grows_too_old(
    make_kiosk: MakeKiosk, make_client: MakeClient, broker
) -> None:
    """A machine whose session queues messages, contrary to the contract."""
    machine = {"name": "bar", "start_seconds": 3}
    make_kiosk(machines=[machine], orders={"max_age_seconds": 1}).start()
    panel = make_client(f"{BASE}/order/p1/result", f"{BASE}/machine/bar")
    panel.publish(f"{BASE}/machine/bar/status", "online")
    panel.messages.first(lambda message: '"idle"' in message.text)
    machine = paho("bar", clean_session=False)
    heard: Arrivals[str] = Arrivals()
    machine.on_message = lambda client, data, message: heard.add(message.topic)
    subscribed = threading.Event()
    machine.on_connect = lambda *_: machine.subscribe(f"{BASE}/make/bar/#", 1)
    machine.on_subscribe = lambda *_: subscribed.set()
    machine.connect("127.0.0.1", broker.port)
    machine.loop_start()
    assert subscribed.wait(TIMEOUT)
    machine.disconnect()
    machine.loop_stop()
    accepted = panel.order({"id": "a1", "juice": "kiwi"})
    panel.messages.first(lambda message: '"lost"' in message.text)
    machine.connect("127.0.0.1", broker.port)
    machine.loop_start()
    panel.publish(f"{BASE}/make/bar/end", "")
    heard.first(lambda topic: topic.endswith("/end"))
    machine.loop_stop()
    assert list(heard) == [f"{BASE}/make/bar/cancel", f"{BASE}/make/bar/end"], accepted
