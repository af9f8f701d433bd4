"""The packages that deploy/package builds, in a Debian with a running systemd.

KIOSK_PACKAGES names a folder with packages that are built already.
"""

import shutil
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from client import Client
from conftest import MakeScene, Say
from faults import Faults
from machine import (
    InstalledBroker, InstalledKiosk, Machine, check_installed, later, needs_packages, wait_until_open,
)
from scene import FAULTS, PLENTY, Scene

pytestmark = needs_packages
INSTALL = "apt-get install -y /root/juice-kiosk_*.deb"
CUTS = 5 * FAULTS
# Enough fruit for a load test.
SETTINGS = f"orders: {{max_per_second: 0}}\nstock: {{initial: {PLENTY}, capacity: {PLENTY}}}\n"


@pytest.fixture(scope="session")
def installed(debian: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the packages. Returns the changes of that disk."""
    machine = Machine(tmp_path_factory.mktemp("installed"), debian)
    try:
        machine.boot()
        machine.shell(INSTALL)
        machine.shell("systemctl stop juice-kiosk; rm -f /var/lib/juice-kiosk/*")
        (machine.root / "etc/juice-kiosk/kiosk.yaml").write_text(SETTINGS)
        machine.shut_down()
    finally:
        machine.close()
    return machine.changes


@pytest.fixture
def kiosk(debian: Path, installed: Path, tmp_path: Path) -> Iterator[Machine]:
    """Yields a machine with a running kiosk."""
    machine = Machine(tmp_path, installed, debian)
    try:
        machine.boot()
        wait_until_open(machine)
        yield machine
    finally:
        machine.close()


@pytest.fixture
def scene(kiosk: Machine, make_scene: MakeScene) -> Iterator[Scene]:
    """Yields panels that press without pause from the machine's network."""
    with kiosk.network():
        yield make_scene(InstalledKiosk(kiosk), InstalledBroker(kiosk))


def test_install_it_edit_two_lines_and_press(machine: Machine) -> None:
    machine.shell("apt-get install -y mosquitto /root/juice-kiosk_*.deb")
    edit = "sed -i -e 's/^  language: en/  language: ko/' -e 's|^  time_zone: UTC|  time_zone: Asia/Seoul|'"
    machine.shell(f"{edit} /etc/juice-kiosk/kiosk.yaml; systemctl restart mosquitto juice-kiosk")
    wait_until_open(machine)
    with machine.network():
        panel = Client(InstalledBroker.port, "kiosk/#")
        told = panel.order("strawberry_banana")
        panel.close()
    assert told["message"] == "딸바쥬스 나왔습니다! 맛있게 드세요!"
    assert (told["stock"]["strawberry"], told["stock"]["banana"]) == (0, 9)


def test_the_program_comes_with_all_that_belongs_to_it(kiosk: Machine) -> None:
    assert kiosk.shell("stat -c '%U %a' /var/lib/juice-kiosk").split() == ["juice-kiosk", "750"]
    check_installed(kiosk, "juice-kiosk", "priority|permitted", "unattended juice kiosk")


def test_an_update_under_load_loses_nothing_and_keeps_what_was_changed(
    kiosk: Machine, scene: Scene, tmp_path: Path, say: Say
) -> None:
    shutil.move(later("juice-kiosk", tmp_path, "99.0"), kiosk.root / "root/new.deb")
    process = kiosk.property("MainPID")
    scene.work()
    kiosk.shell("dpkg -i /root/new.deb")
    scene.work()
    assert kiosk.shell("dpkg-query -W -f '${Version}' juice-kiosk") == "99.0"
    assert kiosk.property("MainPID") != process
    assert (kiosk.root / "etc/juice-kiosk/kiosk.yaml").read_text() == SETTINGS
    say(scene.end())


def test_a_reload_takes_a_new_file_and_leaves_a_broken_one(kiosk: Machine) -> None:
    process, config = kiosk.property("MainPID"), kiosk.root / "etc/juice-kiosk/kiosk.yaml"
    is_taken = "journalctl -q -u juice-kiosk --output cat --grep 'configuration is taken' || true"
    config.write_text(SETTINGS + "menu: {base: standard, juices: {shake: {recipe: {kiwi: 1}}}}\n")
    kiosk.shell("systemctl reload juice-kiosk")
    eventually(lambda: kiosk.shell(is_taken) != "")
    assert "ticket 1" in kiosk.shell("juice-kiosk order shake")
    config.write_text(SETTINGS + "menu: {base: no}\n")
    kiosk.shell("systemctl reload juice-kiosk", code=1)
    assert "kiosk.yaml:3:8: menu.base: " in kiosk.shell("systemctl status juice-kiosk | cat")
    config.write_text(SETTINGS)
    assert "ticket 2" in kiosk.shell("juice-kiosk order kiwi")
    eventually(lambda: kiosk.property("ActiveState") == "active")
    assert kiosk.property("MainPID") == process


def test_power_cuts_under_load_lose_no_juice_that_was_announced(
    kiosk: Machine, scene: Scene, say: Say
) -> None:
    for _ in range(CUTS):
        scene.work(200)
        kiosk.cut_power()
        kiosk.boot()
        wait_until_open(kiosk)
        for panel in scene.panels:
            panel.wait_until_subscribed()
            # The orders that mosquitto had not saved are not answered.
            panel.ask_again()
    scene.work(200)
    say(f"{CUTS} cuts, {scene.end(broker_lost='presses')}")


@pytest.mark.parametrize("damage", [
    "head -c 100 /dev/zero >mosquitto.db", "truncate -s -40 mosquitto.db", "truncate -s 0 mosquitto.db",
    "printf c | dd of=mosquitto.db bs=1 seek=22 conv=notrunc",
], ids=["nul", "half", "empty", "version"])
def test_a_broken_database_of_mosquitto_stops_no_sales(kiosk: Machine, damage: str) -> None:
    kiosk.shell("juice-kiosk order kiwi; systemctl stop mosquitto")
    kiosk.shell(f"cd /var/lib/mosquitto; test -s mosquitto.db; {damage}")
    kiosk.cut_power()
    kiosk.boot()
    wait_until_open(kiosk)
    assert "ticket 2" in kiosk.shell("juice-kiosk order kiwi")
    moved = kiosk.shell("journalctl -q -u mosquitto --output cat --grep 'moved to' || true")
    assert ("mosquitto.db.broken" in moved) == ("-s 0" not in damage)


@pytest.fixture
def watched(kiosk: Machine, faults: Faults) -> Machine:
    """Adds a disk that can hang, and a watchdog timeout of 15 seconds instead of 90."""
    shutil.copy(faults.variables["LD_PRELOAD"], kiosk.root / "usr/lib/faults.so")
    folder = kiosk.root / "etc/systemd/system/juice-kiosk.service.d"
    folder.mkdir()
    (folder / "test.conf").write_text(
        "[Service]\nWatchdogSec=15\nRestartSec=1\nEnvironment=LD_PRELOAD=/usr/lib/faults.so\n"
        "Environment=FAULTS=/etc/faults\n"
    )
    kiosk.shell("systemctl daemon-reload; systemctl restart juice-kiosk")
    return kiosk


def test_a_kiosk_that_hangs_is_started_anew(watched: Machine) -> None:
    order = watched.root / "etc/faults"
    order.write_text("sync 0\n")
    watched.shell("mosquitto_pub -q 1 -t kiosk/k1/order/p1 -m '{\"id\":\"a1\",\"juice\":\"kiwi\"}'")
    # Otherwise the kiosk would hang again during its start.
    eventually(lambda: watched.property("NRestarts") != "0" and (order.unlink() or True))
    wait_until_open(watched)
    entries = InstalledKiosk(watched).entries
    made = lambda: [entry["id"] for entry in entries() if entry["status"] == "ready"]
    eventually(lambda: made() == ["a1"])


def test_a_kiosk_whose_broker_is_away_is_not(watched: Machine) -> None:
    process = watched.property("MainPID")
    watched.shell("systemctl stop mosquitto")
    eventually(lambda: "cannot be reached" in watched.property("StatusText"))
    # Watchdog signals continue for longer than the timeout.
    last_sign = lambda: int(watched.property("WatchdogTimestampMonotonic"))
    start = last_sign()
    eventually(lambda: last_sign() - start > 20_000_000)
    assert (watched.property("NRestarts"), watched.property("MainPID")) == ("0", process)
    watched.shell("systemctl start mosquitto")
    wait_until_open(watched)


def test_an_installation_does_not_wait_for_a_broker(machine: Machine) -> None:
    machine.shell("apt-get install -y --no-install-recommends /root/juice-kiosk_*.deb")
    assert machine.property("ActiveState") == "activating"
    eventually(lambda: "cannot be reached" in machine.property("StatusText"))
    machine.shell("apt-get remove -y juice-kiosk")
    assert machine.property("ActiveState") in ("inactive", "failed")
