"""The archive's package, as deploy/package builds it, from installation to removal."""

import re
import shutil
from pathlib import Path

from archive import event, tell
from arrivals import eventually
from client import Client
from kiosk import ROOT
from machine import InstalledBroker, Machine, check_installed, check_purged, later, needs_packages

pytestmark = needs_packages
UNIT = "juice-archive"


def has(machine: Machine, *numbers: int) -> bool:
    """Returns whether the database contains exactly these entries."""
    query = "psql -At -c 'SELECT seq FROM juice.event ORDER BY seq' juice"
    found = machine.run("su", "postgres", "-c", query).stdout.split()
    return found == [str(number) for number in numbers]


def sell(machine: Machine, number: int) -> None:
    with machine.network():
        kiosk = Client(InstalledBroker.port)
        tell(kiosk, "k7", event(number, epoch=1))
        kiosk.close()


def test_the_archive_from_its_installation_to_its_end(machine: Machine, tmp_path: Path) -> None:
    # Without a database it runs and retries.
    machine.shell("apt-get install -y mosquitto postgresql /root/juice-archive_*.deb")
    assert machine.property("ActiveState", UNIT) == "active"
    machine.shell("su postgres -c 'createuser juice-archive && createdb -O juice-archive juice'")
    said = lambda: machine.run("journalctl", "-q", "-o", "cat", "-u", UNIT).stdout
    eventually(lambda: "archiving" in said(), within=90)
    sell(machine, 1)
    eventually(lambda: has(machine, 1))

    # The installed files.
    check_installed(
        machine, UNIT, "permitted|denied", "juice-archive fleet push", "/etc/juice-archive/archive.yaml")

    # The page's commands, as root.
    page = " ".join((ROOT / "deploy/docs/chain.md").read_text().split())
    command = r"(?:runuser \S+ \S+ -- )?juice-archive (?=check|kiosks load|fleet push|fleet status)"
    (archive,) = set(re.findall(command, page))
    assert "the database can be reached" in machine.shell(f"{archive} check")
    assert "id,region,name,place" in machine.shell(f"{archive} kiosks list")

    # An upgrade restarts it. Meanwhile, the broker keeps the events.
    shutil.move(later(UNIT, tmp_path, "99.0"), machine.root / "root/new.deb")
    machine.shell("systemctl stop juice-archive")
    sell(machine, 2)
    machine.shell("dpkg -i /root/new.deb")
    eventually(lambda: has(machine, 1, 2), within=90)

    # The page's backup and restore, while a dashboard is connected.
    page = (ROOT / "deploy/docs/chain-operations.md").read_text()
    backup, restore = re.findall(r"^```text\n([^`]*juice\.dump[^`]*)^```$", page, re.M)
    machine.shell("su postgres -c 'psql -c \"SELECT pg_sleep(600)\" juice' </dev/null >/dev/null 2>&1 &")
    connected = "psql -At -c \"SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)'\""
    eventually(lambda: machine.run("su", "postgres", "-c", connected).stdout)
    machine.shell(f"cd /root\n{backup}")
    sell(machine, 3)
    eventually(lambda: has(machine, 1, 2, 3))
    machine.shell(f"cd /root\n{restore}")
    assert has(machine, 1, 2)

    # A user of the database for a dashboard, as its page says.
    page = (ROOT / "deploy/docs/dashboard.md").read_text()
    (grant,) = re.findall(r"^```text\n([^`]*GRANT[^`]*)^```$", page, re.M)
    machine.shell(grant)

    # Removing the package leaves the database unchanged.
    check_purged(machine, UNIT)
    assert has(machine, 1, 2)
