"""Every command of the operator's handbook is run by a test; this one runs them from top to bottom.
"""

import re

import handbook
from arrivals import eventually
from machine import Machine, needs_packages, wait_until_open


def test_every_command_is_run_by_a_test() -> None:
    text = handbook.PAGE.read_text()
    assert handbook.complaints(text) == []
    calls = [step.call for step in handbook.steps(text) if step.call]
    assert [name for name in calls if not callable(globals().get(name))] == []


def test_a_command_that_nobody_runs_is_found() -> None:
    page = """
`systemctl status juice-kiosk` and `juice-kiosk` and `juice-kiosk order kiwi`.
```sh
juice-kiosk order kiwi --quantity 2
```
```text
juice-kiosk restock kiwi=+1
```
<!-- run by: test_handbook.py::test_that_is_not_there -->
```sh
juice-kiosk close
```
"""
    assert handbook.complaints(page) == [
        "line 6: a block with commands is marked sh or console",
        "line 9: test_handbook.py::test_that_is_not_there does not run it",
        "no block has: systemctl status juice-kiosk",
    ]


@needs_packages
def test_each_command_of_the_handbook(machine: Machine) -> None:
    for step in handbook.steps(handbook.PAGE.read_text()):
        where = f"{handbook.PAGE.name}:{step.line}"
        if step.call:
            globals()[step.call](machine)
        elif step.test or not step.is_run:
            continue
        elif step.block.output is None:
            done = machine.run("bash", "-euo", "pipefail", "-c", f"cd /root\n{step.block.script}")
            # The doctor warns of this machine's disk, which is an overlay, and of nothing else.
            is_overlay = done.returncode == 1 and "(overlay)" in done.stdout and ": 1 warning" in done.stdout
            assert done.returncode == 0 or is_overlay, f"{where}: {done}"
        else:
            # The command may demonstrate a failure, so only its output is checked.
            done = machine.run("bash", "-c", f"cd /root\n{step.block.script}")
            assert step.block.printed(done.stdout + done.stderr), f"{where}: {done}"


# MARK: Functions that the page calls

def kiosk_is_open(machine: Machine) -> None:
    wait_until_open(machine)


def reloads(machine: Machine) -> int:
    said = machine.run("journalctl", "-q", "-o", "cat", "-u", "juice-kiosk").stdout
    return said.count("the new configuration is taken")


def reload_is_taken(machine: Machine) -> None:
    eventually(lambda: reloads(machine) == 1)


def reload_is_taken_with_a_password(machine: Machine) -> None:
    machine.shell("systemctl reload juice-kiosk")
    eventually(lambda: reloads(machine) == 2)


def dashboard_is_there(machine: Machine) -> None:
    page = "exec 3<>/dev/tcp/127.0.0.1/8080; printf 'GET /login HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    assert 'name="password"' in machine.shell(page)


def dashboard_sees_the_kiosk(machine: Machine) -> None:
    eventually(lambda: "online" in machine.run(
        "journalctl", "-q", "-o", "cat", "-u", "juice-dashboard").stdout.splitlines()[-1])


def alerts_are_watched(machine: Machine) -> None:
    query = (
        "exec 3<>/dev/tcp/127.0.0.1/9090; printf 'GET /api/v1/query?query="
        "juice_kiosk_orders_total HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    )
    eventually(lambda: '"sensor":"k1"' in machine.run("bash", "-c", query).stdout, within=90)


def publish(machine: Machine, topic: str, payload: str) -> None:
    """Publishes with the dashboard's account."""
    folder = "/etc/mosquitto/kiosk"
    machine.shell(
        f"mosquitto_pub -h localhost -p 8884 --cafile {folder}/ca.crt -u dashboard -q 1 "
        f"-P $(cat {folder}/secrets/dashboard.password) -t kiosk/k1/{topic} -m '{payload}'")


def next_backup_replaces_it(machine: Machine) -> None:
    export = "juice-kiosk ledger export"
    entries = lambda options="": len(machine.shell(f"{export} {options}").splitlines())
    before = entries()
    publish(machine, "restock/dashboard", '{"add":{"kiwi":1}}')
    eventually(lambda: entries() == before + 1)
    blocks = [step.block.script for step in handbook.steps(handbook.PAGE.read_text())]
    machine.shell(next(block for block in blocks if "ledger backup new.sqlite" in block))
    assert entries("--path /var/backups/juice-kiosk/today.sqlite") == before + 1


def operator_changes_the_settings(machine: Machine) -> None:
    publish(machine, "settings/dashboard", '{"id":"s1","low":{"kiwi":9}}')
    eventually(lambda: "by dashboard" in machine.shell("juice-kiosk check"))


def hardware_is_new(machine: Machine) -> None:
    machine.shell("apt-get purge -y juice-kiosk; rm -r /etc/systemd/system/juice-kiosk.service.d")
    assert "juice-kiosk" not in machine.shell("ls /etc /var/lib")
    machine.shell("apt-get install -y /root/juice-kiosk_*.deb")


def settings_have_moved(machine: Machine) -> None:
    wait_until_open(machine)
    assert "by dashboard" in machine.shell("juice-kiosk check")


def ledger_is_still_there(machine: Machine) -> None:
    assert "ledger.sqlite" in machine.shell("ls /var/lib/juice-kiosk")


def nothing_is_left(machine: Machine) -> None:
    find = "find / -xdev -name '*juice-*' -not -path '/root/*' -not -path '/proc/*'"
    # Logs of the machine, and files that the handbook creates manually.
    units = r"etc/systemd/system/juice-[a-z]+\.service\.d"
    kept = re.compile(rf"/(var/(log|backups)|{units}|sys|run)\b")
    assert [path for path in machine.shell(find).splitlines() if not kept.match(path)] == []


# MARK: Faults

def broker_stops(machine: Machine) -> None:
    machine.shell("systemctl stop mosquitto")
    eventually(lambda: "cannot be reached" in machine.property("StatusText"))


def configuration_gets_a_mistake(machine: Machine) -> None:
    machine.shell("sed -i 's/^  language: ko/  language: kr/' /etc/juice-kiosk/kiosk.yaml")
    machine.run("systemctl", "restart", "juice-kiosk")


def mistake_is_mended(machine: Machine) -> None:
    machine.shell("sed -i 's/^  language: kr/  language: ko/' /etc/juice-kiosk/kiosk.yaml")


def password_changes_at_the_broker(machine: Machine) -> None:
    machine.shell("/usr/share/juice-kiosk/mosquitto/make-accounts --new-password controller")
    machine.shell("systemctl reload mosquitto")
    eventually(lambda: "refused the login" in machine.property("StatusText"))
