"""Panels, displays and desks that use paho instead of the kiosk's own client."""

import json
import socket
import threading
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Iterable

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from arrivals import TIMEOUT, Arrivals

BASE = "kiosk/k1"


@dataclass(frozen=True)
class Message:
    topic: str
    payload: bytes
    retain: bool
    correlation: bytes | None

    @property
    def text(self) -> str:
        return self.payload.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.payload)


def paho(client_id: str, kind: type[mqtt.Client] = mqtt.Client, **options: Any) -> mqtt.Client:
    """Creates a client of paho 1 (Debian 12) or 2 (Debian 13), with the callbacks of version 1."""
    versions = getattr(mqtt, "CallbackAPIVersion", None)
    client = kind(*([versions.VERSION1] if versions else []), client_id, **options)
    # paho 2 refuses a change when the client is connected.
    client.max_inflight_messages_set(1000)
    return client


class Client:
    """Connects, subscribes and stores all messages; reconnects after an outage."""

    def __init__(
        self, port: int, *filters: str, protocol: str = "5", name: str = "",
        login: tuple[str, str] | None = None, authority: Path | None = None,
    ) -> None:
        """Uses TLS if an authority is given."""
        self.messages: Arrivals[Message] = Arrivals()
        self.filters = filters
        self.protocol = protocol
        self._is_subscribed = threading.Event()
        self.client = paho(name, protocol=mqtt.MQTTv5 if protocol == "5" else mqtt.MQTTv311)
        self.client.reconnect_delay_set(0.05, 0.2)
        # Otherwise Nagle's algorithm delays a press by up to 40 ms, until the ACK of the previous
        # packet.
        self.client.on_socket_open = lambda client, data, connection: connection.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        self.client.on_connect = self._connected
        self.client.on_subscribe = lambda *_: self._is_subscribed.set()
        self.client.on_disconnect = lambda *_: self._is_subscribed.clear()
        self.client.on_message = lambda client, data, message: self.received(message)
        if login:
            self.client.username_pw_set(*login)
        if authority:
            self.client.tls_set(str(authority))
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        self.wait_until_subscribed()

    def wait_until_subscribed(self) -> None:
        assert self._is_subscribed.wait(TIMEOUT), (
            f"not subscribed; connected: {self.client.is_connected()}, threads: {threading.enumerate()}")

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def _connected(self, client: mqtt.Client, *_: Any) -> None:
        if self.filters:
            client.subscribe([(filter, 1) for filter in self.filters])
        else:
            self._is_subscribed.set()

    def received(self, message: mqtt.MQTTMessage) -> None:
        properties = getattr(message, "properties", None)
        self.messages.add(
            Message(
                message.topic, message.payload, message.retain,
                getattr(properties, "CorrelationData", None),
            )
        )

    def publish(
        self, topic: str, payload: str | bytes, retain: bool = False, **properties: Any
    ) -> None:
        """Publishes a message. Returns after the broker's PUBACK."""
        packed = None
        if properties:
            packed = Properties(PacketTypes.PUBLISH)
            for name, value in properties.items():
                setattr(packed, name, value)
        self.client.publish(topic, payload, 1, retain, packed).wait_for_publish(TIMEOUT)

    def ask(
        self, topic: str, payload: str | bytes | dict, answer: str | None = None, **properties: Any
    ) -> Message:
        """Sends a command and waits for its answer."""
        since = len(self.messages)
        answer = answer or f"{BASE}/{topic}/result"
        is_answer = lambda message: message.topic == answer
        if isinstance(payload, dict):
            # Repeated answers to other commands may arrive before it.
            number = payload.get("id")
            is_answer = lambda m: m.topic == answer and m.json.get("id") == number
            payload = json.dumps(payload)
        self.publish(f"{BASE}/{topic}", payload, **properties)
        return self.messages.first(is_answer, since)

    def order(self, payload: str | bytes | dict, panel: str = "p1", **properties: Any) -> Any:
        return self.ask(f"order/{panel}", payload, **properties).json

    def restock(self, payload: str | bytes | dict) -> Any:
        return self.ask("restock/desk", payload).json

    def restock_briefly(
        self, restock: dict[str, Any], fruits: Iterable[str], seconds: float = 1
    ) -> tuple[Any, str]:
        """Restocks with a date in some seconds for these fruits; in more seconds each time that the kiosk receives
        the restock after that date. Returns the result and the date."""
        while True:
            expires = soon(seconds)
            dates = restock.get("best_before", {}) | dict.fromkeys(fruits, expires)
            result = self.restock(restock | {"id": uuid.uuid4().hex, "best_before": dates})
            if result["status"] == "applied":
                return result, expires
            assert result["reason"] == "expired" and seconds < TIMEOUT, result
            seconds = 2 * seconds + 1

    def service(self, payload: str | bytes | dict) -> Any:
        return self.ask("service/desk", payload).json


def soon(seconds: float) -> str:
    """Returns the time in some seconds, as the kiosk writes it."""
    time = datetime.now(timezone.utc) + timedelta(seconds=seconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def retained(port: int, below: str = BASE) -> dict[str, str]:
    """Returns the retained messages that a new display receives."""
    client = Client(port, f"{below}/#", "end")
    try:
        # The broker sends retained messages before later ones.
        client.publish("end", b"")
        client.messages.first(lambda message: message.topic == "end")
        return {message.topic: message.text for message in client.messages if message.retain}
    finally:
        client.close()
