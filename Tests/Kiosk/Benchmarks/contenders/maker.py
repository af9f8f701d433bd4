"""A maker's program of one evening in Python: paho, and one commit for each order.

Usage: maker.py PORT FILE
"""

import json
import socket
import sqlite3
import sys

import paho.mqtt.client as mqtt

RECIPES = {
    "strawberry": {"strawberry": 16},
    "banana": {"banana": 2},
    "kiwi": {"kiwi": 3},
    "pineapple": {"pineapple": 2},
    "strawberry_banana": {"strawberry": 10, "banana": 1},
    "mango": {"mango": 3},
    "mango_kiwi": {"mango": 2, "kiwi": 1},
}

database = sqlite3.connect(sys.argv[2])
database.executescript("""
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS stock (
        fruit TEXT PRIMARY KEY, quantity INTEGER NOT NULL CHECK (quantity >= 0));
    CREATE TABLE IF NOT EXISTS orders (
        number INTEGER PRIMARY KEY, id TEXT, juice TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
    INSERT OR IGNORE INTO stock VALUES ('strawberry', 1000000000), ('banana', 1000000000),
        ('pineapple', 1000000000), ('kiwi', 1000000000), ('mango', 1000000000);
""")


def make(order):
    try:
        with database:
            for fruit, amount in RECIPES[order["juice"]].items():
                database.execute(
                    "UPDATE stock SET quantity = quantity - ? WHERE fruit = ?", (amount, fruit)
                )
            made = database.execute(
                "INSERT INTO orders (id, juice) VALUES (?, ?)", (order["id"], order["juice"])
            )
    except sqlite3.IntegrityError:
        return {"id": order["id"], "status": "out_of_stock", "juice": order["juice"]}
    return {
        "id": order["id"], "status": "ready", "ticket": made.lastrowid, "juice": order["juice"]
    }


def on_message(client, data, message):
    result = make(json.loads(message.payload))
    client.publish(message.topic + "/result", json.dumps(result, separators=(",", ":")), qos=1)


def on_socket_open(client, data, connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


# The session outlives the process, so that orders wait while it is away.
# paho 2, as in Debian 13, asks for the version of the callbacks.
versions = getattr(mqtt, "CallbackAPIVersion", None)
client = mqtt.Client(
    *([versions.VERSION1] if versions else []), "maker-python", clean_session=False)
client.max_inflight_messages_set(1000)
client.on_socket_open = on_socket_open
client.on_connect = lambda client, *_: client.subscribe("kiosk/k1/order/+", qos=1)
client.on_subscribe = lambda *_: print("online", flush=True)
client.on_message = on_message
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_forever()
