"""A payment device in forty lines: the rules of deploy/docs/payment.md, here for a coin box.

Usage: device.py PORT FILE      the broker's port, and the file that survives a power cut
"""
import json
import os
import sys

import paho.mqtt.client as mqtt
from coin_box import box  # your hardware; accept() waits pay_seconds at most

TOPIC = "kiosk/k1/{}/coins"
MOVES = {  # what is asked, in which state: the state before the box moves, its move, the state after
    ("capture", "held"): ("capturing", box.keep, "captured"),
    ("release", "held"): ("releasing", box.give_back, "released"),
    ("refund", "captured"): ("refunding", box.pay_out, "refunded")}
file = open(sys.argv[2], "a+")
file.seek(0)
charges = {line["charge"]: line for line in map(json.loads, filter(lambda l: l.endswith("}"), file.read().split("\n")))}
for charge in charges.values():  # what it was doing at the power cut, the box cannot say
    if charge["status"] in ("waiting", "capturing", "releasing", "refunding"):
        charge["status"] = "unknown"

def store(charge, status, **more):
    known = charges[charge["charge"]] = charge | {"status": status} | more
    file.write("\n" + json.dumps(known))
    file.flush()
    os.fsync(file.fileno())  # on the disk before anything else happens
    return known

def received(client, _, message):
    asked, what = json.loads(message.payload), message.topic.split("/")[4:] or ["charge"]
    number, what, known = asked["charge"], what[0], charges.get(asked["charge"])
    if known is None and (what == "state" or number <= max(charges, default=0)):
        known = {"charge": number, "status": "unknown"}
    elif known is None and what == "charge":
        charge = {key: asked[key] for key in ("charge", "amount", "currency")}
        say(client, store(charge, "waiting"))
        known = store(charge, "held") if box.accept(asked) else store(charge, "declined", reason="no coins")
    elif known is None:  # never begin it
        known = store({"charge": number}, "released" if what == "release" else "unknown")
    elif (what, known["status"]) in MOVES and asked.get("amount", 0) <= known["amount"]:
        before, move, after = MOVES[what, known["status"]]
        known = store(known, before, amount=asked.get("amount", known["amount"]))
        move(known)
        known = store(known, after)
    say(client, known)

def say(client, charge):
    client.publish(TOPIC.format("paid"), json.dumps(charge), 1)

def connected(client, *_):
    client.subscribe([(TOPIC.format("charge"), 1), (TOPIC.format("charge") + "/+", 1)])
    client.publish(TOPIC.format("payment") + "/status", "online", 1, True)
    for charge in charges.values():
        if charge["status"] in ("held", "unknown"):
            say(client, charge)

# paho 2, as in Debian 13, asks for the version of the callbacks.
versions = [mqtt.CallbackAPIVersion.VERSION1] if hasattr(mqtt, "CallbackAPIVersion") else []
client = mqtt.Client(*versions, "juice-coins", clean_session=True)
client.on_connect, client.on_message = connected, received
client.will_set(TOPIC.format("payment") + "/status", "offline", 1, True)
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_forever()
