"""A payment device, written from deploy/docs/payment-contract.md alone: its journal is the money that moved.

Usage: payment_device.py PORT JOURNAL SEED [SECONDS]. One customer in eight is declined."""

import json
import os
import random
import sys
import time

import paho.mqtt.client as mqtt

port, path, chance = int(sys.argv[1]), sys.argv[2], random.Random(sys.argv[3])
seconds = float((sys.argv + ["0.05"])[4])
base, journal, known, prompt = "kiosk/k1", open(path, "a+"), {}, None
journal.seek(0)
for line in journal:
    known[json.loads(line)["charge"]] = json.loads(line)


def store(charge: int, status: str, amount: int | None = None) -> None:
    money = {"amount": amount, "currency": "EUR", "receipt": charge % 10_000} if amount else {}
    known[charge] = {"charge": charge, "status": status} | money
    journal.write(json.dumps(known[charge]) + "\n")
    journal.flush()
    os.fsync(journal.fileno())


def say_open() -> None:
    for charge in [c for c, r in known.items() if r["status"] in ("waiting", "held", "unknown")]:
        say(charge)


def say(charge: int) -> None:
    answer = known.get(charge, {"charge": charge, "status": "unknown"})
    client.publish(f"{base}/paid/terminal", json.dumps(answer), 1)


def connected(*_: object) -> None:
    client.subscribe([(f"{base}/charge/terminal", 1), (f"{base}/charge/terminal/+", 1)])


def subscribed(*_: object) -> None:
    client.publish(f"{base}/payment/terminal/status", "online", 1, True)
    say_open()


def received(client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
    global prompt
    asked, action = json.loads(message.payload), message.topic.split("/")[4:]
    if action == ["open"]:
        say_open()
        client.publish(f"{base}/paid/terminal", json.dumps({"status": "open", "epoch": asked["epoch"]}), 1)
        return
    charge = asked["charge"]
    status, is_new = known.get(charge, {}).get("status"), charge > max(known, default=0)
    if action == [] and is_new:
        if prompt:
            return  # Another customer pays now.
        store(charge, "waiting")
        prompt = (charge, asked["amount"], time.monotonic() + chance.uniform(0, 2 * seconds))
    elif action == ["capture"] and (status == "held" or is_new):
        held = known.get(charge, {}).get("amount")
        store(charge, "captured" if held else "unknown", held and min(held, asked["amount"]))
    elif action == ["release"] and (status in ("waiting", "held") or is_new):
        store(charge, "released")
    elif action == ["refund"] and status == "captured":
        store(charge, "refunded", known[charge]["amount"])
    prompt = None if prompt and known[prompt[0]]["status"] != "waiting" else prompt
    say(charge)


for charge in [c for c, r in known.items() if r["status"] == "waiting"]:
    store(charge, "declined")  # The power was cut before anything was held.
# paho 2, as in Debian 13, asks for the version of the callbacks.
versions = [mqtt.CallbackAPIVersion.VERSION1] if hasattr(mqtt, "CallbackAPIVersion") else []
client = mqtt.Client(*versions, "terminal", protocol=mqtt.MQTTv5)
client.on_connect, client.on_subscribe, client.on_message = connected, subscribed, received
client.will_set(f"{base}/payment/terminal/status", "offline", 1, True)
client.connect("127.0.0.1", port)
while True:
    if client.loop(0.02) != mqtt.MQTT_ERR_SUCCESS:
        time.sleep(0.05)
        try:
            client.reconnect()
        except OSError:
            pass
    if prompt and time.monotonic() > prompt[2]:
        (charge, amount, _), prompt = prompt, None
        held = chance.random() > 1 / 8
        store(charge, "held" if held else "declined", amount if held else None)
        say(charge)
