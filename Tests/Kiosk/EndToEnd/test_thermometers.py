"""Each thermometer in the list of food-safety.md, with a message as the device sends it."""

import re

import yaml

from client import BASE, Client
from conftest import MakeKiosk
from daemon import ROOT
from mosquitto import Mosquitto

#: Messages of the device, and the value that the kiosk must read from them; `None` for none.
MESSAGES: dict[str, list[tuple[str, float | None]]] = {
    "ESPHome": [("nan", None), ("85.0", None), ("4.1", 4.1)],
    "Tasmota": [
        ('{"Time":"2026-11-29T04:00:01","DS18B20":{"Id":"01144A0CB2AA","Temperature":85.0},"TempUnit":"C"}', None),
        ('{"Time":"2026-11-29T04:05:01","DS18B20":{"Id":"01144A0CB2AA","Temperature":null},"TempUnit":"C"}', None),
        ('{"Time":"2026-11-29T04:10:01","DS18B20":{"Id":"01144A0CB2AA","Temperature":4.1},"TempUnit":"C"}', 4.1),
    ],
    "Shelly H&T": [
        ('{"src":"shellyhtg3-84fce63ad204","dst":"shellyhtg3-84fce63ad204/events","method":"NotifyEvent",'
         '"params":{"ts":1764388800.11,"events":[{"component":"sys","event":"sleep","ts":1764388800.11}]}}', None),
        ('{"src":"shellyhtg3-84fce63ad204","dst":"shellyhtg3-84fce63ad204/events","method":"NotifyFullStatus",'
         '"params":{"ts":1764388799.5,"battery":{},"devicepower:0":{"id":0,"battery":{"V":5.8,"percent":91}},'
         '"humidity:0":{"id":0,"rh":61.2},"temperature:0":{"id":0,"tC":4.1,"tF":39.4}}}', 4.1),
    ],
    "Zigbee2MQTT": [
        ('{"battery":97,"humidity":61.2,"linkquality":87,"pressure":1013,"temperature":4.1,"voltage":2985}', 4.1),
    ],
    "rtl_433": [
        ('{"time":"2026-11-29 04:00:00","model":"Nexus-TH","id":240,"channel":1,"battery_ok":1,'
         '"temperature_C":4.1,"humidity":61}', 4.1),
        ('{"time":"2026-11-29 04:00:09","model":"Prologue-TH","id":17,"channel":1,"battery_ok":1,'
         '"temperature_C":21.6,"humidity":38}', None),
    ],
    "Ruuvi": [
        ('{"gw_mac":"C8:25:2D:8E:9C:2C","rssi":-62,"aoa":[],"gwts":"1764388800","ts":"1764388799",'
         '"dataFormat":5,"temperature":4.1,"humidity":61.2,"pressure":101325,"voltage":2.977}', 4.1),
    ],
}


def table() -> dict[str, dict]:
    """Returns the sensors of the list in food-safety.md, by thermometer."""
    text = (ROOT / "deploy/docs/food-safety.md").read_text()
    sensors = {}
    for number, (name, keys) in enumerate(re.findall(r"^- \*\*(.*?)\*\*: (`topic: [^.]*?`)\.\s", text, re.M)):
        sensor = {"name": f"t{number}", "unit": "°C", "max": 7}
        for key in re.findall("`(.*?)`", " ".join(keys.split())):
            sensor |= yaml.safe_load(key)
        sensors[name] = sensor
    return sensors


def test_each_thermometer_of_the_table_is_read(broker: Mosquitto, make_kiosk: MakeKiosk) -> None:
    sensors = table()
    assert sensors.keys() == MESSAGES.keys()
    kiosk = make_kiosk(sensors=list(sensors.values()))
    checked = kiosk.command("check")
    assert checked.returncode == 0 and "several devices" not in checked.stdout, checked.stdout + checked.stderr
    kiosk.start()
    panel = Client(broker.port, f"{BASE}/#")
    for device, sensor in sensors.items():
        for payload, _ in MESSAGES[device]:
            panel.publish(sensor["topic"], payload)
    for device, sensor in sensors.items():
        own = lambda m: m.topic == f"{BASE}/sensor/{sensor['name']}" and "value" in m.json
        values = [value for _, value in MESSAGES[device] if value is not None]
        assert panel.messages.first(own).json["value"] == values[0], device
    panel.order("banana")
    shown = [m.json["value"] for m in panel.messages if "/sensor/" in m.topic and m.json.get("value") is not None]
    assert set(shown) == {4.1}
    panel.close()


def test_a_topic_of_several_devices_needs_a_key(make_kiosk: MakeKiosk) -> None:
    sensor = {"name": "fridge", "topic": "rtl_433/pi/events", "value": "/temperature_C", "unit": "°C", "max": 7}
    checked = make_kiosk(sensors=[sensor]).command("check")
    assert checked.returncode == 0 and "several devices publish on rtl_433/pi/events" in " ".join(checked.stdout.split())
