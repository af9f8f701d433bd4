"""Tests the doctor: injects each fault, checks the finding and its fix, then repairs it."""

import json
import os
import re
import signal
import socket
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from arrivals import eventually
from client import BASE, Client, retained, soon
from conftest import MakeBroker, MakeKiosk, factory
from secured_broker import AUDITOR, SHIPPED, Account, SecuredBroker
from faults import Faults
from kiosk import Kiosk, environment, program
from odd_broker import OddBroker
from ports import free_port

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ACCOUNTS = """
topics kiosk/k1
controller controller
panel panel1
dashboard office
"""
LEAST = {"ok", "note"}


class Findings(list):
    """The findings of `doctor --json`."""

    def __init__(self, kiosk: Kiosk, *arguments: str, **variables: str) -> None:
        done = kiosk.command("doctor", "--json", *arguments, **variables)
        assert done.stdout, done.stderr
        self.code = done.returncode
        self.report = json.loads(done.stdout)
        super().__init__(self.report["findings"])
        # The temporary folders of a container.
        if self.code == 1 and all(one["severity"] in LEAST or "(overlay)" in one["what"] for one in self):
            self.code = 0
            self[:] = [one for one in self if one["severity"] in LEAST]

    def of(self, check: str, severity: str | None = None) -> list[dict[str, str]]:
        return [one for one in self if one["check"] == check
                and severity in (None, one["severity"])]

    def one(self, check: str, severity: str, *words: str) -> dict[str, str]:
        found = [one for one in self.of(check, severity)
                 if all(word in str(one) for word in words)]
        assert len(found) == 1, f"{check} {severity} {words}: {json.dumps(self, indent=1)}"
        return found[0]

    def are_fine(self) -> bool:
        assert {one["severity"] for one in self} <= LEAST, json.dumps(self, indent=1)
        assert self.code == 0
        return True


def fault(
    kiosk: Kiosk, code: int, check: str, severity: str, *words: str, **variables: str
) -> dict[str, str]:
    """Returns the one finding that determines the exit code and has a fix."""
    found = Findings(kiosk, **variables)
    finding = found.one(check, severity, *words)
    assert finding["fix"] and finding["where"]
    assert (found.code, found.report["severity"]) == (code, severity)
    return finding


def is_fine(kiosk: Kiosk, **variables: str) -> None:
    Findings(kiosk, **variables).are_fine()


# MARK: Kiosk and secured broker


@pytest.fixture(scope="module")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    secured_broker = SecuredBroker(tmp_path_factory.mktemp("secured_broker"), ACCOUNTS).start()
    yield secured_broker
    secured_broker.stop()


@pytest.fixture
def secured_broker(shared_broker: SecuredBroker) -> Iterator[SecuredBroker]:
    """Yields the secured broker without retained messages and with the shipped access list."""
    accesses = (shared_broker.kiosk / "acl").read_text()
    yield shared_broker
    shared_broker.stop()
    (shared_broker.kiosk / "acl").write_text(accesses)
    for saved in shared_broker.folder.glob("mosquitto.db*"):
        saved.unlink()
    shared_broker.start()


@pytest.fixture
def locked(secured_broker: SecuredBroker, make_kiosk: MakeKiosk) -> Kiosk:
    """Returns a kiosk that is not started yet."""
    return make_kiosk(secured_broker, broker=secured_broker.section())


@pytest.fixture
def connect_as(secured_broker: SecuredBroker) -> Iterator[Callable[..., Account]]:
    # On a listener that does not use accounts as client ids, so that one account may connect several times.
    yield from factory(
        lambda name: Account(secured_broker, name, port=secured_broker.local_port), Account.drop)


def change_accesses(secured_broker: SecuredBroker, change: Callable[[str], str]) -> None:
    """Restarts the broker with a changed access list."""
    list_ = secured_broker.kiosk / "acl"
    before = list_.read_text()
    assert change(before) != before
    list_.write_text(change(before))
    secured_broker.stop()
    secured_broker.start()


def without(line: str) -> Callable[[str], str]:
    """Removes the first match, which is one of the controller's own lines."""
    return lambda text: text.replace(f"\ntopic {line}\n", "\n", 1)


def test_a_healthy_kiosk_gives_no_warning(
    locked: Kiosk, faults: Faults, connect_as: Callable[..., Account]
) -> None:
    synchronised = faults.variables | {"CLOCK_STATE": "0"}
    before = Findings(locked, **synchronised)
    assert before.are_fine()
    assert "none yet" in before.one("ledger", "note")["what"]
    assert "does not run" in before.one("rights", "note", "may publish")["what"]

    locked.start()
    panel, desk = connect_as("panel1"), connect_as("office")
    panel.subscribe("kiosk/k1/order/panel1/result")
    desk.subscribe("kiosk/k1/restock/office/result", "kiosk/k1/service/office/result")
    panel.publish_all({"kiosk/k1/order/panel1": "kiwi"})
    desk.publish_all({"kiosk/k1/restock/office": '{"id":"r1","add":{"kiwi":1}}',
              "kiosk/k1/service/office": "open"})
    panel.wait_for("kiosk/k1/order/panel1/result", "ready")
    desk.wait_for("kiosk/k1/restock/office/result")
    desk.wait_for("kiosk/k1/service/office/result")

    running = Findings(locked, **synchronised)
    assert {one["severity"] for one in running} == {"ok"}, running
    checks = [one["check"] for one in running]
    assert set(checks) == {"configuration", "permissions", "disk", "clock", "ledger", "broker",
                           "session", "rights", "retained"}
    assert f"process {locked.process.pid}" in running.one("ledger", "ok")["what"]
    text = locked.command("doctor", **synchronised)
    assert (text.returncode, text.stderr) == (0, "")
    *lines, summary = text.stdout.splitlines()
    assert all(re.match("ok       [a-z]+: ", line) for line in lines)
    assert summary == "The kiosk is healthy."
    assert locked.stop() == 0
    stopped = Findings(locked, **synchronised)
    assert {one["severity"] for one in stopped} == {"ok"}, stopped


def test_what_it_prints(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    password = kiosk.folder / "password"
    password.write_text("secret")
    password.chmod(0o644)
    kiosk.configure(None, {"broker": {"username": "c", "password_file": "password"}})
    report = Findings(kiosk).report
    assert list(report) == ["severity", "findings"] and report["severity"] == "error"
    for finding in report["findings"]:
        assert list(finding) == ["check", "severity", "where", "what", "fix"][:len(finding)]
        assert len(finding) == 5 or finding["severity"] in LEAST
        assert finding["severity"] in LEAST | {"warning", "error"}
    text = kiosk.command("doctor")
    assert (text.returncode, text.stderr) == (78, "")
    assert f"error    permissions: {password}: can be read by others" in text.stdout
    assert f"\n         fix: run: chmod 600 {password}\n" in text.stdout
    assert text.stdout.splitlines()[-1].startswith("The kiosk has problems: 1 error")
    assert "secret" not in text.stdout
    wrong = kiosk.command("doctor", "--timeout", "0")
    assert wrong.returncode == 64


def test_a_running_kiosk_does_not_notice(
    secured_broker: SecuredBroker, locked: Kiosk, connect_as: Callable[..., Account]
) -> None:
    locked.start()
    auditor = connect_as(AUDITOR).subscribe("#")
    panel = connect_as("panel1").subscribe("kiosk/k1/order/panel1/result")
    before = kept(connect_as)
    since = len(locked.log)
    doctors = [
        subprocess.Popen([program(), "doctor", "--json", "--config", locked.config],
                         stdout=subprocess.PIPE, env=environment())
        for _ in range(3)
    ]
    count = 0
    while count < 30 or any(doctor.poll() is None for doctor in doctors):
        count += 1
        panel.publish_all({"kiosk/k1/order/panel1": f'{{"id":"a{count}","juice":"tea"}}'})
        panel.wait_for("kiosk/k1/order/panel1/result", f'"a{count}"')
    for doctor in doctors:
        assert doctor.wait() == 0, doctor.stdout.read()
        doctor.stdout.close()
    # The doctors have published nothing.
    auditor.wait_until_delivered()
    assert not any("doctor" in message.topic or b"doctor" in message.payload
                   for message in auditor.heard)
    entries = locked.ledger()
    assert [entry.get("id") for entry in entries[1:]] == [f"a{i + 1}" for i in range(count)]
    # One line for each order that was not on the menu, and none about a lost connection.
    assert not [line for line in locked.log.since(since) if "connect" in line or "online" in line]
    health = json.loads(kept(connect_as)["kiosk/k1/health"])
    assert health["reconnects"] == health["dropped"] == 0
    # The broker retains nothing new.
    ever = {"kiosk/k1/health", "kiosk/k1/sales", "kiosk/k1/forecast", "kiosk/k1/history"}
    after = kept(connect_as)
    assert {topic: text for topic, text in after.items() if topic not in ever} == {
        topic: text for topic, text in before.items() if topic not in ever}
    assert "already connected" not in secured_broker.log()


def kept(connect_as: Callable[..., Account]) -> dict[str, str]:
    """Returns the messages that the broker retains now."""
    auditor = connect_as(AUDITOR).subscribe("#")
    auditor.wait_until_delivered()
    found = {m.topic: m.payload.decode() for m in auditor.heard if m.retain}
    auditor.drop()
    return found


# MARK: Without a broker


def test_configuration(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    good = kiosk.config.read_text()
    kiosk.config.write_text("kiosk: {languge: ko}\nbroker: {port: 0}\n")
    found = Findings(kiosk)
    assert (found.code, len(found)) == (78, 2)
    first = found.one("configuration", "error", "languge")
    assert f"{kiosk.config}:1:" in first["where"] and "language" in first["fix"]
    assert f"{kiosk.config}:2:" in found.one("configuration", "error", "port")["where"]
    kiosk.config.write_text(good)
    is_fine(kiosk)
    kiosk.config.chmod(0o666)
    assert "chmod o-w" in fault(kiosk, 1, "permissions", "warning", "kiosk.yaml")["fix"]
    kiosk.config.chmod(0o644)
    is_fine(kiosk)
    kiosk.config.unlink()
    fault(kiosk, 78, "configuration", "error", "no such file")


@pytest.mark.skipif(Path("/etc/juice-kiosk/kiosk.yaml").exists(), reason="there is one here")
def test_no_configuration(make_kiosk: MakeKiosk, broker) -> None:
    kiosk = make_kiosk()
    done = kiosk.command(
        "doctor", config=False, KIOSK_BROKER_PORT=str(broker.port),
        KIOSK_LEDGER_PATH=str(kiosk.folder / "ledger.sqlite"))
    assert done.returncode == 0 and "there is no configuration file" in done.stdout


def test_a_ledger_that_cannot_be_written(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(ledger={"path": "away/ledger.sqlite"})
    folder = kiosk.folder / "away"
    assert "install -d" in fault(kiosk, 78, "permissions", "error", "does not exist")["fix"]
    folder.mkdir()
    is_fine(kiosk)
    kiosk.start()
    kiosk.stop()
    if os.getuid() != 0:
        folder.chmod(0o555)
        fault(kiosk, 78, "permissions", "error", "cannot write")
        folder.chmod(0o755)
        return is_fine(kiosk)
    # As after a command that root ran under another user name.
    ledger = folder / "ledger.sqlite.lock"
    os.chown(ledger, 65534, 65534)
    assert f"rm {ledger}" in fault(kiosk, 78, "permissions", "error", "ledger.sqlite.lock")["fix"]
    os.chown(ledger, 0, 0)
    is_fine(kiosk)
    # For another user.
    for path in (kiosk.folder, folder, kiosk.config, *folder.iterdir()):
        path.chmod(0o755)
    for above in list(kiosk.folder.parents)[:-1]:
        above.chmod(above.stat().st_mode | 0o011)
    other = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", program(), "doctor", "--config",
         kiosk.config], capture_output=True, text=True, env=environment(),
    )
    assert other.returncode == 78, other.stdout
    assert "nobody cannot write there; it belongs to root" in other.stdout


def test_a_ledger_in_the_current_folder(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    done = kiosk.command("doctor", "--json", "--config", kiosk.config.name, config=False)
    found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert found["permissions"]["severity"] == "ok"
    assert found["disk"]["where"] == found["permissions"]["where"] == str(kiosk.folder)


def test_disk(make_kiosk: MakeKiosk, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    size = lambda text: subprocess.run(["mount", "-o", f"remount,size={text}", disk], check=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", disk],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED, only root may mount a small disk: {mounted.stderr.strip()}")
    try:
        kiosk = make_kiosk(ledger={"path": str(disk / "ledger.sqlite")})
        lost = fault(kiosk, 1, "disk", "warning", "lost at power-off (tmpfs)")
        assert "ledger.path" in lost["fix"] and len(Findings(kiosk).of("disk", "ok")) == 1
        size("100m")
        assert "104 MB" in fault(kiosk, 1, "disk", "warning", "only")["what"]
        size("8m")
        assert "make room" in fault(kiosk, 74, "disk", "error")["fix"]
        size("400m")
        assert Findings(kiosk).of("disk", "ok")
        subprocess.run(["mount", "-o", "remount,nr_inodes=4", disk], check=True)
        fault(kiosk, 74, "disk", "error")
        subprocess.run(["mount", "-o", "remount,nr_inodes=0", disk], check=True)
        assert Findings(kiosk).of("disk", "ok")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "read-only" in fault(kiosk, 78, "permissions", "error")["fix"]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_clock(kiosk: Kiosk, faults: Faults, panel: Client) -> None:
    def order() -> None:
        kiosk.start(**faults.variables)
        assert panel.order("kiwi")["status"] == "ready"
        kiosk.stop()

    kiosk.stop()
    known = faults.variables | {"CLOCK_STATE": "0"}
    assert Findings(kiosk, **known).one("clock", "ok", "time server")
    unknown = Findings(kiosk, **faults.variables, CLOCK_STATE="5")
    assert "set-ntp" in unknown.one("clock", "note")["fix"]
    faults.set_clock(timedelta(minutes=-5))
    behind = fault(kiosk, 78, "clock", "error", "last entry", "was ahead then", CLOCK_STATE="5", **faults.variables)
    assert "set-ntp" in behind["fix"] and "next order" in behind["fix"]
    faults.set_clock(timedelta(0))
    is_fine(kiosk, **known)
    # A year ahead for one order, then right: set by a time server, and later with an order at the right time.
    faults.set_clock(timedelta(days=365))
    order()
    faults.set_clock(timedelta(0))
    assert Findings(kiosk, **known).one("clock", "note", "was ahead when an entry was recorded")["fix"]
    fault(kiosk, 78, "clock", "error", "was ahead then", CLOCK_STATE="5", **faults.variables)
    order()
    assert Findings(kiosk, CLOCK_STATE="5", **faults.variables).one("clock", "note", "was ahead when")["fix"]
    assert Findings(kiosk, **known).code == 0
    # A machine that starts in 1970 has no ledger to compare with.
    (kiosk.folder / "ledger.sqlite").unlink()
    faults.set_clock(timedelta(days=-20000))
    fault(kiosk, 78, "clock", "error", "built", **known)
    faults.set_clock(timedelta(0))
    is_fine(kiosk, **known)


def test_dates(
    make_kiosk: MakeKiosk, faults: Faults, panel: Client, confirmed_clock: dict[str, str]
) -> None:
    known = confirmed_clock
    kiosk = make_kiosk().start(**known)
    panel.restock_briefly({"add": {"mango": 5, "kiwi": 1}, "best_before": {"kiwi": soon(86400)}}, ["mango"])
    panel.messages.first(lambda m: m.topic == f"{BASE}/events" and m.json["status"] == "expired")
    expired = fault(kiosk, 1, "ledger", "warning", "mango", "5 expired", **known)
    assert not Findings(kiosk, **known).of("retained", "note"), "freshness is expected"
    command = expired["fix"].split("juice-kiosk ")[1].split()
    assert kiosk.command(*command).returncode == 0
    is_fine(kiosk, **known)
    kiosk.stop()
    faults.set_clock(timedelta(hours=-1))
    kiosk.start(**faults.variables)
    eventually(lambda: Findings(kiosk, **known).of("clock", "warning"))
    assert "by eye" in fault(kiosk, 1, "clock", "warning", "in doubt", **known)["fix"]
    faults.set_clock(timedelta(0))
    eventually(lambda: not Findings(kiosk, **known).of("clock", "warning"))
    is_fine(kiosk, **known)


def test_ledger(kiosk: Kiosk) -> None:
    kiosk.stop()
    ledger = kiosk.folder / "ledger.sqlite"
    good = ledger.read_bytes()
    ledger.write_bytes(b"no ledger at all" * 1000)
    assert "verify" in fault(kiosk, 65, "ledger", "error", "damaged")["fix"]
    ledger.write_bytes(good)
    is_fine(kiosk)


# MARK: Connection to the broker


def test_reachability(make_kiosk: MakeKiosk, broker) -> None:
    kiosk = make_kiosk()
    variables = {"KIOSK_BROKER_HOST": "no-such-host.invalid"}
    assert "broker.host" in fault(kiosk, 69, "broker", "error", "resolved", **variables)["fix"]
    is_fine(kiosk)
    broker.stop()
    assert "systemctl start" in fault(kiosk, 69, "broker", "error", "nothing answers")["fix"]
    broker.start()
    is_fine(kiosk)
    broker.freeze()
    found = Findings(kiosk, "--timeout", "1")
    assert found.code == 69 and found.one("broker", "error", "handshake")["fix"]


def test_tls_and_login(secured_broker: SecuredBroker, locked: Kiosk, tmp_path: Path) -> None:
    def with_broker(**changes: Any) -> None:
        locked.configure(None, {"broker": secured_broker.section(**changes)})

    other = tmp_path / "other.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other",
         "-keyout", tmp_path / "other.key", "-out", other], check=True, capture_output=True,
    )
    with_broker(tls={"ca_file": str(other)})
    assert "ca_file" in fault(locked, 69, "broker", "error", "certificate")["fix"]
    with_broker(tls=None)
    locked.config.write_text(locked.config.read_text().replace('"tls": null', '"client_id": "x"'))
    assert "broker.tls" in fault(locked, 69, "broker", "error")["fix"]
    wrong = tmp_path / "password"
    wrong.touch(0o600)
    wrong.write_text("wrong")
    with_broker(password_file=str(wrong))
    assert "make-accounts" in fault(locked, 69, "broker", "error", "refused the login")["fix"]
    right = secured_broker.section()
    del right["password_file"]
    locked.configure(None, {"broker": right})
    advice = fault(locked, 69, "broker", "error", "refused the login")["fix"]
    # As on a system where systemd provides the password.
    variable = re.search(r"KIOSK_BROKER_PASSWORD_FILE", advice)[0]
    is_fine(locked, **{variable: str(secured_broker.kiosk / "secrets/controller.password")})


def test_protocol_version(make_kiosk: MakeKiosk) -> None:
    odd = OddBroker(refusal=0x84)
    kiosk = make_kiosk(odd)
    assert "3.1.1" in fault(kiosk, 69, "broker", "error", "MQTT version")["fix"]
    odd.close()


def test_a_broker_that_closes_connections_of_the_new_version(make_kiosk: MakeKiosk) -> None:
    odd = OddBroker(old=True)
    kiosk = make_kiosk(odd)
    assert "broker.protocol: 3.1.1" in fault(kiosk, 69, "broker", "error", "handshake")["what"]
    kiosk.launch()
    eventually(lambda: any("broker.protocol: 3.1.1" in line for line in kiosk.log))
    kiosk.stop()
    old = make_kiosk(odd, broker={"protocol": "3.1.1"})
    assert "MQTT 3.1.1" in Findings(old).one("broker", "ok")["what"]
    odd.close()


def test_a_kiosk_that_speaks_the_old_version(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(broker={"protocol": "3.1.1"}).start()
    found = Findings(kiosk)
    assert found.are_fine()
    assert "3.1.1" in found.one("broker", "ok")["what"]
    assert "3.1.1" in found.one("rights", "note", "may publish")["what"]


# MARK: Rights


def refused(kiosk: Kiosk, count: int) -> list[dict[str, str]]:
    """Returns the findings after the kiosk has received and reported `count` refusals."""
    errors = lambda: Findings(kiosk).of("rights", "error")
    eventually(lambda: len(errors()) == count)
    return errors()


def test_a_right_to_publish(secured_broker: SecuredBroker, locked: Kiosk) -> None:
    unknown = Findings(locked)
    assert unknown.are_fine() and "start it" in unknown.one("rights", "note", "may publish")["fix"]
    change_accesses(secured_broker, without("write kiosk/k1/menu"))
    locked.start()
    (missing,) = refused(locked, 1)
    assert Findings(locked).code == 69
    assert missing["where"] == "kiosk/k1/menu"
    assert "Not authorized" in missing["what"] and "controller" in missing["what"]
    assert "deploy/mosquitto/acl" in missing["fix"]
    change_accesses(secured_broker, without("write kiosk/k1/stock/+"))
    eventually(lambda: "stock/" in refused(locked, 1)[0]["where"])
    assert refused(locked, 1)[0]["where"].endswith(" and 1 more")
    lines = ["topic write kiosk/k1/menu", "topic write kiosk/k1/stock/+"]
    list_ = secured_broker.kiosk / "acl"
    list_.write_text(list_.read_text().replace(
        "user controller\n", "\n".join(["user controller", *lines, ""]), 1))
    secured_broker.reload()

    def is_mended() -> bool:
        # Possibly before the broker has reloaded its access list.
        locked.process.send_signal(signal.SIGHUP)
        return not Findings(locked).of("rights", "error")

    eventually(is_mended)
    assert Findings(locked).one("rights", "ok", "accepted everything")
    # The last health of a stopped kiosk stays at the broker.
    locked.stop()
    assert Findings(locked).one("rights", "ok", "accepted everything")


def test_answers_that_may_not_be_published(
    secured_broker: SecuredBroker, locked: Kiosk, connect_as: Callable[..., Account]
) -> None:
    change_accesses(secured_broker, without("write kiosk/k1/order/+/+/#"))
    locked.start()
    connect_as("panel1").publish_all({"kiosk/k1/order/panel1": "kiwi"})
    locked.wait_for_log("to kiosk/k1/order/panel1/result (Not authorized)")
    (missing,) = refused(locked, 1)
    assert missing["where"] == "kiosk/k1/order/panel1/result"


def test_health_that_may_not_be_published(secured_broker: SecuredBroker, locked: Kiosk) -> None:
    change_accesses(secured_broker, without("write kiosk/k1/health"))
    locked.start()
    missing = fault(locked, 69, "rights", "error", "health cannot be read")
    assert "kiosk/k1/health" in missing["fix"]


def test_what_may_not_be_published_is_told_at_once(secured_broker: SecuredBroker, locked: Kiosk) -> None:
    change_accesses(secured_broker, without("write kiosk/k1/stock/+"))
    locked.start()
    line = locked.wait_for_log("refused the message to kiosk/k1/stock/banana (Not authorized)")
    assert "`juice-kiosk doctor` names every topic" in line
    # The controller's account may not order.
    done = locked.command("order", "kiwi")
    assert done.returncode == 69 and "(Not authorized): check its ACL" in done.stderr
    assert locked.stop() == 0
    # One line for five topics.
    assert sum("refused the message" in line for line in locked.log) == 1


def test_devices_of_other_makers(secured_broker: SecuredBroker, locked: Kiosk) -> None:
    configuration = json.loads(locked.config.read_text())
    configuration["displays"] = [{"topic": "cmnd/screen/DisplayText", "text": "{stock.kiwi}"}]
    locked.config.write_text(json.dumps(configuration))
    locked.start()
    rule = "topic write cmnd/screen/DisplayText"
    (missing,) = refused(locked, 1)
    assert missing["where"] == "cmnd/screen/DisplayText"
    change_accesses(secured_broker, lambda text: text.replace(
        "user controller\n", f"user controller\n{rule}\n"))
    eventually(lambda: Findings(locked).code == 0)


def test_a_subscription_that_is_refused(make_broker: MakeBroker, make_kiosk: MakeKiosk) -> None:
    plugin = next(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"))
    allow = lambda kind, topic: {"acltype": kind, "topic": topic, "allow": True}
    acls = [allow("subscribePattern", "#")]
    rules = {
        "defaultACLAccess": {"publishClientSend": True, "publishClientReceive": True,
                             "subscribe": False, "unsubscribe": True},
        "roles": [{"rolename": "all", "acls": acls}],
        "groups": [{"groupname": "all", "roles": [{"rolename": "all"}]}],
        "anonymousGroup": "all",
    }
    broker = make_broker(settings="# rules")
    with open(broker.folder / "mosquitto.conf", "a") as configuration:
        configuration.write(f"plugin {plugin}\nplugin_opt_config_file {broker.folder}/rules.json\n")

    def restart() -> None:
        broker.stop()
        (broker.folder / "rules.json").write_text(json.dumps(rules))
        broker.start()

    kiosk = make_kiosk(broker)
    acls[:] = [allow("subscribePattern", f"kiosk/k1/{rest}")
               for rest in ("order/#", "service/+", "settings/+", "report/+", "job/+", "status")]
    restart()
    refused = fault(kiosk, 69, "rights", "error", "refuses")
    assert refused["where"] == "kiosk/k1/restock/+"
    acls.append(allow("subscribePattern", "#"))
    restart()
    is_fine(kiosk)


def test_an_account_that_may_not_look_says_what_it_could_not_see(
    secured_broker: SecuredBroker, locked: Kiosk, make_kiosk: MakeKiosk
) -> None:
    """Uses the access list of an earlier version."""
    change_accesses(secured_broker, without("read kiosk/k1/#"))
    # Neither can it read the status of this kiosk, so it does nothing that could disturb one.
    elsewhere = make_kiosk(secured_broker, broker=secured_broker.section()).start()
    found = Findings(locked)
    assert found.are_fine()
    assert "does not run" in found.one("rights", "note", "publish")["what"]
    assert "topic read kiosk/k1/#" in found.one("retained", "note")["fix"]
    assert elsewhere.stop() == 0
    assert [line[9:] for line in elsewhere.log][-2:] == ["notice online", "notice stopped"]


DEVICES = [
    {"name": "hall", "device": "zigbee2mqtt", "topic": "zigbee2mqtt/kitchen/button",
     "buttons": {"single": "kiwi"}},
    {"name": "wall", "device": "shelly_gen2", "topic": "home/hall/shelly",
     "buttons": {"single": "kiwi"}},
]


def test_the_lines_for_devices_whose_topics_have_more_levels(
    secured_broker: SecuredBroker, locked: Kiosk, connect_as: Callable[..., Account]
) -> None:
    settings = json.loads(locked.config.read_text()) | {"panels": DEVICES}
    locked.config.write_text(json.dumps(settings))
    note = Findings(locked).one("rights", "note", "deliver nothing")
    lines = ["topic read zigbee2mqtt/kitchen/button", "topic read home/hall/shelly/events/rpc"]
    assert note["fix"].endswith(": " + ", ".join(lines))
    # The shipped list has a line for Zigbee2MQTT; that of the doctor is added for the other device.
    shipped = re.search(r"^#(topic read zigbee2mqtt/.*)$", (SHIPPED / "acl").read_text(), re.M)
    after = "topic read kiosk/k1/#\n"
    change_accesses(secured_broker, lambda text: text.replace(
        after, f"{after}{shipped and shipped[1]}\n{lines[1]}\n", 1))
    locked.start()
    device = connect_as(AUDITOR).subscribe("kiosk/k1/order/+/result")
    event = {"component": "input:0", "event": "single_push", "ts": 1643540082.66}
    device.publish_all({
        "zigbee2mqtt/kitchen/button": '{"action":"single"}',
        "home/hall/shelly/events/rpc": json.dumps(
            {"method": "NotifyEvent", "params": {"events": [event]}}),
    })
    for panel in ("hall", "wall"):
        device.wait_for(f"kiosk/k1/order/{panel}/result")


# MARK: Session


@pytest.mark.parametrize(
    ("setting", "severity", "code", "word", "fix"),
    [
        ("max_inflight_messages 20", "warning", 1, "20 messages", "juice-kiosk.conf"),
        ("max_qos 0", "error", 69, "QoS 1", "max_qos"),
        ("retain_available false", "error", 69, "retains nothing", "retain_available"),
        ("max_packet_size 1500", "error", 69, "1500 bytes", "max_packet_size"),
    ],
    ids=["inflight", "qos", "retain", "packet"],
)
def test_limits(
    make_broker: MakeBroker, make_kiosk: MakeKiosk, setting: str, severity: str, code: int,
    word: str, fix: str,
) -> None:
    broker = make_broker(settings=setting)
    kiosk = make_kiosk(broker)
    assert fix in fault(kiosk, code, "session", severity, word)["fix"]
    kiosk.configure(make_broker(), {})
    is_fine(kiosk)


def test_a_load_that_is_too_much(make_broker: MakeBroker, make_kiosk: MakeKiosk) -> None:
    broker = make_broker(settings="max_inflight_messages 40")
    kiosk = make_kiosk(broker, orders={"max_per_second": 100})
    is_fine(kiosk)
    kiosk.start()
    panel = Client(broker.port, "kiosk/#")
    for number in range(9):
        panel.order("kiwi", panel=f"p{number}")
    panel.close()
    fault(kiosk, 1, "session", "warning", "40 messages")


def test_what_the_doctor_recommends_is_enough(
    make_broker: MakeBroker, make_kiosk: MakeKiosk
) -> None:
    is_fine(make_kiosk(make_broker(), orders={"max_per_second": 100_000}))


def test_a_session_that_is_forgotten_too_soon(make_kiosk: MakeKiosk) -> None:
    expiry = lambda seconds: b"\x11" + seconds.to_bytes(4, "big")
    odd = OddBroker(expiry(10))
    kiosk = make_kiosk(odd)
    assert "max_age_seconds" in fault(kiosk, 1, "session", "warning", "10 seconds")["fix"]
    odd.greeting = expiry(30)
    is_fine(kiosk)
    odd.close()


def test_dropped_messages(make_broker: MakeBroker, make_kiosk: MakeKiosk) -> None:
    broker = make_broker(settings="sys_interval 1")
    kiosk = make_kiosk(broker)
    is_fine(kiosk)
    broker.stop()
    configuration = broker.folder / "mosquitto.conf"
    configuration.write_text(
        configuration.read_text().replace("messages 10000", "messages 1"))
    broker.start()
    sleeper = ["mosquitto_sub", "-p", str(broker.port), "-q", "1", "-c", "-i", "sleeper"]
    subprocess.run([*sleeper, "-t", "news", "-E"], check=True)
    sender = Client(broker.port)
    for number in range(9):
        sender.publish("news", str(number))
    sender.close()
    dropped = Client(broker.port, "$SYS/broker/publish/messages/dropped")
    dropped.messages.first(lambda message: int(message.text) > 0)
    dropped.close()
    assert "max_queued_messages" in fault(kiosk, 1, "session", "warning", "dropped")["fix"]


def session(broker) -> list[str]:
    return ["mosquitto_sub", "-V", "5", "-p", str(broker.port), "-i", "juice-kiosk-k1",
            "-t", "nobody/says/anything", "-E"]


def end_session(broker) -> None:
    """Ends the session by connecting with a clean start."""
    subprocess.run(session(broker), check=True)


def test_another_client_with_the_same_id(broker, make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk(orders={"max_age_seconds": 1}).start()
    assert kiosk.stop() == 0
    is_fine(kiosk)
    subprocess.run([*session(broker), "-c", "-x", "3600"], check=True)
    # Asked only when the kiosk is away for longer than its session lives.
    # The check takes the session over, and then it lives for as long as the kiosk's, one second.
    [found] = eventually(lambda: Findings(kiosk).of("session", "warning"))
    assert "juice-kiosk-k1" in found["where"] and "client_id" in found["fix"]
    end_session(broker)
    is_fine(kiosk)
    # The doctor's own probe has left no session.
    is_fine(kiosk)


def test_another_kiosk(broker, make_kiosk: MakeKiosk) -> None:
    other = make_kiosk().start()
    kiosk = make_kiosk()
    found = fault(kiosk, 1, "session", "warning", "not with this ledger")
    assert "kiosk.id" in found["fix"]
    assert other.is_alive and sum("online" in line for line in other.log) == 1
    assert not [line for line in other.log if "rejected" in line]
    other.stop()
    # The session is the kiosk's own now; the next finding is that this one has the same client id.
    assert "client_id" in fault(kiosk, 1, "session", "warning", "juice-kiosk-k1")["fix"]
    end_session(broker)
    is_fine(kiosk)


def test_a_connection_that_comes_and_goes(kiosk: Kiosk, panel: Client) -> None:
    is_fine(kiosk)
    health = panel.messages.first(lambda message: message.topic == "kiosk/k1/health").json
    panel.publish(
        "kiosk/k1/health", json.dumps(health | {"reconnects": 9, "uptime": 600}), retain=True)
    assert "client_id" in fault(kiosk, 1, "session", "warning", "9 times")["fix"]
    panel.publish(
        "kiosk/k1/health", json.dumps(health | {"reconnects": 9, "uptime": 6000}), retain=True)
    is_fine(kiosk)


def test_a_status_that_is_not_true(kiosk: Kiosk, panel: Client) -> None:
    # Otherwise the kiosk's status may reach the broker after ours.
    panel.messages.first(lambda message: message.topic == "kiosk/k1/status")
    panel.publish("kiosk/k1/status", "offline", retain=True)
    assert "systemctl" in fault(kiosk, 1, "session", "warning", "not online")["fix"]
    assert not [line for line in kiosk.log if "rejected" in line]
    kiosk.stop()
    is_fine(kiosk)
    panel.publish("kiosk/k1/health", "", retain=True)
    panel.publish("kiosk/k1/status", "online", retain=True)
    assert "start the kiosk" in fault(kiosk, 1, "retained", "warning", "no kiosk runs")["fix"]
    kiosk.start()
    is_fine(kiosk)


def test_where_the_account_is_the_client_id(
    secured_broker: SecuredBroker, locked: Kiosk, connect_as: Callable[..., Account]
) -> None:
    locked.configure(None, {"broker": secured_broker.section(port=secured_broker.port)})
    is_fine(locked)
    locked.start()
    since = len(locked.log)
    found = fault(locked, 1, "session", "warning", "uses the account as the client id")
    assert "8884" in found["fix"]
    # After the disconnect, the kiosk resumes its session without losing anything.
    locked.wait_for_log(" online", since)
    panel = connect_as("panel1").subscribe("kiosk/k1/order/panel1/result")
    panel.publish_all({"kiosk/k1/order/panel1": "kiwi"})
    panel.wait_for("kiosk/k1/order/panel1/result", "ready")


def test_a_login_that_might_throw_the_kiosk_out_is_not_made(
    make_broker: MakeBroker, make_kiosk: MakeKiosk
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("NOT TESTED, this machine has no network")
        address = probe.getsockname()[0]
    broker = make_broker(users={"controller": "right"})
    broker.stop()
    configuration = broker.folder / "mosquitto.conf"
    configuration.write_text(configuration.read_text().replace(
        f"listener {broker.port} 127.0.0.1",
        f"listener {broker.port} 0.0.0.0\nuse_username_as_clientid true"))
    broker.start()
    kiosk = make_kiosk(broker, broker={
        "host": address, "username": "controller", "password_file": "password"})
    password = kiosk.folder / "password"
    password.touch(mode=0o600)
    password.write_text("right")
    kiosk.start()
    found = Findings(kiosk)
    assert found.are_fine()
    assert "--login" in found.one("broker", "note", "not tried")["fix"]
    assert sum("online" in line for line in kiosk.log) == 1
    forced = Findings(kiosk, "--login")
    assert forced.code == 1 and forced.one("session", "warning", "disconnected")
    kiosk.stop()
    assert "not tried while" not in str(Findings(kiosk))


# MARK: Unexpected retained messages


def clear(found: dict[str, str], broker) -> None:
    """Runs the suggested commands, which clear the topics."""
    for command in re.findall(r"mosquitto_pub [^;]*", found["fix"]):
        subprocess.run(["sh", "-c", f"{command} -p {broker.port}"], check=True)


def test_retained_commands(kiosk: Kiosk, panel: Client, broker) -> None:
    is_fine(kiosk)
    panel.publish("kiosk/k1/order/p1", "kiwi", retain=True)
    panel.publish("kiosk/k1/restock/desk", '{"add":{"kiwi":1}}', retain=True)
    found = fault(kiosk, 1, "retained", "warning", "kiosk/k1/order/p1", "kiosk/k1/restock/desk")
    clear(found, broker)
    is_fine(kiosk)


def test_leftovers_of_another_menu(make_kiosk: MakeKiosk, panel: Client, broker) -> None:
    kiosk = make_kiosk()
    panel.publish("kiosk/k1/stock/orange", "3", retain=True)
    panel.publish("kiosk/k1/order/p1/result", "{}", retain=True)
    found = fault(kiosk, 1, "retained", "warning", "kiosk/k1/stock/orange", "p1/result")
    clear(found, broker)
    is_fine(kiosk)
    # The kiosk recognizes topics of its own earlier configuration.
    menu = {"base": "standard", "fruits": {"orange": {}},
            "juices": {"orange": {"recipe": {"orange": 3}}}}
    kiosk.configure(broker, {"menu": menu})
    kiosk.start().stop()
    is_fine(kiosk)
    kiosk.configure(broker, {})
    found = Findings(kiosk)
    assert found.are_fine()
    assert "kiosk/k1/stock/orange" in found.one("retained", "note")["where"]
    kiosk.start().stop()
    assert "stock/orange" not in str(Findings(kiosk))
    assert "kiosk/k1/stock/orange" not in retained(broker.port)


# MARK: Machines


def test_machines(make_kiosk: MakeKiosk, panel: Client, broker) -> None:
    kiosk = make_kiosk(machines=[{"name": "bar", "juices": ["kiwi"]}]).start()
    fault(kiosk, 1, "machines", "warning", "never published its status", "write kiosk/k1/machine/bar/status")

    def say(status: str) -> None:
        panel.publish(f"{BASE}/machine/bar/status", status, retain=True)

    say("offline")
    fault(kiosk, 1, "machines", "warning", "bar: offline")
    say("fault: no cups")
    fault(kiosk, 1, "machines", "warning", "no cups")
    say("Online")
    fault(kiosk, 1, "machines", "warning", "an invalid status: Online")
    say("online")
    state = lambda word: eventually(
        lambda: word in retained(broker.port).get(f"{BASE}/machine/bar", ""))
    state('"idle"')
    is_fine(kiosk)
    for number in range(3):
        accepted = panel.order({"id": f"a{number}", "juice": "kiwi"})
        panel.publish(
            f"{BASE}/made/bar", json.dumps({"job": accepted["seq"], "status": "failed"}))
    state('"failing"')
    fault(kiosk, 1, "machines", "warning", "failed three times")
    say("online")
    accepted = panel.order({"id": "a3", "juice": "kiwi"})
    panel.publish(f"{BASE}/made/bar", json.dumps({"job": accepted["seq"], "status": "unknown"}))
    state('"needs_decision"')
    fault(kiosk, 1, "machines", "warning", f"job {accepted['seq']}", "needs a decision")
    # Another machine makes its juice, and a person still decides about its job.
    kiosk.stop()
    kiosk.configure(broker, {"machines": [{"name": "arm", "juices": ["kiwi"]}]})
    kiosk.start()
    panel.publish(f"{BASE}/machine/arm/status", "online", retain=True)
    eventually(lambda: '"idle"' in retained(broker.port).get(f"{BASE}/machine/arm", ""))
    fault(kiosk, 1, "machines", "warning", f"job {accepted['seq']}", "needs a decision")
    found = Findings(kiosk)
    assert len(found.of("machines", "warning")) == 1
    found.one("retained", "ok")


def test_payment_devices(make_kiosk: MakeKiosk, panel: Client, broker) -> None:
    menu = {"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 3.50}}}
    kiosk = make_kiosk(payment={"devices": [{"name": "terminal"}]}, menu=menu).start()
    panel.publish(f"{BASE}/payment/terminal/status", "online", retain=True)
    total = {"total": 1, "at": "2026-11-20T22:00:00Z", "currency": "EUR", "captured": 0, "refunded": 0, "count": 0}
    panel.publish(f"{BASE}/payment/terminal/total", json.dumps(total), retain=True)
    eventually(lambda: '"idle"' in retained(broker.port).get(f"{BASE}/payment/terminal", ""))
    assert not Findings(kiosk).of("retained", "warning")
    held = {"charge": 1, "status": "held", "amount": 350, "currency": "EUR"}
    panel.publish(f"{BASE}/paid/terminal", json.dumps(held))
    report = lambda: json.loads(retained(broker.port)[f"{BASE}/payment/terminal"])
    eventually(lambda: [charge["charge"] for charge in report()["charges"]] == [1])
    kiosk.stop()
    kiosk.configure(broker, {"menu": menu})
    kiosk.start()
    found = Findings(kiosk)
    assert "charge 1 " in found.one("payment", "warning")["what"]
    found.one("retained", "ok")


def test_a_retained_reading_is_expected(make_kiosk: MakeKiosk, panel: Client, broker) -> None:
    scale = {"name": "scale", "topic": f"{BASE}/measure/scale", "unit": "g", "min": 100}
    kiosk = make_kiosk(sensors=[scale]).start()
    panel.publish(scale["topic"], "900", retain=True)
    eventually(lambda: retained(broker.port).get(scale["topic"]) == "900")
    Findings(kiosk).one("retained", "ok")


def test_sensors(make_kiosk: MakeKiosk, panel: Client, broker) -> None:
    fridge = {"name": "fridge", "topic": "t/fridge", "value": "/t", "unit": "°C", "max": 7,
              "alarm_after_seconds": 10, "fruits": ["kiwi"]}
    level = {"name": "tank", "topic": "t/tank", "unit": "ml", "min": 500}
    kiosk = make_kiosk(sensors=[fridge, level]).start()
    panel.publish("t/tank", "900")
    panel.publish("t/fridge", "warm")

    def state(word: str) -> None:
        eventually(lambda: word in retained(broker.port).get(f"{BASE}/sensor/fridge", ""))

    fault(kiosk, 1, "sensors", "warning", "no reading yet", "a number at /t to t/fridge", "topic read")
    panel.publish("t/fridge", '{"t":4}')
    state('"ok"')
    is_fine(kiosk)
    panel.publish("t/fridge", '{"t":9.5}')
    state('"alarm"')
    fault(kiosk, 1, "sensors", "warning", "outside for too long (9.5 °C)", "close the door")
    kiosk.stop()
    kiosk.configure(broker, {"sensors": [fridge | {"block_after_seconds": 10, "max": 45}, level | {"min": 0}]})
    fault(kiosk, 1, "sensors", "warning", "45 °C: is that in °F?")
    fault(kiosk, 1, "sensors", "warning", "cannot have less than 0 ml")
    kiosk.configure(broker, {"sensors": [fridge | {"block_after_seconds": 10}]})
    kiosk.start()
    state('"blocked"')
    fault(kiosk, 1, "sensors", "warning", "blocked (9.5 °C, Kiwi)", "juice-kiosk sensor fridge: discard or release")
    kiosk.stop()
    kiosk.configure(broker, {"sensors": []})
    kiosk.start()
    fault(kiosk, 1, "sensors", "warning", "blocked (9.5 °C, Kiwi)")
    Findings(kiosk).one("retained", "ok")
    kiosk.stop()
    silent = {"state": "ok", "value": 4, "unit": "°C", "silent": True, "ignored": 3}
    kiosk.configure(broker, {"sensors": [fridge]})
    panel.publish(f"{BASE}/sensor/fridge", json.dumps(silent), retain=True)
    fault(kiosk, 1, "sensors", "warning", "silent", "3 messages without a usable value", "every 3600 s")


# MARK: Uplink


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_the_way_up(
    version: str, broker, make_broker: MakeBroker, make_kiosk: MakeKiosk, tmp_path: Path
) -> None:
    upper = make_broker(users={"k1": "secret"})
    password, nowhere = tmp_path / "password", free_port()
    password.touch(0o600)
    password.write_text("secret")
    settings = {"username": "k1", "password_file": str(password), "protocol": version}
    kiosk = make_kiosk(uplink={"addresses": [f"127.0.0.1:{upper.port}"]} | settings).start()
    found = Findings(kiosk)
    assert found.are_fine() and "accepts the login of k1" in found.one("uplink", "ok")["what"]

    # The kiosk sells without an uplink, so no finding is an error.
    password.write_text("wrong")
    assert "password_file" in fault(kiosk, 1, "uplink", "warning", "refused the login")["fix"]
    password.write_text("secret")
    addresses = {"addresses": [f"127.0.0.1:{nowhere}", f"127.0.0.1:{upper.port}"]}
    kiosk.configure(broker, {"uplink": addresses | settings})
    assert "addresses" in fault(kiosk, 1, "uplink", "warning", str(nowhere), "nothing answers")["fix"]
    assert Findings(kiosk).one("uplink", "ok", str(upper.port))
    password.chmod(0o644)
    assert fault(kiosk, 78, "permissions", "error", str(password))
