"""The package of juice-zvt, as deploy/package builds it, from installation to removal."""

import re
import shutil
from pathlib import Path

from arrivals import eventually
from kiosk import ROOT
from machine import Machine, check_installed, check_purged, later, needs_packages

pytestmark = needs_packages
UNIT = "juice-zvt"


def test_the_device_from_its_installation_to_its_end(machine: Machine, tmp_path: Path) -> None:
    rights = "stat -c '%U %G %a' /etc/juice-zvt/zvt.yaml"
    # Without a terminal it runs and retries.
    machine.shell("apt-get install -y mosquitto mosquitto-clients /root/juice-zvt_*.deb")
    assert machine.property("ActiveState", UNIT) == "active"
    assert machine.shell(rights).split() == ["root", "juice-zvt", "640"]
    status = "mosquitto_sub -C 1 -W 30 -t kiosk/k1/payment/terminal/status"
    assert machine.shell(status).strip() == "fault: terminal away"
    assert "The configuration is good." in machine.shell("juice-zvt check")
    assert "cannot be reached" in machine.run("juice-zvt", "doctor", "--timeout", "2").stdout or (
        "the device runs" in machine.run("juice-zvt", "doctor", "--timeout", "2").stdout
    )

    # The page's check of the terminal: its service must not have the connection.
    page = (ROOT / "deploy/docs/payment.md").read_text()
    (check,) = re.findall(r"^ *```console\n(.*?)```", page, re.M | re.S)
    commands = re.findall(r"^ *\$ (.*)$", check, re.M)
    said = "".join(machine.run("sh", "-c", command).stdout for command in commands)
    assert "cannot be reached" in said and "the device runs" not in said
    assert machine.property("ActiveState", UNIT) == "active"

    # The installed files.
    check_installed(machine, UNIT, "permitted|denied", "juice-zvt doctor", "/etc/juice-zvt/zvt.yaml")

    # An upgrade restarts it, and keeps the journal.
    journal = machine.shell("cat /var/lib/juice-zvt/journal")
    shutil.move(later(UNIT, tmp_path, "99.0"), machine.root / "root/new.deb")
    machine.shell("dpkg -i /root/new.deb")
    eventually(lambda: machine.property("ActiveState", UNIT) == "active", within=90)
    assert machine.shell("cat /var/lib/juice-zvt/journal").startswith(journal)

    check_purged(machine, UNIT)
