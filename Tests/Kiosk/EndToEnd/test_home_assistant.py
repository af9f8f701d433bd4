"""The kiosk in a real Home Assistant, with the accounts from deploy/docs/security.md."""

import json
import os
from pathlib import Path
from typing import Any, Iterator

import pytest

from secured_broker import AUDITOR, Account, SecuredBroker
from home_assistant import HomeAssistant, forms
from kiosk import FRUITS, RECIPES, Kiosk

pytestmark = [
    pytest.mark.skipif(
        "KIOSK_HOME_ASSISTANT" not in os.environ, reason="deploy/test --home-assistant runs these"
    ),
    # paho 1.6.1 uses TLS versions that Python has deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

ACCOUNTS = """
topics kiosk/k1
controller controller
panel panel1
homeassistant homeassistant
machine bar
sensor fridge
payment till
"""


@pytest.fixture(scope="module", params=forms())
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def secured_broker(form: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    secured_broker = SecuredBroker(tmp_path_factory.mktemp("secured_broker"), ACCOUNTS).start()
    yield secured_broker
    secured_broker.stop()


@pytest.fixture(scope="module")
def home(secured_broker: SecuredBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HomeAssistant]:
    folder = tmp_path_factory.mktemp("home") / "config"
    home = HomeAssistant(folder, secured_broker, "homeassistant").start()
    yield home
    home.stop()


class ShownKiosk(Kiosk):
    """A kiosk with Home Assistant discovery, unless a test disables it."""

    def __init__(self, folder: Path, secured_broker: SecuredBroker, form: str) -> None:
        self.form = form
        self.account = secured_broker.section()
        super().__init__(folder, None, {})

    def configure(self, broker: None, settings: dict[str, Any]) -> None:
        ours = {
            "broker": self.account, "home_assistant": {"enabled": True, "form": self.form}
        }
        super().configure(broker, ours | settings)

    def start_with(self, **settings: dict) -> "ShownKiosk":
        """Restarts the kiosk with a changed configuration."""
        if self.process:
            self.stop()
        self.configure(None, settings)
        self.start()
        return self

    def last_entry(self) -> dict:
        return self.ledger()[-1]


@pytest.fixture(scope="module")
def running_kiosk(
    secured_broker: SecuredBroker, form: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ShownKiosk]:
    kiosk = ShownKiosk(tmp_path_factory.mktemp("kiosk"), secured_broker, form)
    yield kiosk
    kiosk.kill()


@pytest.fixture
def kiosk(running_kiosk: ShownKiosk, home: HomeAssistant) -> ShownKiosk:
    """Returns the kiosk, restarted with the built-in menu."""
    running_kiosk.start_with()
    home.wait_for("switch.kiosk_k1_service", "on")
    return running_kiosk


@pytest.fixture
def auditor(secured_broker: SecuredBroker) -> Iterator[Account]:
    auditor = Account(secured_broker, AUDITOR).subscribe("#")
    yield auditor
    auditor.drop()


@pytest.fixture(autouse=True)
def no_complaint(home: HomeAssistant) -> Iterator[None]:
    """Asserts that Home Assistant logs no warning or error during any test."""
    yield
    assert home.complaints() == [], "\n".join(home.complaints())


def entities(fruits: list[str] = FRUITS, juices: list[str] = list(RECIPES)) -> set[str]:
    found = {"button.kiosk_k1_refill", "switch.kiosk_k1_service", "event.kiosk_k1_order"}
    for fruit in fruits:
        found |= {
            f"sensor.kiosk_k1_stock_{fruit}", f"number.kiosk_k1_set_{fruit}",
            f"binary_sensor.kiosk_k1_alert_{fruit}",
        }
    for juice in juices:
        found |= {f"button.kiosk_k1_order_{juice}", f"sensor.kiosk_k1_servings_{juice}"}
    for key in [
        "orders", "out_of_stock", "failed", "restocks", "duplicates", "stale", "rejected", "reconnects",
        "dropped", "memory", "queue", "started_at",
    ]:
        found.add(f"sensor.kiosk_k1_diagnostic_{key}")
    return found


def test_everything_appears_by_itself(kiosk: ShownKiosk, home: HomeAssistant) -> None:
    home.until(lambda: set(home.states()) == entities())

    def unknown() -> set[str]:
        return {
            entity for entity, state in home.states().items()
            if state["state"] in ("unknown", "unavailable")
        }

    # The state of a button or an event is its last time, which is unknown before the first one.
    home.until(lambda: not {e for e in unknown() if not e.startswith(("button.", "event."))})
    states = home.states()
    stock = kiosk.stock()
    for fruit in FRUITS:
        assert states[f"sensor.kiosk_k1_stock_{fruit}"]["state"] == str(stock[fruit])
        number = states[f"number.kiosk_k1_set_{fruit}"]
        assert number["state"] == str(stock[fruit])
        assert (number["attributes"]["min"], number["attributes"]["max"]) == (0, 100)
    for juice, recipe in RECIPES.items():
        servings = min(stock[fruit] // amount for fruit, amount in recipe.items())
        assert states[f"sensor.kiosk_k1_servings_{juice}"]["state"] == str(servings)
    button = states["button.kiosk_k1_order_mango_kiwi"]["attributes"]["friendly_name"]
    assert button == "Juice kiosk k1 Order Mango kiwi juice"
    for attribute, value in {
        "name": "Juice kiosk k1", "manufacturer": "Juice Kiosk", "model": "juice-kiosk",
        "sw_version": kiosk.command("--version", config=False).stdout.strip(),
    }.items():
        entity = "switch.kiosk_k1_service"
        assert home.render(f"{{{{ device_attr('{entity}', '{attribute}') }}}}") == value


def test_a_press_elsewhere_is_shown(kiosk: ShownKiosk, home: HomeAssistant, secured_broker: SecuredBroker) -> None:
    home.call("number.set_value", "number.kiosk_k1_set_kiwi", value=8)
    home.wait_for("binary_sensor.kiosk_k1_alert_kiwi", "off")
    home.wait_for("sensor.kiosk_k1_stock_kiwi", "8")
    panel = Account(secured_broker, "panel1")
    panel.publish_all({"kiosk/k1/order/panel1": '{"id":"p1","juice":"kiwi"}'})
    panel.drop()
    home.wait_for("sensor.kiosk_k1_stock_kiwi", "5")
    home.wait_for("number.kiosk_k1_set_kiwi", "5")
    home.wait_for("sensor.kiosk_k1_servings_kiwi", "1")
    home.wait_for("binary_sensor.kiosk_k1_alert_kiwi", "on")


def test_a_number_restocks(kiosk: ShownKiosk, home: HomeAssistant) -> None:
    before = kiosk.stock()["mango"]
    wanted = 42 if before != 42 else 43
    home.call("number.set_value", "number.kiosk_k1_set_mango", value=wanted)
    home.wait_for("sensor.kiosk_k1_stock_mango", str(wanted))
    entry = kiosk.last_entry()
    assert entry["source"] == "restock/homeassistant"
    assert entry["status"] == "restocked" and entry["changes"] == {"mango": wanted - before}
    # The id with which the kiosk recognizes a redelivery of the command.
    assert entry["id"].isdigit()
    kiosk.verify()


def test_a_refill_fills_everything_up(kiosk: ShownKiosk, home: HomeAssistant) -> None:
    home.call("button.press", "button.kiosk_k1_refill")
    for fruit in FRUITS:
        home.wait_for(f"sensor.kiosk_k1_stock_{fruit}", "100")
    assert kiosk.last_entry()["source"] == "restock/homeassistant"
    assert kiosk.stock() == {fruit: 100 for fruit in FRUITS}


def event(home: HomeAssistant) -> dict:
    return home.states()["event.kiosk_k1_order"]


def test_a_button_orders(kiosk: ShownKiosk, home: HomeAssistant) -> None:
    home.call("number.set_value", "number.kiosk_k1_set_banana", value=3)
    home.wait_for("sensor.kiosk_k1_stock_banana", "3")
    seen = event(home)["state"]
    home.call("button.press", "button.kiosk_k1_order_banana")
    home.wait_for("sensor.kiosk_k1_stock_banana", "1")
    home.until(lambda: event(home)["state"] != seen)
    entry = kiosk.last_entry()
    assert (entry["source"], entry["status"]) == ("order/homeassistant", "ready")
    attributes = event(home)["attributes"]
    assert attributes["event_type"] == "ready"
    for key in ["source", "id", "juice", "quantity", "ticket", "seq"]:
        assert attributes[key] == entry[key]
    # Two presses are two orders; the second one is out of stock.
    seen = event(home)["state"]
    home.call("button.press", "button.kiosk_k1_order_banana")
    home.until(lambda: event(home)["state"] != seen)
    assert event(home)["attributes"]["event_type"] == "out_of_stock"
    assert kiosk.stock()["banana"] == 1


def test_what_is_delivered_twice_counts_once(
    kiosk: ShownKiosk, home: HomeAssistant, auditor: Account
) -> None:
    home.call("button.press", "button.kiosk_k1_refill")
    home.wait_for("sensor.kiosk_k1_stock_kiwi", "100")
    home.call("button.press", "button.kiosk_k1_order_kiwi")
    home.wait_for("sensor.kiosk_k1_stock_kiwi", "97")
    press = auditor.wait_for("kiosk/k1/order/homeassistant")
    assert press.qos == 1 and not press.retain
    auditor.publish_all({press.topic: press.payload.decode()})
    answer = auditor.wait_for(f"{press.topic}/result", '"duplicate":true')
    assert json.loads(answer.payload)["status"] == "ready"
    assert kiosk.stock()["kiwi"] == 97


def test_the_switch_closes(kiosk: ShownKiosk, home: HomeAssistant) -> None:
    home.call("switch.turn_off", "switch.kiosk_k1_service")
    home.wait_for("switch.kiosk_k1_service", "off")
    assert kiosk.last_entry()["source"] == "service/homeassistant"
    seen = event(home)["state"]
    home.call("button.press", "button.kiosk_k1_order_kiwi")
    home.until(lambda: event(home)["state"] != seen)
    attributes = event(home)["attributes"]
    assert (attributes["event_type"], attributes["reason"]) == ("rejected", "closed")
    home.call("switch.turn_on", "switch.kiosk_k1_service")
    home.wait_for("switch.kiosk_k1_service", "on")


def all_are(home: HomeAssistant, available: bool) -> bool:
    states = home.states()
    return set(states) == entities() and all(
        (state["state"] != "unavailable") == available for state in states.values()
    )


def test_a_kiosk_that_is_lost_is_unavailable(kiosk: ShownKiosk, home: HomeAssistant) -> None:
    home.until(lambda: all_are(home, available=True))
    kiosk.kill()
    home.until(lambda: all_are(home, available=False))
    kiosk.start()
    home.until(lambda: all_are(home, available=True))
    assert home.states()["switch.kiosk_k1_service"]["state"] == "on"


def test_a_restart_of_home_assistant_brings_everything_back(
    kiosk: ShownKiosk, home: HomeAssistant, auditor: Account
) -> None:
    home.until(lambda: all_are(home, available=True))
    stock = home.states()["sensor.kiosk_k1_stock_kiwi"]["state"]
    home.stop()
    topic = {
        "components": "homeassistant/switch/kiosk_k1/service/config",
        "device": "homeassistant/device/kiosk_k1/config",
    }[kiosk.form]
    auditor.wait_until_delivered()
    auditor.heard.clear()
    home.start()
    home.until(lambda: all_are(home, available=True))
    home.wait_for("sensor.kiosk_k1_stock_kiwi", stock)
    # The kiosk has published everything again after Home Assistant's birth message.
    assert not auditor.wait_for(topic).retain
    heard = [message.topic for message in auditor.heard]
    assert heard.index("homeassistant/status") < heard.index(topic)
    auditor.wait_for("kiosk/k1/stock/kiwi", stock)


def test_payments_are_watched(kiosk: ShownKiosk, home: HomeAssistant, secured_broker: SecuredBroker) -> None:
    menu = {"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3.50}}}
    kiosk.start_with(menu=menu, payment={"devices": [{"name": "till"}]})
    home.wait_for("sensor.kiosk_k1_payment_till", "off")
    problem = "binary_sensor.kiosk_k1_payment_problem_till"
    home.until(lambda: home.wait_for(problem, "on")["attributes"].get("status") == "off")
    till = Account(secured_broker, "till").subscribe("kiosk/k1/charge/till/#")
    till.publish_all({"kiosk/k1/payment/till/status": "online"}, retain=True)
    home.wait_for("sensor.kiosk_k1_payment_till", "idle")
    home.wait_for(problem, "off")
    home.call("button.press", "button.kiosk_k1_order_kiwi")
    charge = json.loads(till.wait_for("kiosk/k1/charge/till", '"amount":350').payload)["charge"]

    def say(status: str, **more: Any) -> None:
        answer = {"charge": charge, "status": status} | more
        till.publish_all({"kiosk/k1/paid/till": json.dumps(answer)})

    say("waiting")
    home.wait_for("sensor.kiosk_k1_payment_till", "waiting")
    say("held", amount=350, currency="EUR")
    till.wait_for("kiosk/k1/charge/till/capture")
    say("captured", amount=350, currency="EUR")
    home.until(lambda: float(home.states()["sensor.kiosk_k1_taken_till"]["state"]) == 3.5)
    home.wait_for("sensor.kiosk_k1_payment_till", "idle")
    home.wait_for("sensor.kiosk_k1_charges_till", "0")
    till.drop()
    kiosk.start_with()
    home.until(lambda: set(home.states()) == entities())


def test_a_machine_is_watched(kiosk: ShownKiosk, home: HomeAssistant, secured_broker: SecuredBroker) -> None:
    kiosk.start_with(machines=[{"name": "bar"}])
    bar = Account(secured_broker, "bar").subscribe("kiosk/k1/make/bar")
    bar.publish_all({"kiosk/k1/machine/bar/status": "online"}, retain=True)
    home.wait_for("sensor.kiosk_k1_machine_bar", "idle")
    home.wait_for("binary_sensor.kiosk_k1_problem_bar", "off")
    home.call("button.press", "button.kiosk_k1_refill")
    home.wait_for("sensor.kiosk_k1_stock_kiwi", "100")
    for _ in range(2):
        home.call("button.press", "button.kiosk_k1_order_kiwi")
    home.wait_for("sensor.kiosk_k1_machine_bar", "busy")
    home.wait_for("sensor.kiosk_k1_queue_bar", "1")
    assert event(home)["attributes"]["event_type"] == "accepted"

    def say(status: str, seq: int, **more: str) -> None:
        bar.wait_for("kiosk/k1/make/bar", f'"job":{seq}')
        bar.publish_all({"kiosk/k1/made/bar": json.dumps({"job": seq, "status": status} | more)})

    jobs = [entry["seq"] for entry in kiosk.ledger() if entry["status"] == "accepted"]
    say("failed", jobs[-2], reason="jam")
    home.until(lambda: event(home)["attributes"]["event_type"] == "failed")
    assert event(home)["attributes"]["reason"] == "jam"
    say("unknown", jobs[-1])
    ticket = kiosk.last_entry()["ticket"] + 1
    home.until(
        lambda: home.wait_for("binary_sensor.kiosk_k1_problem_bar", "on")["attributes"].get(
            "waiting_for_decision") == [ticket]
    )
    bar.publish_all({"kiosk/k1/machine/bar/status": "fault: no cups"}, retain=True)
    home.until(
        lambda: home.wait_for("binary_sensor.kiosk_k1_problem_bar", "on")["attributes"]["reason"]
        == "no cups"
    )
    bar.drop()


def test_what_leaves_the_kiosk_leaves_home_assistant(
    kiosk: ShownKiosk, home: HomeAssistant
) -> None:
    home.until(lambda: set(home.states()) == entities())
    menu = {
        "fruits": {"kiwi": {"en": "Kiwi", "ko": "키위"}},
        "juices": {"kiwi": {"en": "Kiwi juice", "ko": "키위쥬스", "recipe": {"kiwi": 3}}},
    }
    kiosk.start_with(menu=menu, kiosk={"language": "ko"})
    home.until(lambda: set(home.states()) == entities(["kiwi"], ["kiwi"]))
    home.until(
        lambda: home.states()["sensor.kiosk_k1_stock_kiwi"]["attributes"]["friendly_name"]
        == "쥬스 키오스크 k1 키위 재고"
    )
    kiosk.start_with(home_assistant={"enabled": False})
    home.until(lambda: home.states() == {})


def test_food_safety_is_watched(kiosk: ShownKiosk, home: HomeAssistant, secured_broker: SecuredBroker) -> None:
    fridge = {"name": "fridge", "topic": "kiosk/k1/measure/fridge", "unit": "°C", "max": 7,
              "alarm_after_seconds": 10, "fruits": ["mango"]}
    bar = {"name": "bar", "programs": {"clean": {"every_hours": 24}, "rinse": {"every_glasses": 9}}}
    menu = {"base": "standard", "fruits": {"mango": {"keeps_hours": 48}}}
    kiosk.start_with(menu=menu, machines=[bar], sensors=[fridge])
    assert home.wait_for("sensor.kiosk_k1_sensor_fridge", "unknown")["attributes"]["unit_of_measurement"] == "°C"
    thermometer = Account(secured_broker, "fridge")
    thermometer.publish_all({"kiosk/k1/measure/fridge": "4.5"})
    home.wait_for("sensor.kiosk_k1_sensor_fridge", "4.5")
    home.wait_for("binary_sensor.kiosk_k1_sensor_problem_fridge", "off")
    thermometer.publish_all({"kiosk/k1/measure/fridge": "9.5"})
    home.wait_for("sensor.kiosk_k1_sensor_fridge", "9.5")
    home.until(
        lambda: home.wait_for("binary_sensor.kiosk_k1_sensor_problem_fridge", "on")["attributes"].get("status")
        == "alarm"
    )

    machine = Account(secured_broker, "bar").subscribe("kiosk/k1/make/bar")
    machine.publish_all({"kiosk/k1/machine/bar/status": "online"}, retain=True)
    home.wait_for("sensor.kiosk_k1_machine_bar", "idle")

    def due() -> str:
        return home.states()["sensor.kiosk_k1_clean_due_bar"]["state"]

    home.call("button.press", "button.kiosk_k1_clean_bar")
    home.wait_for("sensor.kiosk_k1_machine_bar", "cleaning")
    entry = kiosk.last_entry()
    assert (entry["status"], entry["source"]) == ("program_requested", "program/homeassistant")
    machine.wait_for("kiosk/k1/make/bar", f'"job":{entry["seq"]}')
    machine.publish_all({"kiosk/k1/made/bar": json.dumps({"job": entry["seq"], "status": "done"})})
    home.wait_for("sensor.kiosk_k1_machine_bar", "idle")
    home.until(lambda: due().startswith("20"))

    home.wait_for("sensor.kiosk_k1_rinse_due_bar", "unavailable")

    home.wait_for("binary_sensor.kiosk_k1_expired", "off")
    home.wait_for("sensor.kiosk_k1_expires_kiwi", "unavailable")
    for amount in [0, 50]:
        home.call("number.set_value", "number.kiosk_k1_set_mango", value=amount)
    home.until(lambda: home.states()["sensor.kiosk_k1_expires_mango"]["state"].startswith("20"))
    machine.drop()
    thermometer.drop()
    kiosk.start_with(menu=menu)
    home.until(lambda: "sensor.kiosk_k1_sensor_fridge" not in home.states())
