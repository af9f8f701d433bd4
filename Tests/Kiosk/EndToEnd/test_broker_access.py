"""Only the right accounts can log in, and no account can do more than its role permits."""

import bisect
import json
import os
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from conftest import MakeKiosk, factory
from kiosk import Kiosk, environment, program
from proxy import Proxy
from secured_broker import (
    AUDITOR, TIMEOUT, ROOT, SHIPPED, Account, SecuredBroker, Refused,
    make_accounts, table, until,
)
from ports import free_port, is_listening

# paho 1.6.1 and this test use TLS versions that Python has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ACCOUNTS = """
topics kiosk/k1
controller controller
panel panel1
panel panel2
display window
dashboard office
monitor nagios
homeassistant homeassistant
machine bar
payment terminal
sensor fridge
"""
# The account for each role that tries everything.
NAMES = {
    "controller": "controller", "panel": "panel1", "display": "window", "dashboard": "office",
    "monitor": "nagios", "homeassistant": "homeassistant", "machine": "bar",
    "payment": "terminal", "sensor": "fridge",
}
OTHERS = [*NAMES.values(), "panel2"]


@pytest.fixture(scope="module")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    secured_broker = SecuredBroker(tmp_path_factory.mktemp("secured_broker"), ACCOUNTS).start()
    yield secured_broker
    secured_broker.stop()


@pytest.fixture
def connect_as(secured_broker: SecuredBroker) -> Iterator[Callable[..., Account]]:
    yield from factory(partial(Account, secured_broker), Account.drop)


@pytest.fixture
def auditor(connect_as: Callable[..., Account]) -> Account:
    return connect_as(AUDITOR, port=0).subscribe("#")


# MARK: Table of rights


def instances(pattern: str, own: str) -> list[str]:
    """Returns topics that match a row of the table for an account; several if one does not suffice.
    """
    choices = {
        "<own name>": [own],
        "<another's name>": [name for name in OTHERS if name != own],
        "<fruit>": ["kiwi", "strawberry"],
        "<juice>": ["mango_kiwi"],
        "<machine>": ["bar", "blender"],
        "<device>": ["terminal", "coins"],
        "<sensor>": ["fridge", "tank"],
        "<anything>": ["reply", "reply/1/2"],
        "<another kiosk>": ["k2"],
        "<component>": ["sensor"],
        "<kiosk>": ["k1"],
        "<entity>": ["kiwi"],
        "<request>": ["capture", "release", "refund", "state", "open"],
    }
    whole = {
        "kiosk/k1/<anything else>": [
            "kiosk/k1", "kiosk/k1/", "kiosk/k1/order", "kiosk/k1/restock", "kiosk/k1/secret",
            f"kiosk/k1/Order/{own}", f"kiosk/k1/orders/{own}",
            "kiosk/k1/stock/kiwi/x", "kiosk/k1/juice", "kiosk/k1/juice/kiwi/x", "kiosk/k1/alert",
            "kiosk/k1/alert/kiwi/x", "kiosk/k1/menu/x", "kiosk/k1/status/x", "kiosk/k1/health/x",
            "kiosk/k1/info/x", "kiosk/k1/events/x", "kiosk/k1/sales/x", "kiosk/k1/forecast/x",
            "kiosk/k1/history/x", "kiosk/k1/job", "kiosk/k1/program", "kiosk/k1/make", "kiosk/k1/made",
            "kiosk/k1/machine", "kiosk/k1/measure", "kiosk/k1/sensor", f"kiosk/k1/measure/{own}/x",
            "kiosk/k1/charge", "kiosk/k1/paid", "kiosk/k1/payment", f"kiosk/k1/payment/{own}/x",
            f"kiosk/k1/charge/{own}/x/y",
            f"kiosk/k1/make/{own}/x", f"kiosk/k1/machine/{own}/x", f"kiosk/k1/machine/{own}/status/x",
        ],
        "kiosk/<another kiosk>/<anything>": [
            f"kiosk/k2/{rest}" for rest in [
                f"order/{own}", f"order/{own}/result", f"restock/{own}", f"service/{own}",
                f"job/{own}", f"program/{own}", f"make/{own}", f"made/{own}", f"machine/{own}/status",
                f"charge/{own}", f"paid/{own}", f"payment/{own}/status",
                "stock", "stock/kiwi", "status", "events",
            ]
        ],
        "<anything else>": [
            "x", "/", "/kiosk/k1/stock", "kiosk", f"order/{own}", "$share", "$control/x",
            "zigbee2mqtt/button", "homeassistant/x", "homeassistant/a/b/c/d/config", own,
        ],
        "$SYS/<anything>": ["$SYS/broker/version", "$SYS/broker/uptime", "$SYS/x"],
    }
    if pattern in whole:
        return whole[pattern]
    topics = [pattern]
    for hole, values in choices.items():
        if hole in pattern:
            topics = [topic.replace(hole, value) for topic in topics for value in values]
    assert not any("<" in topic for topic in topics), pattern
    return topics


def expected(own: str, role: str) -> dict[str, set[str]]:
    _, rows = table()
    topics: dict[str, set[str]] = {}
    for pattern, rights in rows.items():
        for topic in instances(pattern, own):
            assert topic not in topics, f"{topic} stands in two rows"
            topics[topic] = rights.get(role, set())
    return topics


def test_the_table_names_every_role_and_every_topic() -> None:
    roles, rows = table()
    blocks = re.findall(r"^\[(\w+)\]$", (SHIPPED / "acl").read_text(), re.M)
    assert set(roles) == set(NAMES)
    assert list(NAMES) == blocks
    page = (ROOT / "deploy/docs/protocol.md").read_text()
    # The topics that the page documents, with its own placeholders.
    command = r"^- `((?:order|restock|service)/<\w+>(?:/result)?)`[ :;]"
    documented = set(re.findall(command, page, re.M))
    received = page.split("## What you receive")[1].split("\n## ")[0]
    documented |= set(re.findall(r"^- `([a-z]+(?:/<\w+>)?)`(?: \(retained\))?: ", received, re.M))
    assert len(documented) >= 15
    for topic in documented:
        topic = re.sub(r"^(order|restock|service|charge)/<\w+>", r"\1/<own name>", topic)
        assert f"kiosk/k1/{topic}" in rows


@pytest.mark.parametrize("role", NAMES)
def test_a_role_writes_what_the_table_says(
    role: str, auditor: Account, connect_as: Callable[..., Account]
) -> None:
    own = NAMES[role]
    topics = expected(own, role)
    account = connect_as(own)
    # mosquitto acknowledges a denied message, too; only delivery proves the right.
    sent = {topic: f"{own} writes {topic}" for topic in topics}
    for topic, text in sent.items():
        # One message after the other: a disconnect because of one must not hide the results of the
        # rest.
        if account.is_gone.is_set():
            account = connect_as(own)
        account.publish_all({topic: text})
    auditor.wait_until_delivered()
    arrived = {topic for topic, text in sent.items() if text in auditor.texts(topic)}
    assert arrived == {topic for topic, rights in topics.items() if "write" in rights}


@pytest.mark.parametrize("role", NAMES)
def test_a_role_reads_what_the_table_says(
    role: str, auditor: Account, connect_as: Callable[..., Account]
) -> None:
    own = NAMES[role]
    topics = expected(own, role)
    mine = {topic: f"for {own} on {topic}" for topic in topics if not topic.startswith("$")}
    kept = {topic: f"kept {text}" for topic, text in mine.items()}
    # The kiosk of another test has left messages.
    auditor.wait_until_delivered()
    auditor.publish_all({m.topic: "" for m in auditor.heard if m.retain}, retain=True)
    auditor.publish_all(kept, retain=True)
    # Each filter that could match: all together, each by itself, and shared.
    alone = [topic for topic in topics if not topic.startswith("$share")]
    account = connect_as(own).subscribe("#", "$SYS/#", *alone, "$share/thieves/#")
    auditor.publish_all(mine)
    auditor.publish_all({topic: "" for topic in kept}, retain=True)
    auditor.wait_until_delivered()
    account.wait_until_delivered()
    heard = {m.topic for m in account.heard if not m.payload.decode().startswith("kept")}
    kept_heard = {m.topic for m in account.heard if m.payload.decode().startswith("kept")}
    readable = {topic for topic, rights in topics.items() if "read" in rights}
    # No controller runs in this test, so only the auditor has published.
    assert heard == readable
    assert kept_heard == readable
    # The auditor proves that all of this was readable.
    assert set(mine.values()) <= auditor.texts()


def test_what_the_broker_tells_of_itself_was_there_to_be_read(
    connect_as: Callable[..., Account]
) -> None:
    connect_as(AUDITOR).subscribe("$SYS/#").wait_for("$SYS/broker/version")


def test_a_will_does_no_more_than_its_account(
    auditor: Account, connect_as: Callable[..., Account]
) -> None:
    for name, topic in [("window", "kiosk/k1/order/window"), ("panel1", "kiosk/k1/stock/kiwi")]:
        try:
            connect_as(name, will=(topic, "the last will")).drop()
        except Refused:
            pass
    # The arrival of this message shows that the others had enough time.
    connect_as("panel2", will=("kiosk/k1/order/panel2", "a will")).drop()
    auditor.wait_for("kiosk/k1/order/panel2", "a will")
    assert "the last will" not in auditor.texts()


# MARK: Login


def test_nobody_comes_in_without_an_account(connect_as: Callable[..., Account], secured_broker: SecuredBroker) -> None:
    for port in [secured_broker.port, secured_broker.local_port]:
        for name, password in [
            (None, None), ("panel1", "wrong"), ("panel1", ""), ("panel9", secured_broker.password("panel1")),
            ("panel1", secured_broker.password("panel2")), ("", ""), ("#", secured_broker.password("panel1")),
        ]:
            with pytest.raises(Refused, match="code|Not authorized"):
                connect_as(name, password=password, port=port)
        connect_as("panel1", port=port)


def test_whoever_comes_with_the_same_account_throws_the_one_before_out(
    connect_as: Callable[..., Account], secured_broker: SecuredBroker
) -> None:
    first = connect_as("panel1", client_id="one")
    connect_as("panel1", client_id="another")
    assert first.is_gone.wait(TIMEOUT)
    # On the broker's own machine an account may connect twice.
    first = connect_as("controller", port=secured_broker.local_port, client_id="one")
    connect_as("controller", port=secured_broker.local_port, client_id="another")
    first.wait_until_delivered()


def test_what_the_page_says_of_mosquitto_itself(
    auditor: Account, connect_as: Callable[..., Account], secured_broker: SecuredBroker
) -> None:
    page = (ROOT / "deploy/docs/security.md").read_text()
    command = re.search("^mosquitto_pub .*$", page, re.M)[0]
    here = command.replace("/etc/mosquitto/kiosk/ca.crt", str(secured_broker.ca)).replace("8883", f"{secured_broker.port}")
    assert here.count(str(secured_broker.folder)) == 1 and f"-p {secured_broker.port} " in here
    refused = subprocess.run(here.split(), capture_output=True, text=True, timeout=TIMEOUT)
    assert refused.returncode != 0 and "not authorised" in refused.stderr
    # An account without the right receives a success and no message.
    login = ["-u", "window", "-P", secured_broker.password("window")]
    assert subprocess.run([*here.split(), *login], timeout=TIMEOUT).returncode == 0
    window = connect_as("window").subscribe("kiosk/k1/events")
    assert window.granted == [1]
    connect_as("panel1").publish_all({"kiosk/k1/order/panel1": "a press"})
    auditor.wait_for("kiosk/k1/order/panel1", "a press")
    assert "kiwi" not in auditor.texts()


def test_what_is_not_encrypted_is_not_answered(secured_broker: SecuredBroker) -> None:
    # CONNECT without an account, MQTT 3.1.1 (3.1).
    hello = bytes([0x10, 13, 0, 4]) + b"MQTT" + bytes([4, 2, 0, 60, 0, 1]) + b"x"
    for port in [secured_broker.port, secured_broker.local_port]:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as plain:
            plain.sendall(hello)
            answer = b""
            try:
                while more := plain.recv(100):
                    answer += more
            except ConnectionResetError:
                pass
            # At most a TLS alert (RFC 8446, 5.1), never a CONNACK.
            assert answer[:1] in [b"", b"\x15"]


@pytest.mark.parametrize(
    ("newest", "is_let_in"),
    [
        (ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True),
    ],
)
def test_old_encryption_is_refused(secured_broker: SecuredBroker, newest: ssl.TLSVersion, is_let_in: bool) -> None:
    for port in [secured_broker.port, secured_broker.local_port]:
        context = ssl.create_default_context(cafile=secured_broker.ca)
        # Otherwise OpenSSL itself does not offer the old versions.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = newest
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as plain:
            if is_let_in:
                with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
                    assert encrypted.version() == newest.name.replace("_", ".")
            else:
                with pytest.raises(ssl.SSLError, match="alert protocol version"):
                    context.wrap_socket(plain, server_hostname="localhost")


def test_a_second_lock_asks_for_a_certificate_of_ones_own(tmp_path: Path) -> None:
    secured_broker = SecuredBroker(tmp_path, ACCOUNTS)
    secured_broker.make("--client-certificates")
    try:
        secured_broker.start(
            lambda text: re.sub(r"^#(cafile|require_certificate)", r"\1", text, flags=re.M)
        )
        with pytest.raises(Refused):
            Account(secured_broker, "panel1")
        Account(secured_broker, "panel1", certificate="panel1").drop()
        # The certificate is valid for a client, but not for a server.
        purposes = subprocess.run(
            ["openssl", "x509", "-in", secured_broker.kiosk / "clients/panel1.crt", "-noout", "-purpose"],
            check=True, capture_output=True, text=True,
        ).stdout
        assert "SSL client : Yes" in purposes and "SSL server : No" in purposes
    finally:
        secured_broker.stop()


def test_what_is_off_can_be_switched_on(tmp_path: Path) -> None:
    """In the file, a comment has a space after the '#', a disabled setting has none."""
    port = free_port()

    def switch_on(text: str) -> str:
        text = re.sub(r"^#(?=\w)", "", text, flags=re.M)
        assert "\nlistener 9443\n" in text
        return text.replace("listener 9443", f"listener {port} 127.0.0.1")

    secured_broker = SecuredBroker(tmp_path, ACCOUNTS).start(switch_on)
    try:
        until(lambda: is_listening(port), "browsers are let in")
        context = ssl.create_default_context(cafile=secured_broker.ca)
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as browser:
                browser.sendall(
                    b"GET /mqtt HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                    b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
                )
                assert browser.recv(1000).startswith(b"HTTP/1.1 101 ")
    finally:
        secured_broker.stop()


# MARK: Kiosk and secured broker


@pytest.fixture
def make_controller(make_kiosk: MakeKiosk, secured_broker: SecuredBroker) -> MakeKiosk:
    """Makes kiosks with the account of the role controller."""
    def make(**broker: Any) -> Kiosk:
        settings = secured_broker.section(password_file="password", **broker)
        kiosk = make_kiosk(secured_broker, broker=settings)
        password = kiosk.folder / "password"
        password.touch(0o600)
        password.write_text(secured_broker.password("controller") + "\n")
        return kiosk

    return make


@pytest.fixture
def controller(make_controller: MakeKiosk) -> Kiosk:
    return make_controller().start(KIOSK_LOG_LEVEL="trace")


def test_a_press_becomes_a_juice_and_an_answer(
    controller: Kiosk, connect_as: Callable[..., Account]
) -> None:
    window = connect_as("window").subscribe("kiosk/k1/#")
    window.wait_for("kiosk/k1/status", "online")
    window.wait_for("kiosk/k1/stock/kiwi", "10")
    panel = connect_as("panel1").subscribe("kiosk/k1/#")
    panel.publish_all({"kiosk/k1/order/panel1": '{"id":"a1","juice":"kiwi"}'})
    answer = json.loads(panel.wait_for("kiosk/k1/order/panel1/result", "a1").payload)
    assert answer["status"] == "ready"
    window.wait_for("kiosk/k1/stock/kiwi", "7")
    office = connect_as("office").subscribe("kiosk/k1/#")
    office.publish_all({"kiosk/k1/restock/office": '{"id":"r1","add":{"kiwi":3}}'})
    office.wait_for("kiosk/k1/restock/office/result", "applied")
    office.wait_for("kiosk/k1/events", "restocked")
    window.wait_for("kiosk/k1/stock/kiwi", "10")


def test_a_machine_makes_what_it_is_told(
    make_controller: MakeKiosk, secured_broker: SecuredBroker, connect_as: Callable[..., Account],
    tmp_path: Path,
) -> None:
    kiosk = make_controller()
    settings = json.loads(kiosk.config.read_text())
    machines = {"machines": [{"name": "bar", "juices": ["mango"]}]}
    kiosk.config.write_text(json.dumps(settings | machines))
    kiosk.start()
    account = {"port": secured_broker.port, "username": "bar",
               "password_file": str(secured_broker.kiosk / "secrets/bar.password")}
    config = tmp_path / "bar.yaml"
    config.write_text(json.dumps({"broker": settings["broker"] | account}))
    machine = subprocess.Popen(
        [program(), "machine", "bar", "--seconds", "0", "--config", config], text=True,
        stdout=subprocess.DEVNULL, env=environment(),
    )
    try:
        window = connect_as("window").subscribe("kiosk/k1/machine/+")
        window.wait_for("kiosk/k1/machine/bar", '"idle"')
        panel = connect_as("panel1").subscribe("kiosk/k1/#")
        panel.publish_all({"kiosk/k1/order/panel1": '{"id":"m1","juice":"mango"}'})
        panel.wait_for("kiosk/k1/order/panel1/result", '"accepted"')
        panel.wait_for("kiosk/k1/order/panel1/result", '"ready"')
    finally:
        machine.send_signal(signal.SIGTERM)
        assert machine.wait(TIMEOUT) == 0


def test_nobody_but_a_dashboard_restocks(
    controller: Kiosk, auditor: Account, connect_as: Callable[..., Account]
) -> None:
    for thief in ["panel1", "window", "nagios"]:
        account = connect_as(thief)
        for topic in [f"restock/{thief}", "restock/office", f"service/{thief}", "service/office"]:
            account.publish_all({f"kiosk/k1/{topic}": '{"id":"t","set":{"kiwi":99},"service":"closed"}'})
    panel = connect_as("panel2").subscribe("kiosk/k1/order/panel2/result")
    panel.publish_all({"kiosk/k1/order/panel2": '{"id":"p","juice":"banana"}'})
    panel.wait_for("kiosk/k1/order/panel2/result", "ready")
    auditor.wait_until_delivered()
    assert not [text for text in auditor.texts() if '"t"' in text]


def test_a_response_topic_counts_below_the_panels_own_topic_only(
    controller: Kiosk, auditor: Account, connect_as: Callable[..., Account]
) -> None:
    panel = connect_as("panel1").subscribe("kiosk/k1/#")
    inside = "kiosk/k1/order/panel1/reply/7"
    panel.publish_all(
        {"kiosk/k1/order/panel1": '{"id":"in","juice":"tea"}'}, ResponseTopic=inside,
        CorrelationData=b"7",
    )
    assert panel.wait_for(inside, '"in"').properties.CorrelationData == b"7"
    outside = [
        "kiosk/k1/order/panel2/result", "kiosk/k1/order/panel2", "kiosk/k1/order/panel1",
        "kiosk/k1/order/panel10/result", "kiosk/k1/stock/kiwi", "kiosk/k1/status",
        "kiosk/k1/restock/panel1/result", "elsewhere",
    ]
    for number, topic in enumerate(outside):
        order = f'{{"id":"o{number}","juice":"tea"}}'
        panel.publish_all({"kiosk/k1/order/panel1": order}, ResponseTopic=topic)
        panel.wait_for("kiosk/k1/order/panel1/result", f'"o{number}"')
    wild = '{"id":"wild","juice":"tea"}'
    panel.publish_all({"kiosk/k1/order/panel1": wild}, ResponseTopic="kiosk/k1/order/panel1/#")
    # Later mosquittos disconnect the panel instead of relaying it.
    if not panel.is_gone.is_set():
        panel.wait_for("kiosk/k1/order/panel1/result", '"wild"')
    auditor.wait_until_delivered()
    answered = {m.topic for m in auditor.heard if b'"unknown_juice"' in m.payload}
    assert answered == {inside, "kiosk/k1/order/panel1/result", "kiosk/k1/events"}


def test_nobody_throws_the_kiosk_out_by_its_client_id(
    controller: Kiosk, connect_as: Callable[..., Account]
) -> None:
    for thief in ["window", "panel2"]:
        connect_as(thief, client_id="juice-kiosk-k1").subscribe("#")
    panel = connect_as("panel1").subscribe("kiosk/k1/order/panel1/result")
    panel.publish_all({"kiosk/k1/order/panel1": '{"id":"still","juice":"tea"}'})
    panel.wait_for("kiosk/k1/order/panel1/result", "still")
    assert controller.log.count(lambda line: " online" in line) == 1, controller.output
    # Nor do the kiosk's commands: on its own machine an account may connect twice.
    assert controller.command("check", "--connect").returncode == 0
    panel.publish_all({"kiosk/k1/order/panel1": '{"id":"again","juice":"tea"}'})
    panel.wait_for("kiosk/k1/order/panel1/result", "again")
    assert controller.log.count(lambda line: " online" in line) == 1, controller.output


def test_a_broker_by_another_name_is_not_believed(
    make_controller: MakeKiosk, secured_broker: SecuredBroker
) -> None:
    # The certificate contains 127.0.0.1 and not 127.0.0.2; both lead to the same broker.
    for address, is_believed in [("127.0.0.1", True), ("127.0.0.2", False)]:
        relay = Proxy(secured_broker.local_port, address)
        try:
            kiosk = make_controller(host=address, port=relay.port)
            checked = kiosk.command("check", "--connect")
            if is_believed:
                assert checked.returncode == 0, checked.stderr
            else:
                assert checked.returncode == 69
                assert "host name" in checked.stderr or "verify" in checked.stderr
                assert secured_broker.password("controller") not in checked.stderr
        finally:
            relay.close()


def test_an_authority_of_somebody_else_is_not_believed(
    make_controller: MakeKiosk, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "accounts").write_text(ACCOUNTS)
    assert make_accounts(other).returncode == 0
    checked = make_controller(tls={"ca_file": str(other / "ca.crt")}).command("check", "--connect")
    assert checked.returncode == 69
    assert "certificate verify failed" in checked.stderr
    # Without tls.ca_file the kiosk trusts the system's authorities, and only those.
    checked = make_controller(tls={}).command("check", "--connect")
    assert checked.returncode == 69


def test_no_setting_believes_everybody(
    make_controller: MakeKiosk, secured_broker: SecuredBroker
) -> None:
    for key in [
        "insecure", "verify", "verify_hostname", "verify_host", "verify_peer", "skip_verify",
        "check_hostname", "allow_insecure", "tls_insecure", "hostname",
    ]:
        kiosk = make_controller(tls={"ca_file": str(secured_broker.ca), key: "true"})
        checked = kiosk.command("check")
        assert (checked.returncode, "no such key" in checked.stderr) == (78, True), key
        kiosk = make_controller()
        checked = kiosk.command("check", **{f"KIOSK_BROKER_TLS_{key.upper()}": "true"})
        assert (checked.returncode, "no such setting" in checked.stderr) == (78, True), key
    sources = "".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
    assert "mosquitto_tls_insecure_set(" not in sources
    # SSL_VERIFY_PEER
    assert re.findall(r"mosquitto_tls_opts_set\(handle, (\d)", sources) == ["1"]


def test_secrets_stay_secret(
    make_controller: MakeKiosk, secured_broker: SecuredBroker, connect_as: Callable[..., Account]
) -> None:
    kiosk = make_controller().start(KIOSK_LOG_LEVEL="trace")
    panel = connect_as("panel1").subscribe("kiosk/k1/order/panel1/result")
    panel.publish_all({"kiosk/k1/order/panel1": '{"id":"s","juice":"tea"}'})
    panel.wait_for("kiosk/k1/order/panel1/result", '"s"')
    processes = [kiosk.process.pid, *children(kiosk.process.pid)]
    for pid in processes:
        for file in ["cmdline", "environ"]:
            shown = Path(f"/proc/{pid}/{file}").read_bytes().decode(errors="replace")
            assert not leaks(shown, secured_broker), f"{file} of {pid}"
    kiosk.stop()
    outputs = [kiosk.output, secured_broker.log(), (secured_broker.folder / "output").read_text(), secured_broker.made.stdout]

    # Output that users read after a failure.
    mistaken = "a-password-nobody-may-see"
    kiosk = make_controller()
    (kiosk.folder / "password").write_text(mistaken)
    refused = kiosk.command("check", "--connect")
    assert refused.returncode == 69
    kiosk.launch(KIOSK_LOG_LEVEL="trace")
    kiosk.log.first(lambda line: re.search("account|login|refused|authori", line) is not None)
    kiosk.stop()
    outputs += [refused.stdout + refused.stderr, kiosk.output]
    for text in outputs:
        assert mistaken not in text and not leaks(text, secured_broker)
    assert "PRIVATE KEY" not in "".join(outputs)


def leaks(text: str, secured_broker: SecuredBroker) -> bool:
    secrets = secured_broker.secrets()
    assert len(secrets) == len(OTHERS) and all(len(secret) == 40 for secret in secrets)
    return any(secret in text for secret in secrets)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_password_that_others_can_read_is_refused(
    make_controller: MakeKiosk, mode: int
) -> None:
    kiosk = make_controller()
    (kiosk.folder / "password").chmod(mode)
    for command in [["run"], ["check", "--connect"], ["order", "kiwi"], ["watch"]]:
        refused = kiosk.command(*command)
        assert refused.returncode == 78
        assert f"chmod 600 {kiosk.folder}/password" in refused.stderr


# MARK: Script


def test_the_files_with_secrets_are_for_their_owner_only(secured_broker: SecuredBroker) -> None:
    public = {"ca.crt", "server.crt", "accounts"}
    for path in secured_broker.kiosk.rglob("*"):
        if path.is_file() and path.name not in public:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for folder in ["secrets", "authority"]:
        assert stat.S_IMODE((secured_broker.kiosk / folder).stat().st_mode) == 0o700
    for line in (secured_broker.kiosk / "passwords").read_text().splitlines():
        assert re.fullmatch(r"[\w-]+:\$7\$[^:]+", line), "a password that is not hashed"


def test_the_page_of_cards_makes_the_account_of_the_terminal(tmp_path: Path) -> None:
    page = (ROOT / "deploy/docs/payment.md").read_text()
    (change,) = re.findall(r"sed -i '(.*)' /etc/mosquitto/kiosk/accounts$", page, re.M)
    accounts = shutil.copy(SHIPPED / "accounts", tmp_path)
    subprocess.run(["sed", "-i", change, accounts], check=True)
    made = make_accounts(tmp_path)
    assert made.returncode == 0, made.stderr
    (secret,) = re.findall(r"/etc/mosquitto/kiosk/(secrets/\S+) /etc/juice-zvt/password$", page, re.M)
    assert (tmp_path / secret).exists()
    assert "topic write kiosk/k1/paid/terminal\n" in (tmp_path / "acl").read_text()


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }


def test_again_changes_nothing_and_a_new_panel_changes_only_what_it_must(tmp_path: Path) -> None:
    secured_broker = SecuredBroker(tmp_path, ACCOUNTS).start()
    try:
        assert make_accounts(secured_broker.kiosk).returncode == 0
        before = snapshot(secured_broker.kiosk)
        again = make_accounts(secured_broker.kiosk)
        assert again.returncode == 0 and "Made" not in again.stdout
        assert snapshot(secured_broker.kiosk) == before

        secured_broker.make()
        with open(secured_broker.kiosk / "accounts", "a") as accounts:
            accounts.write("panel panel3\n")
        secured_broker.make()
        changed = {
            name for name, content in snapshot(secured_broker.kiosk).items() if before.get(name) != content
        }
        assert changed == {"accounts", "acl", "passwords", "secrets/panel3.password"}
        secured_broker.reload()
        until(lambda: gets_in(secured_broker, "panel3"), "panel3 gets in")
        assert gets_in(secured_broker, "panel1")
    finally:
        secured_broker.stop()


def test_topics_of_the_owner_are_added_to_those_of_a_role(tmp_path: Path) -> None:
    (tmp_path / "accounts").write_text(ACCOUNTS)
    (tmp_path / "acl.local").write_text(
        "# Mine\n\n[controller]\n  # Buttons\ntopic read zigbee2mqtt/#\n[panel]\ntopic read %b/alert/%u\n")
    made = make_accounts(tmp_path)
    assert made.returncode == 0, made.stderr
    accesses = (tmp_path / "acl").read_text()
    of = {block.partition("\n")[0]: block for block in accesses.split("\nuser ")[1:]}
    assert "\ntopic read zigbee2mqtt/#\n" in of["controller"] and "\ntopic write kiosk/k1/stock\n" in of["controller"]
    for panel in ("panel1", "panel2"):
        assert f"\ntopic read kiosk/k1/alert/{panel}\n" in of[panel]
    assert accesses.count("\ntopic read zigbee2mqtt/#\n") == 1


@pytest.mark.parametrize(("line", "text"), [
    (1, "topic read a\n[panel]\n"), (1, "[panels]\ntopic read a\n"), (3, "[panel]\n\n topic read a\n"),
    (1, "[panel]\r\ntopic read a\r\n"), (2, "[panel]\ntopic read a\r\n")])
def test_a_line_of_the_owner_that_has_no_effect_is_an_error(tmp_path: Path, line: int, text: str) -> None:
    (tmp_path / "accounts").write_text(ACCOUNTS)
    (tmp_path / "acl.local").write_text(text)
    refused = make_accounts(tmp_path)
    assert refused.returncode == 78 and f"acl.local:{line}: " in refused.stderr
    assert not (tmp_path / "acl").exists()


def gets_in(secured_broker: SecuredBroker, name: str, password: str | None = None) -> bool:
    try:
        Account(secured_broker, name, password=password).drop()
        return True
    except Refused:
        return False


def test_a_lost_panel_is_locked_out_at_once_and_a_password_can_change(tmp_path: Path) -> None:
    secured_broker = SecuredBroker(tmp_path, ACCOUNTS).start()
    try:
        lost = Account(secured_broker, "panel2")
        old = {name: secured_broker.password(name) for name in ["panel1", "panel2"]}
        listed = (secured_broker.kiosk / "accounts").read_text()
        (secured_broker.kiosk / "accounts").write_text(listed.replace("panel panel2\n", ""))
        secured_broker.make("--new-password", "panel1")
        assert not (secured_broker.kiosk / "secrets/panel2.password").exists()
        assert secured_broker.password("panel1") != old["panel1"]
        secured_broker.reload()
        assert lost.is_gone.wait(TIMEOUT), "the lost panel is still connected"
        lost.drop()
        assert not gets_in(secured_broker, "panel2", old["panel2"])
        assert not gets_in(secured_broker, "panel1", old["panel1"])
        assert gets_in(secured_broker, "panel1")
    finally:
        secured_broker.stop()


def test_an_authority_is_never_made_anew(tmp_path: Path) -> None:
    (tmp_path / "accounts").write_text(ACCOUNTS)
    assert make_accounts(tmp_path).returncode == 0
    authority = (tmp_path / "ca.crt").read_bytes()
    (tmp_path / "authority/ca.key").rename(tmp_path / "drawer.key")
    certificate = (tmp_path / "server.crt").read_bytes()
    with open(tmp_path / "accounts", "a") as accounts:
        accounts.write("panel panel3\n")
    # Only a certificate needs the key.
    made = make_accounts(tmp_path)
    assert made.returncode == 0 and "user panel3\n" in (tmp_path / "acl").read_text(), made.stderr
    with open(tmp_path / "accounts", "a") as accounts:
        accounts.write("host kiosk.local\nhost 192.168.1.20\n")
    refused = make_accounts(tmp_path)
    assert refused.returncode == 78 and "authority/ca.key is missing: put it back" in refused.stderr
    for name, content in ("ca.crt", authority), ("server.crt", certificate):
        assert (tmp_path / name).read_bytes() == content
    (tmp_path / "drawer.key").rename(tmp_path / "authority/ca.key")
    (tmp_path / "ca.crt").rename(tmp_path / "drawer.crt")
    refused = make_accounts(tmp_path)
    assert refused.returncode == 78 and "ca.crt is missing" in refused.stderr
    (tmp_path / "drawer.crt").rename(tmp_path / "ca.crt")
    assert make_accounts(tmp_path).returncode == 0
    assert (tmp_path / "ca.crt").read_bytes() == authority
    assert (tmp_path / "server.crt").read_bytes() != certificate
    for check in [["-checkhost", "kiosk.local"], ["-checkip", "192.168.1.20"]]:
        checked = subprocess.run(
            ["openssl", "x509", "-in", tmp_path / "server.crt", "-noout", *check],
            capture_output=True, text=True, check=True,
        )
        assert "does match" in checked.stdout


def test_certificates_are_valid_for_as_long_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "accounts").write_text(ACCOUNTS)

    def days_left(name: str) -> int:
        is_valid = lambda days: subprocess.run(
            ["openssl", "x509", "-in", tmp_path / name, "-noout", "-checkend", f"{days * 86400}"],
            capture_output=True,
        ).returncode == 0
        return bisect.bisect_left(range(10_000), True, key=lambda days: not is_valid(days))

    assert make_accounts(tmp_path, "--client-certificates").returncode == 0
    assert (days_left("server.crt"), days_left("ca.crt")) == (825, 3650)
    assert days_left("clients/panel1.crt") == 825
    # The key may be on the device only.
    (tmp_path / "clients/panel2.key").unlink()
    assert "Made" not in make_accounts(tmp_path, "--client-certificates").stdout
    # As after a run that was killed between the key and its certificate.
    shutil.copy(tmp_path / "clients/window.key", tmp_path / "clients/panel1.key")
    assert make_accounts(tmp_path, "--client-certificates").stdout.count("Made") == 1
    assert "Made" not in make_accounts(tmp_path, "--client-certificates").stdout
    # The script renews a certificate that might expire before it runs again in a year, and no other.
    for days, expected in [(398, 398), (395, 825)]:
        for name in ["server", "clients/panel1"]:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt", "-CA", "ca.crt", "-CAkey",
                 "authority/ca.key", "-subj", "/CN=x", "-days", f"{days}", "-addext",
                 "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                cwd=tmp_path, check=True, capture_output=True,
            )
        # Without the authority's key it renews nothing, and says so; accounts can change.
        (tmp_path / "authority/ca.key").rename(tmp_path / "drawer.key")
        made = make_accounts(tmp_path, "--client-certificates")
        assert made.returncode == 0 and ("to renew" in made.stderr) == (days != expected), made.stderr
        assert days_left("server.crt") == days_left("clients/panel1.crt") == days
        (tmp_path / "drawer.key").rename(tmp_path / "authority/ca.key")
        assert make_accounts(tmp_path, "--client-certificates").returncode == 0
        assert days_left("server.crt") == days_left("clients/panel1.crt") == expected


def test_the_successor_of_a_removed_device_gets_another_key(tmp_path: Path) -> None:
    (tmp_path / "accounts").write_text(ACCOUNTS)
    assert make_accounts(tmp_path, "--client-certificates").returncode == 0
    # It is on the device only.
    (tmp_path / "secrets/panel2.password").unlink()
    assert list(tmp_path.glob("clients/panel2.*"))
    (tmp_path / "accounts").write_text(ACCOUNTS.replace("panel panel2\n", ""))
    assert "Removed what belonged to panel2" in make_accounts(tmp_path).stdout
    assert not list(tmp_path.glob("clients/panel2.*")) and list(tmp_path.glob("clients/panel1.*"))


def test_a_run_makes_what_a_killed_one_has_left_out(tmp_path: Path) -> None:
    """Kills the script before each of the files that it renews gets its place."""
    broker = SecuredBroker(tmp_path, ACCOUNTS)
    mv, moves = tmp_path / "mv", tmp_path / "moves"
    mv.write_text(
        f'#!/bin/sh\necho >>{moves}\n[ "$(wc -l <{moves})" != "$CUT" ] || {{ kill -KILL $PPID; exit 1; }}\n'
        'PATH=${PATH#*:} exec mv "$@"\n')
    mv.chmod(0o755)
    files = [broker.kiosk / name for name in ("passwords", "acl", "server.key")]
    for cut in range(1, 100):
        moves.unlink(missing_ok=True)
        for file in files if os.getuid() == 0 else []:
            shutil.chown(file, "mosquitto")
        killed = make_accounts(broker.kiosk, "--new-server-certificate", "--new-password", "panel1",
                               PATH=f"{tmp_path}:{os.environ['PATH']}", CUT=f"{cut}")
        # The broker can read each of them.
        assert os.getuid() != 0 or {file.owner() for file in files} == {"mosquitto"}
        broker.make()
        try:
            assert gets_in(broker.start(), "panel1"), f"killed before move {cut}"
        finally:
            broker.stop()
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert cut > 5


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("panel #", "a name is 1 to 64"), ("panel a/b", "a name is 1 to 64"),
        ("panel +", "a name is 1 to 64"), ("panel a:b", "a name is 1 to 64"),
        ("panel juice-kiosk-k1", "the kiosk's own"), ("display panel1", "two accounts"),
        ("king arthur", "no role king"), ("panel", "two words"), ("panel a b", "two words"),
        ("topics kiosk/#", "like kiosk/k1"), ("topics $SYS/k1", "like kiosk/k1"),
        ("topics kiosk", "like kiosk/k1"), ("host a;b", "no host name"),
    ],
)
def test_a_list_with_a_mistake_changes_nothing(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "accounts").write_text(ACCOUNTS + line + "\n")
    refused = make_accounts(tmp_path)
    assert refused.returncode == 78
    place = f"accounts:{ACCOUNTS.count(chr(10)) + 1}:"
    assert complaint in refused.stderr and place in refused.stderr
    assert set(snapshot(tmp_path)) == {"accounts"}


def test_no_password_is_an_argument_of_a_program(tmp_path: Path) -> None:
    tools, folder = tmp_path / "tools", tmp_path / "kiosk"
    tools.mkdir()
    folder.mkdir()
    (folder / "accounts").write_text(ACCOUNTS)
    record = tmp_path / "arguments"
    for name in ["openssl", "mosquitto_passwd", "grep", "mv", "awk", "cat"]:
        tool = tools / name
        tool.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "{name} $*" >>{record}\n'
            f'env >>{record}\nPATH=${{PATH#*:}} exec {name} "$@"\n'
        )
        tool.chmod(0o755)
    made = make_accounts(folder, PATH=f"{tools}:{os.environ['PATH']}")
    assert made.returncode == 0, made.stderr
    shown = record.read_text() + made.stdout + made.stderr
    assert "mosquitto_passwd -U" in shown and "openssl rand" in shown
    for secret in folder.glob("secrets/*.password"):
        assert secret.read_text().strip() not in shown
