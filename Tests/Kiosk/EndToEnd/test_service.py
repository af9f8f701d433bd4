"""Notifications to the service manager: a simulated systemd, with the shipped program."""

import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeKiosk
from faults import Faults
from kiosk import ROOT
from mosquitto import Mosquitto
from service_manager import WATCHDOG_SECONDS, Manager

UNITS = ROOT / "deploy/systemd"
# Cycles each second instead of every five.
ORDERS = {"max_age_seconds": 6, "max_per_second": 0}


@pytest.fixture(params=["path", "abstract"])
def manager(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Manager]:
    """Yields a manager for each of the two kinds of sockets that systemd may use."""
    is_path = request.param == "path"
    yield Manager(str(tmp_path / "notify") if is_path else f"@kiosk-tests-{tmp_path}")


def index(manager: Manager, line: str) -> int:
    return manager.heard.since(0).index(line)


def test_it_is_ready_when_orders_are_taken(
    broker: Mosquitto, make_kiosk: MakeKiosk, manager: Manager
) -> None:
    kiosk = make_kiosk(orders=ORDERS)
    panel = Client(broker.port, "kiosk/k1/status")
    try:
        broker.stop()
        kiosk.launch(**manager.variables)
        manager.wait_for("cannot be reached")
        # Watchdog signals continue for longer than a start may be silent.
        for _ in range(3):
            manager.wait_for_life()
        manager.wait_for(f"EXTEND_TIMEOUT_USEC={WATCHDOG_SECONDS * 1_000_000}")
        assert "READY=1" not in manager.heard.since(0)
        broker.start()
        manager.wait_for("READY=1")
        panel.messages.first(lambda message: message.text == "online")
        assert index(manager, "STATUS=Connecting to the broker.") < index(manager, "READY=1")
        assert manager.wait_for("STATUS=Open") == "STATUS=Open: orders are taken."
    finally:
        panel.close()


def test_it_says_how_it_is_in_words(
    broker: Mosquitto, make_kiosk: MakeKiosk, manager: Manager
) -> None:
    kiosk = make_kiosk(orders=ORDERS).start(**manager.variables)
    desk = Client(broker.port, "kiosk/#")
    desk.service("closed")
    manager.wait_for("STATUS=Closed: orders are rejected.")
    desk.service("open")
    since = len(manager.heard)
    manager.wait_for("STATUS=Open", index(manager, "STATUS=Closed: orders are rejected."))
    desk.close()
    broker.stop()
    told = manager.wait_for("STATUS=No orders are taken, ", since)
    assert "broker" in told and told.endswith(". Trying again.")
    since = len(manager.heard)
    broker.start()
    manager.wait_for("STATUS=Open", since)
    assert kiosk.stop() == 0
    assert manager.heard.since(0)[-2:] == ["STATUS=Stopping.", "STOPPING=1"]
    assert manager.heard.count(lambda line: line == "READY=1") == 1


def test_a_kiosk_whose_broker_is_away_is_alive(
    broker: Mosquitto, make_kiosk: MakeKiosk, manager: Manager
) -> None:
    make_kiosk(orders=ORDERS).start(**manager.variables)
    broker.stop()
    manager.wait_for("STATUS=No orders")
    for _ in range(3):
        manager.wait_for_life()


def test_a_kiosk_whose_disk_fails_is_alive_and_says_so(
    broker: Mosquitto, make_kiosk: MakeKiosk, manager: Manager, faults: Faults
) -> None:
    make_kiosk(orders=ORDERS).start(**manager.variables, **faults.variables)
    panel = Client(broker.port, "kiosk/#")
    # In the second run the kiosk has nothing to write but new orders.
    for _ in range(2):
        since = len(manager.heard)
        faults.fail("sync", 5)
        panel.publish("kiosk/k1/order/p1", "banana")
        manager.wait_for("STATUS=No orders are taken, the ledger", since)
        for _ in range(3):
            manager.wait_for_life()
        since = len(manager.heard)
        faults.end()
        manager.wait_for("STATUS=Open", since)
    assert len([line for line in manager.heard.since(0) if line.startswith("STATUS=Open")]) == 3
    panel.close()


def test_a_kiosk_that_hangs_is_not_alive(
    broker: Mosquitto, make_kiosk: MakeKiosk, manager: Manager, faults: Faults
) -> None:
    kiosk = make_kiosk(orders=ORDERS).start(**manager.variables, **faults.variables)
    panel = Client(broker.port, "kiosk/#")
    manager.wait_for_life()
    faults.hang("sync")
    panel.publish("kiosk/k1/order/p1", '{"id":"a1","juice":"banana"}')
    manager.wait_for_silence()
    assert kiosk.is_alive
    # As systemd does. Nothing is lost.
    kiosk.kill()
    faults.end()
    kiosk.start()
    panel.messages.first(lambda m: m.topic.endswith("p1/result") and m.json["status"] == "ready")
    panel.close()


def test_without_a_service_manager_nothing_is_missing(make_kiosk: MakeKiosk) -> None:
    """Also with a socket that no longer exists."""
    assert make_kiosk().start(NOTIFY_SOCKET="/nowhere/to/be/found").stop() == 0


# MARK: Unit files


@pytest.mark.parametrize("program", ["juice-kiosk", "juice-dashboard", "juice-archive", "juice-zvt"])
def test_the_unit_is_hardened_and_without_faults(program: str, tmp_path: Path) -> None:
    # The program and its manual exist only after the installation of the package.
    text = (UNITS / f"{program}.service").read_text().replace(f"/usr/bin/{program}", "/bin/true")
    unit = tmp_path / f"{program}.service"
    unit.write_text("".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("Documentation=")
    ))
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=120
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=11", unit],
        capture_output=True, text=True, timeout=120,
    )
    assert rated.returncode == 0, rated.stdout


def test_signals_before_the_configuration_is_read_do_not_end_the_kiosk(make_kiosk: MakeKiosk) -> None:
    kiosk = make_kiosk()
    kiosk.launch()
    signs = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    mask = sum(1 << (sign - 1) for sign in signs)

    def are_ignored() -> bool:
        status = Path(f"/proc/{kiosk.process.pid}/status").read_text()
        return int(status.split("SigIgn:")[1].split()[0], 16) & mask == mask

    eventually(are_ignored)
    for sign in signs:
        kiosk.process.send_signal(sign)
    kiosk.wait_for_log(" online")
