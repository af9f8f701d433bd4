"""The package of juice-zvt, as deploy/package builds it, from installation to removal."""

import shutil
from pathlib import Path

from arrivals import eventually
from machine import Machine, later, needs_packages

pytestmark = needs_packages
UNIT = "juice-zvt"


def test_the_device_from_its_installation_to_its_end(machine: Machine, tmp_path: Path) -> None:
    # Without a terminal it runs and retries.
    machine.shell("apt-get install -y mosquitto mosquitto-clients /root/juice-zvt_*.deb")
    assert machine.property("ActiveState", UNIT) == "active"
    status = "mosquitto_sub -C 1 -W 30 -t kiosk/k1/payment/terminal/status"
    assert machine.shell(status).strip() == "fault: terminal away"
    assert "The configuration is good." in machine.shell("juice-zvt check")
    assert "cannot be reached" in machine.run("juice-zvt", "doctor", "--timeout", "2").stdout or (
        "the device runs" in machine.run("juice-zvt", "doctor", "--timeout", "2").stdout
    )

    # The installed files.
    manual = machine.shell("apt-get install -y man-db >/dev/null; man juice-zvt | cat")
    assert "juice-zvt doctor" in manual and "/etc/juice-zvt/zvt.yaml" in manual
    machine.shell("bash -c 'source /usr/share/bash-completion/completions/juice-zvt'")
    machine.shell(f"systemd-analyze verify /lib/systemd/system/{UNIT}.service")
    rights = f"grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/$(pidof {UNIT})/status"
    assert machine.shell(rights).split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1",
                                             "Seccomp:", "2"]
    assert machine.shell(f"journalctl -q -u {UNIT} --grep 'permitted|denied' || true") == ""

    # An upgrade restarts it, and keeps the journal.
    journal = machine.shell("cat /var/lib/juice-zvt/journal")
    shutil.move(later(UNIT, tmp_path, "99.0"), machine.root / "root/new.deb")
    machine.shell("dpkg -i /root/new.deb")
    eventually(lambda: machine.property("ActiveState", UNIT) == "active", within=90)
    assert machine.shell("cat /var/lib/juice-zvt/journal").startswith(journal)

    machine.shell("apt-get purge -y juice-zvt")
    kept = "-not -path '/var/log/*' -not -path '/var/cache/man/*'"
    assert machine.shell(f"find /etc /usr /var /lib /opt -name '*juice*' {kept}") == ""
