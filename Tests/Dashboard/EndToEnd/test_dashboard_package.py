"""The dashboard's package, as deploy/package builds it, from installation to removal."""

import shutil
from pathlib import Path

from arrivals import eventually
from client import Client
from machine import InstalledBroker, Machine, check_installed, check_purged, later, needs_packages
from web_client import WebClient

pytestmark = needs_packages
UNIT = "juice-dashboard"
CONFIGURATION = "etc/juice-dashboard/dashboard.yaml"


def wait_for_pages(machine: Machine, port: int) -> None:
    status = f"Pages at http://127.0.0.1:{port}/"
    eventually(lambda: machine.property("StatusText", UNIT) == status)


def can_log_in(machine: Machine, port: int, password: str) -> bool:
    """Returns whether the user can log in, and checks that the dashboard shows a kiosk."""
    with machine.network():
        web_client = WebClient(port)
        web_client.log_in("minji", password)
        # It may have started before its broker, and reconnects at least once a minute.
        eventually(lambda: "/kiosks/k7" in web_client.get().text, within=90)
        # The service may load the library and write its temporary file.
        assert web_client.get("/history.xlsx").status == 200
        web_client.close()
    return True


def test_the_dashboard_from_its_installation_to_its_end(
    machine: Machine, tmp_path: Path
) -> None:
    machine.shell("apt-get install -y mosquitto /root/juice-dashboard_*.deb")
    wait_for_pages(machine, 8080)
    password = machine.shell("juice-dashboard user add minji --role operator --generate").strip()
    # Root has created the file, and the service's user owns it.
    users = "/var/lib/juice-dashboard/users"
    assert machine.shell(f"stat -c '%U %G %a' {users}").split() == [UNIT, UNIT, "600"]
    with machine.network():
        kiosk = Client(InstalledBroker.port)
        kiosk.publish("kiosk/k7/status", "online", retain=True)
        kiosk.close()
    assert can_log_in(machine, 8080, password)

    # The installed files.
    check_installed(
        machine, UNIT, "priority|permitted|denied", "juice-dashboard user add", "/var/lib/juice-dashboard/users")

    # An upgrade keeps the changed configuration and the users.
    file = machine.root / CONFIGURATION
    file.write_text(file.read_text().replace("  port: 8080", "  port: 8090"))
    shutil.move(later(UNIT, tmp_path, "99.0"), machine.root / "root/new.deb")
    process = machine.property("MainPID", UNIT)
    machine.shell("dpkg -i /root/new.deb")
    wait_for_pages(machine, 8090)
    assert machine.property("MainPID", UNIT) != process
    assert can_log_in(machine, 8090, password)

    # After a removal the service is stopped, and after a new installation it is as before.
    machine.shell("apt-get remove -y juice-dashboard")
    assert machine.property("ActiveState", UNIT) in ("inactive", "failed")
    assert machine.run("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8090").returncode == 1
    assert (machine.root / CONFIGURATION).exists()
    machine.shell("dpkg -i /root/new.deb")
    wait_for_pages(machine, 8090)
    assert can_log_in(machine, 8090, password)

    check_purged(machine, UNIT)


def test_a_port_that_is_taken_does_not_stop_the_installation(machine: Machine) -> None:
    machine.shell("apt-get install -y mosquitto")
    (machine.root / "etc/mosquitto/conf.d/taken.conf").write_text("listener 8080 127.0.0.1\n")
    machine.shell("systemctl restart mosquitto; apt-get install -y /root/juice-dashboard_*.deb")
    said = lambda: machine.run("journalctl", "-q", "-o", "cat", "-u", UNIT).stdout
    eventually(lambda: "http://127.0.0.1:8080/ cannot be served" in said())
    # It retries, and listens as soon as the port is free.
    machine.shell("rm /etc/mosquitto/conf.d/taken.conf; systemctl restart mosquitto")
    wait_for_pages(machine, 8080)
