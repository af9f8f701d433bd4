"""A real mosquitto with the shipped configuration, and accounts that try to circumvent it."""

import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from client import paho
from ports import free_port, is_listening

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "deploy/mosquitto"
MOSQUITTO = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
# More than any step needs; a machine may be slow.
TIMEOUT = 60
# May read and write everything, so that a test knows which messages the broker has accepted.
AUDITOR, AUDITOR_PASSWORD = "auditor", "auditor-of-the-tests"


def until(is_true: Callable[[], bool], what: str) -> None:
    """Polls a condition that has no event."""
    deadline = time.monotonic() + TIMEOUT
    while not is_true():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.005)


def make_accounts(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [SHIPPED / "make-accounts", "--folder", folder, *options], text=True,
        capture_output=True, env=os.environ | environment, timeout=120,
    )


class SecuredBroker:
    """A broker set up according to deploy/docs/security.md, with other ports and folders."""

    def __init__(self, folder: Path, accounts: str) -> None:
        self.folder = folder
        self.kiosk = folder / "kiosk"
        self.kiosk.mkdir(parents=True)
        (self.kiosk / "accounts").write_text(accounts)
        self.port, self.local_port = free_port(), free_port()
        self.process: subprocess.Popen | None = None
        self.made = self.make()

    def make(self, *options: str) -> subprocess.CompletedProcess:
        made = make_accounts(self.kiosk, *options)
        assert made.returncode == 0, made.stderr
        subprocess.run(
            ["mosquitto_passwd", "-b", self.kiosk / "passwords", AUDITOR, AUDITOR_PASSWORD],
            check=True,
        )
        with open(self.kiosk / "acl", "a") as acl:
            acl.write(f"\nuser {AUDITOR}\ntopic readwrite #\ntopic read $SYS/#\n")
        # Otherwise the broker would run as a user who may not read the test's folder.
        for name in ["passwords", "acl", "server.key"]:
            os.chown(self.kiosk / name, os.getuid(), os.getgid())
        return made

    def start(self, change: Callable[[str], str] = lambda text: text) -> "SecuredBroker":
        shipped = change((SHIPPED / "kiosk.conf").read_text())
        replaced = {
            "/etc/mosquitto/kiosk/": f"{self.kiosk}/",
            "\nlistener 8883\n": f"\nlistener {self.port} 127.0.0.1\n",
            "\nlistener 8884 127.0.0.1\n": f"\nlistener {self.local_port} 127.0.0.1\n",
        }
        for old, new in replaced.items():
            assert old in shipped
            shipped = shipped.replace(old, new)
        (self.folder / "conf.d").mkdir(exist_ok=True)
        (self.folder / "conf.d/kiosk.conf").write_text(shipped)
        shutil.copy(SHIPPED / "juice-kiosk.conf", self.folder / "conf.d")
        # Debian's own settings, and the user: a broker started by root would otherwise switch to
        # one who may not read this folder.
        (self.folder / "mosquitto.conf").write_text(
            f"pid_file {self.folder}/mosquitto.pid\n"
            f"persistence true\npersistence_location {self.folder}/\n"
            f"log_dest file {self.folder}/mosquitto.log\n"
            f"include_dir {self.folder}/conf.d\n"
            f"user {pwd.getpwuid(os.getuid()).pw_name}\n"
        )
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen(
                [MOSQUITTO, "-c", self.folder / "mosquitto.conf"], stdout=output, stderr=output
            )
        until(self.is_open, f"the broker listens: {(self.folder / 'output').read_text()}")
        return self

    def is_open(self) -> bool:
        assert self.process.poll() is None, (self.folder / "output").read_text() + self.log()
        return all(is_listening(port) for port in [self.port, self.local_port])

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def log(self) -> str:
        return (self.folder / "mosquitto.log").read_text()

    @property
    def ca(self) -> Path:
        return self.kiosk / "ca.crt"

    def password(self, name: str) -> str:
        if name == AUDITOR:
            return AUDITOR_PASSWORD
        return (self.kiosk / f"secrets/{name}.password").read_text().rstrip("\n")

    def section(self, **changes: Any) -> dict[str, Any]:
        """Returns the section `broker` for a kiosk with the account of the role controller."""
        return {
            "host": "localhost", "port": self.local_port, "username": "controller",
            "password_file": str(self.kiosk / "secrets/controller.password"),
            "tls": {"ca_file": str(self.ca)},
        } | changes

    def secrets(self) -> list[str]:
        return [path.read_text().rstrip("\n") for path in self.kiosk.glob("secrets/*.password")]


class Refused(Exception):
    """The broker has refused an account."""


class Client(mqtt.Client):
    """A client that ends regularly when the broker refuses its certificate. With TLS 1.3 the
    refusal follows the handshake, and paho 1.6.1 does not handle the error."""

    def loop_forever(self, *arguments: Any, **options: Any) -> int:
        try:
            return super().loop_forever(*arguments, **options)
        except ssl.SSLError:
            self.on_disconnect(self, None, mqtt.MQTT_ERR_TLS)
            return mqtt.MQTT_ERR_TLS


class Account:
    """An encrypted MQTT 5 connection that stores its messages."""

    def __init__(
        self, secured_broker: SecuredBroker, name: str | None, *, password: str | None = None, port: int = 0,
        client_id: str = "", will: tuple[str, str] | None = None,
        certificate: str | None = None,
    ) -> None:
        self.heard: list[mqtt.MQTTMessage] = []
        self._changed = threading.Condition()
        self._answered: set[int] = set()
        # The reason codes of the latest subscription, one per topic: the QoS, or a failure.
        self.granted: list[int] = []
        self._codes: list[int] = []
        self.is_gone = threading.Event()
        self.name = name
        self.client = client = paho(client_id, Client, protocol=mqtt.MQTTv5)
        client.on_connect = lambda _c, _d, _f, code, _p: self._note(self._codes.append, code.value)
        client.on_message = lambda _c, _d, message: self._note(self.heard.append, message)
        client.on_publish = lambda _c, _d, mid: self._note(self._answered.add, mid)
        client.on_subscribe = lambda _c, _d, mid, codes, _p: self._subscribed(mid, codes)
        client.on_disconnect = lambda *_: self._note(lambda _: self.is_gone.set(), None)
        if name is not None:
            client.username_pw_set(name, secured_broker.password(name) if password is None else password)
        if will:
            client.will_set(*will, qos=1)
        clients = secured_broker.kiosk / "clients"
        client.tls_set(
            str(secured_broker.ca), certfile=certificate and str(clients / f"{certificate}.crt"),
            keyfile=certificate and str(clients / f"{certificate}.key"),
        )
        try:
            client.connect("127.0.0.1", port or secured_broker.port, clean_start=True)
            client.loop_start()
            self._wait(lambda: self._codes or self.is_gone.is_set())
        except (ssl.SSLError, OSError) as error:
            raise Refused(str(error)) from error
        if not self._codes or self._codes[0] != 0:
            self.drop()
            raise Refused(f"code {self._codes}")

    def _note(self, note: Callable[[Any], None], what: Any) -> None:
        with self._changed:
            note(what)
            self._changed.notify_all()

    def _subscribed(self, mid: int, codes: list[mqtt.ReasonCodes]) -> None:
        self.granted = [code.value for code in codes]
        self._note(self._answered.add, mid)

    def _wait(self, is_true: Callable[[], Any]) -> None:
        with self._changed:
            assert self._changed.wait_for(is_true, TIMEOUT), f"{self.name} waited in vain"

    def subscribe(self, *filters: str) -> "Account":
        code, mid = self.client.subscribe([(topic, 1) for topic in filters])
        assert code == mqtt.MQTT_ERR_SUCCESS
        self._wait(lambda: mid in self._answered or self.is_gone.is_set())
        assert not self.is_gone.is_set(), f"{self.name} was thrown out"
        return self

    def wait_until_delivered(self) -> None:
        """Returns when all messages that the broker had for it before this call have arrived: the
        SUBACK follows them."""
        self.subscribe("nothing/comes/here")

    def publish_all(
        self, messages: dict[str, str], retain: bool = False, **properties: Any
    ) -> None:
        """Publishes messages. Returns when the broker has acknowledged all of them."""
        packed = Properties(PacketTypes.PUBLISH)
        for name, value in properties.items():
            setattr(packed, name, value)
        mids = {
            self.client.publish(topic, text, 1, retain, packed).mid
            for topic, text in messages.items()
        }
        self._wait(lambda: mids <= self._answered or self.is_gone.is_set())

    def wait_for(self, topic: str, text: str = "") -> mqtt.MQTTMessage:
        def found() -> mqtt.MQTTMessage | None:
            for message in list(self.heard):
                if message.topic == topic and text in message.payload.decode():
                    return message
            return None

        self._wait(found)
        return found()

    def texts(self, topic: str | None = None) -> set[str]:
        return {m.payload.decode() for m in self.heard if topic in (None, m.topic)}

    def drop(self) -> None:
        """Disconnects like a device without power: the broker publishes the will."""
        self.client.on_disconnect = lambda *_: None
        sock = self.client.socket()
        if sock:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.client.disconnect()
        self.client.loop_stop()


def table() -> tuple[list[str], dict[str, dict[str, set[str]]]]:
    """Returns the roles, and the rights of each role by topic, from deploy/docs/security.md."""
    page = (ROOT / "deploy/docs/security.md").read_text()
    rows: dict[str, dict[str, set[str]]] = {}
    for writers, readers, topics in re.findall(r"^- (.*?) → (.*?):((?: .+\n|\n(?=  ))+)", page, re.M):
        topics = " ".join(topics.split())
        names = re.findall(r"`([^`]+)`", topics)
        assert topics == ", ".join(f"`{name}`" for name in names) and rows.keys().isdisjoint(names), topics
        rights: dict[str, set[str]] = {}
        rows |= dict.fromkeys(names, rights)
        for right, roles in (("write", writers), ("read", readers)):
            for role in roles.split(", ") if roles != "none" else []:
                rights.setdefault(role, set()).add(right)
    return list(dict.fromkeys(role for rights in rows.values() for role in rights)), rows
