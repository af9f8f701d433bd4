"""A kiosk whose ledger was restored from a backup asks its payment devices for all that they hold."""

import contextlib
import json

import pytest

from arrivals import eventually
from client import BASE, Client
from conftest import MakeKiosk
from mosquitto import Mosquitto
from shop import MakeDevice, TerminalProcess, make_device, terminal  # noqa: F401


@pytest.mark.parametrize("ends", ["kiosk", "kiosk and device"])
def test_a_hold_that_the_backup_lacks_is_for_a_person(
    ends: str, broker: Mosquitto, make_kiosk: MakeKiosk, make_device: MakeDevice,
    terminal: TerminalProcess,
) -> None:
    device = make_device(mode="reservation")
    kiosk = make_kiosk(
        payment={"devices": [{"name": "terminal"}]},
        # A machine that does not exist keeps the amount held.
        machines=[{"name": "bar"}],
        menu={"base": "standard", "currency": "EUR", "juices": {"kiwi": {"price": 2.99}}},
    ).start()
    with contextlib.closing(
        Client(broker.port, f"{BASE}/payment/terminal", f"{BASE}/paid/terminal", f"{BASE}/order/+/result")
    ) as panel:
        panel.publish(f"{BASE}/machine/bar/status", "online", retain=True)
        reports = lambda wanted, since=0: panel.messages.first(
            lambda m: m.topic == f"{BASE}/payment/terminal" and wanted(m.json), since=since)
        reports(lambda report: report["state"] == "idle" and not report["needs_inventory"])
        backup = kiosk.folder / "backup.sqlite"
        assert kiosk.command("ledger", "backup", str(backup)).returncode == 0
        panel.publish(f"{BASE}/order/p1", json.dumps({"id": "a1", "juice": "kiwi"}))
        held = panel.messages.first(
            lambda m: m.topic == f"{BASE}/paid/terminal" and m.json["status"] == "held").json
        kiosk.stop()
        restored = kiosk.command("ledger", "restore", "--replace", str(backup))
        assert restored.returncode == 0, restored.stderr
        since = len(panel.messages)
        if ends == "kiosk and device":
            # The device says what it holds before the kiosk, whose first session is a clean one, is connected.
            device.kill()
            device.start()
            panel.messages.first(
                lambda m: m.topic == f"{BASE}/paid/terminal" and m.json["status"] == "held", since=since)
        kiosk.start()
        report = reports(lambda report: bool(report.get("charges")), since).json
        assert [(c["charge"], c["amount"]) for c in report["charges"]] == [(held["charge"], 299)]
        hint = f"juice-kiosk charge {held['charge']}: capture, release, captured, released"
        eventually(lambda: hint in " ".join(kiosk.command("doctor").stdout.split()))
        assert list(terminal.journal.open.values()) == [299], "nothing is released by itself"
        assert kiosk.command("charge", str(held["charge"]), "release").returncode == 0
        eventually(lambda: not terminal.journal.open)
    kiosk.verify()
