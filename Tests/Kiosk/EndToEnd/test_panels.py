"""The examples in config/panels, each with recorded messages of its devices.

The recordings follow the documentation of the devices and the issues of their projects, including
repetitions and stale messages. The kiosk must detect exactly the presses of a person.
"""

import json
import re
from dataclasses import dataclass, field

import pytest

from arrivals import TIMEOUT
from client import Client
from conftest import MakeClient, MakeKiosk
from kiosk import ROOT, Kiosk

EXAMPLES = ROOT / "config/panels"


@dataclass
class Heard:
    """A message of a device and its meaning: nothing, or a juice and its quantity."""

    topic: str
    payload: str
    means: tuple[str, int] | str | None = None
    retain: bool = False


@dataclass
class Recording:
    messages: list[Heard]
    changes: dict[str, str] = field(default_factory=dict)
    # Retained before the kiosk starts, and delivered with each of its subscriptions.
    ghost: Heard | None = None


def zigbee(action: str | None, means: tuple[str, int] | str | None = None, quality: int = 87):
    payload = {"action": action, "battery": 100, "linkquality": quality}
    return Heard("zigbee2mqtt/hallway_button", json.dumps(payload), means)


def shelly(event: str, count: int, means: tuple[str, int] | str | None = None):
    topic = "shellies/shellyix3-98CDAC24A1B2/input_event/0"
    return Heard(topic, json.dumps({"event": event, "event_cnt": count}), means)


def esphome(entity: str, payload: str, means: tuple[str, int] | str | None = None):
    return Heard(f"bench/{entity}/state", payload, means, retain=True)


def shelly2(
    component: str, event: str, ts: float, means: tuple[str, int] | str | None = None, **more: int
):
    return Heard(
        "shellyplusi4-a8032ab12345/events/rpc",
        json.dumps({
            "src": "shellyplusi4-a8032ab12345", "dst": "shellyplusi4-a8032ab12345/events",
            "method": "NotifyEvent",
            "params": {
                "ts": ts,
                "events": [{"component": component, "id": 0, "event": event, "ts": ts, **more}],
            },
        }), means,
    )


def theengs(packet: int, one: int, two: int, means: tuple[str, int] | str | None = None):
    payload = {"model_id": "SBBT-004CEU/US", "packet": packet, "batt": 100,
               "button1": one, "button2": two, "button3": 0, "button4": 0}
    return Heard("home/TheengsGateway/BTtoMQTT/38398F71EEFF", json.dumps(payload), means)


RECORDINGS = {
    "zigbee2mqtt": Recording([
        zigbee("single", ("kiwi", 1)),
        zigbee("single", quality=90), zigbee("single", quality=84), zigbee(""), zigbee(None),
        Heard("zigbee2mqtt/hallway_button/action", "single"),
        Heard("zigbee2mqtt/hallway_button", '{"battery":99,"linkquality":91}'),
        zigbee("double", ("kiwi", 2)), zigbee("double", quality=60), zigbee(""),
        zigbee("release"),
        zigbee("hold", "closed"), zigbee(""),
    ], {"debounce_milliseconds: 1000": "debounce_milliseconds: 60000"}),
    "tasmota": Recording([
        Heard("stat/counter_button/RESULT", '{"Button1":{"Action":"SINGLE"}}', ("kiwi", 1)),
        Heard("stat/counter_button/RESULT", '{"POWER1":"ON"}'),
        Heard("stat/counter_button/POWER1", "ON"),
        Heard("stat/counter_button/RESULT", '{"Button1":{"Action":"single"}}', ("kiwi", 1)),
        Heard("stat/counter_button/BUTTON2", '{"ACTION":"SINGLE"}', ("mango", 2)),
        Heard("stat/counter_button/BUTTON2", '{"Button2":{"Action":"SINGLE"}}', ("mango", 2)),
        Heard("stat/counter_button/RESULT", '{"BUTTON1":{"ACTION":"HOLD"}}', "closed"),
        Heard("stat/counter_button/RESULT", '{"Button1":{"Action":"CLEAR"}}'),
    ], ghost=Heard("stat/counter_button/RESULT", '{"Button1":{"Action":"SINGLE"}}')),
    "shelly-gen1": Recording([
        shelly("S", 65_534),
        shelly("S", 65_535, ("kiwi", 1)), *[shelly("S", 65_535)] * 20,
        shelly("SS", 0, ("kiwi", 2)), *[shelly("SS", 0)] * 3,
        shelly("", 0), shelly("L", 1), shelly("L", 1),
    ], ghost=shelly("S", 65_534)),
    "shelly-gen2": Recording([
        shelly2("input:0", "btn_down", 1643540082.61), shelly2("input:0", "btn_up", 1643540082.64),
        shelly2("input:0", "single_push", 1643540082.66, ("kiwi", 1)),
        shelly2("input:0", "single_push", 1643540082.66),
        shelly2("input:1", "single_push", 1643540082.66, ("mango", 1)),
        shelly2("sys", "config_changed", 1643540083.0),
        Heard("shellyplusi4-a8032ab12345/events/rpc",
              '{"src":"x","method":"NotifyStatus","params":{"ts":1.5,"input:0":{"state":true}}}'),
        shelly2("input:0", "single_push", 1643540082.66),
        shelly2("input:0", "single_push", 1643540099.07, ("kiwi", 1)),
        # A BLU RC Button 4 connected to this Shelly.
        shelly2("bthomedevice:200", "single_push", 1731931521.19, ("kiwi", 1), idx=0),
        shelly2("bthomesensor:203", "single_push", 1731931521.19),
        shelly2("bthomedevice:200", "single_push", 1731931522.2, ("mango", 1), idx=1),
        shelly2("bthomedevice:200", "single_push", 1731931523.3, idx=2),
        shelly2("input:3", "long_push", 1731931600.0, "closed"),
    ]),
    "esphome": Recording([
        esphome("binary_sensor/kiwi_button", "OFF"),
        esphome("binary_sensor/kiwi_button", "ON", ("kiwi", 1)),
        esphome("binary_sensor/kiwi_button", "ON"),
        esphome("binary_sensor/kiwi_button", "OFF"),
        esphome("binary_sensor/kiwi_button", "ON", ("kiwi", 1)),
        esphome("event/bell", '{"event_type":"single"}', ("mango", 1)),
        esphome("event/bell", '{"event_type":"double"}'),
        esphome("event/bell", '{"event_type":"long"}', "closed"),
    ], ghost=esphome("binary_sensor/kiwi_button", "ON")),
    "generic": Recording([
        Heard("nodered/press", "kiwi", ("kiwi", 1)), Heard("nodered/press", "tea"),
        Heard("nodered/press", "kiwi", ("kiwi", 1)),
        Heard("acme/7/event", '{"data":{"button":{"code":"A1"},"seq":17}}', ("kiwi", 1)),
        Heard("acme/7/event", '{"data":{"button":{"code":"A1"},"seq":17}}'),
        Heard("acme/8/event", '{"data":{"button":{"code":"A1"},"seq":17}}'),
        Heard("acme/8/event", '{"data":{"button":{"code":"A2"},"seq":18}}', ("mango", 2)),
        Heard("acme/7/event", '{"data":{"button":{"code":"A1"},"seq":17}}'),
        Heard("gateway/remotes", '{"id":"3","click":"single"}', ("kiwi", 1)),
        Heard("gateway/remotes", '{"id":"4","click":"single"}', ("mango", 1)),
        Heard("gateway/remotes", '{"id":"5","click":"single"}'),
        theengs(29, 1, 0, ("kiwi", 1)), theengs(29, 1, 0), theengs(30, 0, 1, ("mango", 1)),
        theengs(31, 0, 0),
        Heard("acme/7/event", '{"data":{"uptime":9}}'),
        Heard("acme/7/event", '{"data":{"button":{"code":"A1"},"seq":17}}'),
    ]),
    "openhasp": Recording([
        Heard("hasp/plate01/state/p1b5", '{"event":"down"}'),
        Heard("hasp/plate01/state/p1b5", '{"event":"up"}', ("kiwi", 1)),
    ]),
}


def example(kiosk: Kiosk, name: str, changes: dict[str, str] | None = None) -> Kiosk:
    text = (EXAMPLES / f"{name}.yaml").read_text()
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    return add(kiosk, text)


def add(kiosk: Kiosk, text: str) -> Kiosk:
    """Adds keys to the configuration of a kiosk."""
    own = json.loads(kiosk.config.read_text())
    kiosk.config.write_text(
        text + "".join(f"{key}: {json.dumps(value)}\n" for key, value in own.items())
    )
    return kiosk


def replay(recording: Recording, device: Client, panel: Client, kiosk: Kiosk, kill: bool) -> None:
    heard: set[str] = set()
    for number, message in enumerate(recording.messages):
        # Only what a topic has said since the last start can be forgotten, and the third of the same messages
        # needs no more memory than the second.
        if kill and message.topic in heard and recording.messages[max(0, number - 2):number] != [message] * 2:
            kiosk.kill()
            kiosk.start()
            heard.clear()
        heard.add(message.topic)
        # With QoS 0, like most devices.
        device.client.publish(message.topic, message.payload, 0, message.retain)
        # An order on the same connection: after its answer, the earlier message has been processed.
        order = {"id": f"behind{number}", "juice": "nothing"}
        device.publish("kiosk/k1/order/behind", json.dumps(order))
        panel.messages.first(
            lambda each: each.topic == "kiosk/k1/order/behind/result"
            and each.json["id"] == order["id"]
        )


def made(kiosk: Kiosk) -> list[tuple[str, int] | str]:
    kiosk.verify()
    panels = [entry for entry in kiosk.ledger() if entry.get("source") != "order/behind"]
    return [
        entry["status"] if entry["status"] in ("open", "closed")
        else (entry["juice"], entry["quantity"])
        for entry in panels if entry["status"] != "opened"
    ]


def test_every_example_is_exercised() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == set(RECORDINGS)


@pytest.mark.parametrize("kill", [False, True], ids=["running", "killed"])
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_yields_the_presses_that_were_made(
    name: str, kill: bool, make_kiosk: MakeKiosk, make_client: MakeClient, panel: Client
) -> None:
    recording = RECORDINGS[name]
    device = make_client()
    if ghost := recording.ghost:
        device.publish(ghost.topic, ghost.payload, retain=True)
    # With enough fruit that only the presses matter.
    kiosk = example(make_kiosk(stock={"initial": 100}), name, recording.changes).start()
    replay(recording, device, panel, kiosk, kill)
    assert made(kiosk) == [message.means for message in recording.messages if message.means]


def test_a_panel_shows_what_becomes_of_its_orders(
    make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    device = make_client("cmnd/#")
    kiosk = example(make_kiosk(stock={"initial": 5}), "tasmota").start()

    def told(topic: str, since: int = 0) -> str:
        return device.messages.first(lambda each: each.topic == f"cmnd/{topic}", since).text

    assert told("counter_button/POWER1") == "ON"
    assert told("hall_display/DisplayText") == "[zl1c1]Kiwi 5[l2c1]Mango 5[l3c1]online"
    press = '{"Button1":{"Action":"SINGLE"}}'
    device.publish("stat/counter_button/RESULT", press)
    assert told("counter_button/Buzzer") == "1"
    since = len(device.messages)
    device.publish("stat/counter_button/RESULT", press)
    assert told("counter_button/Buzzer", since) == "3"
    texts = [each.text for each in device.messages if each.topic == "cmnd/counter_button/POWER1"]
    if texts != ["ON", "OFF"]:
        assert told("counter_button/POWER1", since) == "OFF"
    # The screen has restarted and shows nothing.
    since = len(device.messages)
    device.publish("tele/hall_display/LWT", "Online")
    assert told("hall_display/DisplayText", since) == "[zl1c1]Kiwi 2[l2c1]Mango 5[l3c1]online"
    since = len(device.messages)
    kiosk.stop()
    assert told("hall_display/DisplayText", since).endswith("offline")


def test_esphomes_sensors_can_read_every_number(kiosk: Kiosk, make_client: MakeClient) -> None:
    """strtof must consume the whole payload (ESPHome, mqtt_subscribe_sensor.cpp, parse_number)."""
    display = make_client("kiosk/k1/stock/+", "kiosk/k1/juice/+")
    display.messages.first(lambda each: each.topic == "kiosk/k1/juice/mango_kiwi")
    number = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
    assert display.messages and all(number.fullmatch(each.payload) for each in display.messages)


# Messages of a building without any press.
QUIET_HOUSE = [
    Heard("shellies/shellybutton1-A4CF12F45301/online", "true"),
    Heard("shellies/shelly1-8CAAB54B98DF/relay/0", "on"),
    Heard("shellies/shelly1-8CAAB54B98DF/input/0", "0"),
    Heard("shellies/shellyix3-98CDAC24A1B2/input_event/1", '{"event":"SSS","event_cnt":4}'),
    Heard("bench/debug", "\x1b[0;36m[D][binary_sensor:036]: 'Door': Sending state ON\x1b[0m"),
    Heard("bench/status", "online"), Heard("bench/sensor/room/state", "21.5"),
    Heard("tele/plug/LWT", "Online"), Heard("stat/plug/RESULT", '{"POWER":"ON"}'),
    Heard("zigbee2mqtt/plug", '{"state":"ON","power":3.1,"linkquality":120}'),
    Heard("zigbee2mqtt/bridge/state", '{"state":"online"}'),
]


@pytest.mark.parametrize("presses", [
    [zigbee("single")], [Heard("stat/x/RESULT", '{"Button1":{"Action":"SINGLE"}}')],
    [Heard("stat/x/BUTTON1", '{"Button1":{"Action":"SINGLE"}}')],
    [Heard("stat/x/RESULT", '{"Switch1":{"Action":"ON"}}')],
    # A Shelly on mains power: the contact, then the event.
    [Heard("shellies/shellyix3-98CDAC24A1B2/input/0", "1"),
     Heard("shellies/shellyix3-98CDAC24A1B2/input/0", "0"), shelly("S", 5)],
    [shelly2("input:0", "single_push", 1643540082.66)],
    [shelly2("bthomedevice:200", "single_push", 1731931521.19, idx=1)],
    [Heard("bench/event/bell/state", '{"event_type":"single"}')],
    [Heard("bench/binary_sensor/bell/state", "ON")], [Heard("nodered/press", "kiwi")],
    [Heard("acme/7/event", '{"data":{"button":{"code":"A1"},"seq":17}}')],
    [theengs(29, 1, 0)],
    [Heard("tele/rf/RESULT", '{"Time":"2020-05-27T18:59:06","RfReceived":'
           '{"Data":"0x7028D2","Bits":24,"Protocol":1,"Pulse":238}}')],
], ids=lambda presses: presses[-1].topic)
def test_learn_prints_what_binds_the_button_that_was_pressed(
    presses: list[Heard], make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk()
    device = make_client("kiosk/k1/order/#")
    learn = kiosk.spawn("learn", "--timeout", f"{TIMEOUT:.0f}")
    assert "Press" in learn.stderr.readline()
    for message in QUIET_HOUSE + presses:
        device.client.publish(message.topic, message.payload, 0)
    pasted, complaints = learn.communicate(timeout=TIMEOUT)
    assert learn.returncode == 0, complaints
    add(kiosk, pasted).start()
    press = presses[-1]
    if "event_cnt" in press.payload:
        # The first event of a Shelly may be old.
        device.publish(press.topic, shelly("S", 4).payload)
    device.client.publish(press.topic, press.payload, 0)
    device.messages.first(lambda each: each.topic == "kiosk/k1/order/panel1/result")
    assert [entry["source"] for entry in kiosk.ledger()[1:]] == ["order/panel1"]


def test_learn_waits_for_more_than_an_event_that_may_be_old(
    make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    kiosk = make_kiosk()
    device = make_client()
    learn = kiosk.spawn("learn", "--timeout", f"{TIMEOUT:.0f}")
    assert "Press" in learn.stderr.readline()
    device.publish(shelly("S", 4).topic, shelly("S", 4).payload)
    assert "0_single" in learn.stderr.readline()
    device.publish(shelly("S", 4).topic, shelly("L", 5).payload)
    pasted, _ = learn.communicate(timeout=TIMEOUT)
    assert "0_long" in pasted and "device: shelly_gen1" in pasted


def test_learn_prints_nothing_that_a_device_could_mean(
    make_kiosk: MakeKiosk, make_client: MakeClient
) -> None:
    """A publisher must not be able to inject lines into the configuration that a person pastes."""
    kiosk = make_kiosk()
    device = make_client()
    learn = kiosk.spawn("learn", "--timeout", f"{TIMEOUT:.0f}", "--count", "2")
    assert "Press" in learn.stderr.readline()
    for action in ["x\nbroker: {host: evil}\n#", 'y\r\u2028"}\nbroker: {host: evil}\x1b[2J']:
        device.publish(f"zigbee2mqtt/{action[0]}", json.dumps({"action": action, "linkquality": 9}))
    device.publish("zigbee2mqtt/long", json.dumps({"action": "z" * 65, "linkquality": 9}))
    pasted, _ = learn.communicate(timeout=TIMEOUT)
    assert not re.search(r"[^\x20-\x7e\n]", pasted)
    for line in pasted.splitlines():
        assert re.match(r"# |panels:$|  - name: panel|    (device|topic|buttons): ", line), line
    checked = add(kiosk, pasted).command("check")
    assert checked.returncode == 0, checked.stderr


def test_the_access_list_has_the_topics_of_the_examples() -> None:
    """As comments, which the owner of such a device copies."""
    rules = re.findall(r"^#topic write (\S+)$", (ROOT / "deploy/mosquitto/acl").read_text(), re.M)
    allowed = re.compile("|".join(re.escape(rule).replace(r"\+", "[^/]+") for rule in rules))
    published = re.compile(
        r"(?:(?:pay|ready|out_of_stock|rejected|available|sold_out): {|^  - )topic: ([^\s,}]+)", re.M)
    topics = [topic for file in EXAMPLES.glob("*.yaml") for topic in published.findall(file.read_text())]
    assert {"cmnd/counter_button/Buzzer", "bench/light/ring/command"} <= set(topics)
    assert [topic for topic in topics if not allowed.fullmatch(topic)] == []
