"""A machine in forty lines, by the contract of deploy/docs/machine-contract.md alone.

Takes the options of `juice-kiosk machine`. Additions for tests are the pour log and `--wrong`.
"""

import argparse
import json
import os
import threading
from pathlib import Path

import paho.mqtt.client as mqtt

options = argparse.ArgumentParser()
options.add_argument("name")
options.add_argument("--config", type=Path)
options.add_argument("--pour-log", type=Path)
options.add_argument("--seconds", type=float, default=0.1)
options.add_argument("--fail-every", type=int, default=0)
options.add_argument("--wrong", action="store_true", help="a failed juice reports fruit that it never had")
options = options.parse_args()
base, port = "kiosk/k1", json.loads(options.config.read_text())["broker"]["port"]
memory = options.config.with_name(f"machine-{options.name}.last")
status_topic = f"{base}/machine/{options.name}/status"

# --- The machine -----------------------------------------------------------------------------------
last = int(memory.read_text()) if memory.exists() else 0
states: dict[int, dict] = {}  # the answers for the jobs of this run
pouring, pours, lock = 0, 0, threading.RLock()


def store(job: int) -> None:
    global last
    draft = memory.with_suffix(".new")
    with draft.open("w") as file:
        file.write(str(job))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(memory)
    last = job


def say(job: int, **answer) -> None:
    states[job] = answer
    client.publish(f"{base}/made/{options.name}", json.dumps({"job": job} | answer), 1)


def received(client, data, message) -> None:
    order = json.loads(message.payload)
    job = order["job"]
    with lock:
        if job <= last:
            say(job, **states.get(job, {"status": "unknown"}))
        elif message.topic.endswith("/cancel"):
            store(job)
            say(job, status="cancelled")
        elif not pouring:
            store(job)
            begin(order)


def connected(*_) -> None:
    client.subscribe([(f"{base}/make/{options.name}", 1), (f"{base}/make/{options.name}/cancel", 1)])
    client.publish(status_topic, "online", 1, True)


def begin(order: dict) -> None:
    global pouring, pours
    pouring, pours = order["job"], pours + 1
    log(order, pour="begins")
    say(pouring, status="started")
    is_jam = options.fail_every > 0 and pours % options.fail_every == 0
    threading.Timer(options.seconds * order["quantity"] / (1 + is_jam), end, [order, is_jam]).start()


def end(order: dict, is_jam: bool) -> None:
    global pouring
    used = {fruit: (n * order["quantity"] + 1) // 2 for fruit, n in order["recipe"].items()}
    answer = {"status": "failed", "reason": "jam", "used": used} if is_jam else {"status": "done"}
    with lock:
        log(order, pour="ends", **answer)
        pouring = 0
        if is_jam and options.wrong:
            answer["used"] = [{"durian": 1}, {"kiwi": 99}, {fruit: -1 for fruit in used}][pours % 3]
        say(order["job"], **answer)


# --- The pour log, and the connection --------------------------------------------------------------
def log(order: dict, **more) -> None:
    names = ("job", "ticket", "juice", "program", "quantity")
    line = {name: order[name] for name in names if name in order} | more
    with options.pour_log.open("a") as file:
        file.write(json.dumps(line) + "\n")


# paho 2, as in Debian 13, asks for the version of the callbacks.
versions = [mqtt.CallbackAPIVersion.VERSION1] if hasattr(mqtt, "CallbackAPIVersion") else []
client = mqtt.Client(*versions, f"machine-{options.name}", clean_session=True)
client.will_set(status_topic, "offline", 1, True)
client.reconnect_delay_set(0.05, 0.2)
client.on_connect, client.on_message = connected, received
print(f"{options.name}: its last job was {last}", flush=True)
client.connect_async("127.0.0.1", port)
client.loop_forever(retry_first_connection=True)
