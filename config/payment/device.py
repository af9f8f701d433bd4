"""A payment device in forty lines: the rules of deploy/docs/payment-contract.md, here for a coin box.

Usage: device.py PORT FILE      the broker's port, and the file that survives a power cut
"""
import json
import os
import queue
import sys
from contextlib import suppress

import paho.mqtt.client as mqtt
# Your hardware. accept() waits pay_seconds at most, or until stop() of its charge, from another thread.
from coin_box import box

CHARGE, PAID, STATUS = (f"kiosk/k1/{name}/coins" for name in ("charge", "paid", "payment"))
MOVES = {("/capture", "held"): (box.keep, "captured"), ("/release", "held"): (box.give_back, "released"),
         ("/refund", "captured"): (box.pay_out, "refunded")}
file = open(sys.argv[2], "a+")
file.seek(0)
whole = [line for line in file.read().split("\n") if line.endswith("}")]  # a power cut may cut the last one
charges = {charge["charge"]: charge for charge in map(json.loads, whole)}
requests = queue.SimpleQueue()  # paho's thread sends and receives while a customer pays

def store(charge, status):
    known = charges[charge["charge"]] = charge | {"status": status}
    print("\n" + json.dumps(known), end="", file=file, flush=True)
    os.fsync(file.fileno())  # on the disk before anything else happens
    return known

def received(client, message):
    asked, what = json.loads(message.payload), message.topic.removeprefix(CHARGE)
    if what == "/open":
        say_open(client)
        return say(client, {"status": "open", "epoch": asked["epoch"]})
    is_new = asked["charge"] > max(charges, default=0)
    known = charges.get(asked["charge"], {"charge": asked["charge"], "status": "unknown"})
    if is_new and what == "":
        # What is unknown until the box has moved stays unknown if the power is cut.
        known = store({key: asked[key] for key in ("charge", "amount", "currency")}, "unknown")
        say(client, known | {"status": "waiting"})
        known = store(known, "held") if box.accept(asked) else store(known | {"reason": "no coins"}, "declined")
    elif is_new and what != "/state":  # never begin it
        known = store(known, "released" if what == "/release" else "unknown")
    elif (what, known["status"]) in MOVES and asked.get("amount", 0) <= known["amount"]:
        move, status = MOVES[what, known["status"]]
        known = store(known | {"amount": asked.get("amount", known["amount"])}, "unknown")
        move(known)
        known = store(known, status)
    say(client, known)

def say(client, charge):
    client.publish(PAID, json.dumps(charge), 1)

def say_open(client):
    for charge in [charge for charge in charges.values() if charge["status"] in ("held", "unknown")]:
        say(client, charge)

def connected(client, *_):
    client.subscribe([(CHARGE, 1), (CHARGE + "/+", 1)])
    client.publish(STATUS + "/status", "online", 1, True)
    requests.put(None)

def arrived(client, _, message):
    if message.topic == CHARGE + "/release":
        with suppress(ValueError, TypeError, KeyError):  # received() fails, too
            box.stop(json.loads(message.payload)["charge"])  # also before its accept()
    requests.put(message)

client = mqtt.Client(client_id="juice-coins", clean_session=True)
client.on_connect, client.on_message = connected, arrived
client.will_set(STATUS + "/status", "offline", 1, True)
client.connect_async("127.0.0.1", int(sys.argv[1]))  # the broker may start later
client.loop_start()
while True:
    message = requests.get()
    received(client, message) if message else say_open(client)
