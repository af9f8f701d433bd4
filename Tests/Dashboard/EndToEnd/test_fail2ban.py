"""The real fail2ban, with the filter of dashboard.md, reads the log of the real dashboard."""

import re
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from arrivals import eventually
from daemon import ROOT
from dashboard import PASSWORDS, Dashboard
from mosquitto import Mosquitto
from web_client import WebClient

ATTACKER, IPV6, INNOCENT, FORGETFUL = "192.0.2.66", "2001:db8::66", "198.51.100.1", "203.0.113.5"


@pytest.fixture
def dashboard(tmp_path: Path, broker: Mosquitto) -> Iterator[Dashboard]:
    dashboard = Dashboard(tmp_path, broker, {"behind_proxy": True})
    yield dashboard
    dashboard.kill()


class Fail2ban:
    """A fail2ban that writes each address into a file, instead of changing the firewall."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.banned = folder / "banned"
        files = {
            "fail2ban.conf": f"[Definition]\nloglevel = INFO\nlogtarget = {folder}/fail2ban.log\nsyslogsocket = auto\n"
            f"dbfile = :memory:\ndbpurgeage = 1d\ndbmaxmatches = 10\n",
            "filter.d/juice-dashboard.conf": page_filter(),
            "action.d/record.conf": f"[Definition]\nactionban = echo <ip> >> {self.banned}\n",
            "jail.conf": "[juice-dashboard]\nenabled = true\nfilter = juice-dashboard\nbackend = polling\n"
            f"logpath = {log}\nmaxretry = 3\nfindtime = 600\nbantime = 600\naction = record\n",
        }
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        self.banned.touch()
        self.process = subprocess.Popen(
            ["fail2ban-server", "-c", folder, "-s", folder / "socket", "-p", folder / "pid", "-f", "start"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: "Jail 'juice-dashboard' started" in (folder / "fail2ban.log").read_text()
                   if (folder / "fail2ban.log").exists() else False)

    def addresses(self) -> list[str]:
        return self.banned.read_text().split()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def page_filter() -> str:
    page = (ROOT / "deploy/docs/dashboard.md").read_text()
    return re.search(r"^```text\n(\[Definition\]\nfailregex.*?)^```", page, re.M | re.S)[1]


def attack(dashboard: Dashboard) -> None:
    """Wrong passwords from three addresses, with names that imitate a line of the log."""
    client = WebClient(dashboard.port)
    forged = f"x, name: y\nfailed login from {INNOCENT}, name: z"
    for name in ("nora", f"failed login from {INNOCENT}, name: x", forged):
        for address in (f"{ATTACKER}:4711", f"[{IPV6}]:4711"):
            client.try_password(name, "wrong-password", **{"X-Forwarded-For": f"{INNOCENT}, {address}"})
    for password in ("only-lookin", "only-looking"):
        client.try_password("vera", password, **{"X-Forwarded-For": FORGETFUL})
    assert password == PASSWORDS["vera"]
    client.close()


def test_fail2ban_bans_who_guesses_and_nobody_else(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.start()
    log = tmp_path / "log"
    log.touch()
    fail2ban = Fail2ban(tmp_path / "fail2ban", log)
    try:
        attack(dashboard)
        dashboard.wait_for_log(f"failed login from {FORGETFUL}, name: vera")
        seen = list(dashboard.log)
        log.write_text("\n".join(seen) + "\n")
        eventually(lambda: sorted(fail2ban.addresses()) == sorted([ATTACKER, IPV6]))
        # fail2ban reads a file from its beginning to its end: one more address shows that it has read all.
        other = WebClient(dashboard.port)
        for _ in range(3):
            other.try_password("nora", "wrong-password", **{"X-Forwarded-For": "192.0.2.99"})
        eventually(lambda: sum("192.0.2.99" in line for line in dashboard.log) == 3)
        with log.open("a") as file:
            file.write("\n".join(list(dashboard.log)[len(seen):]) + "\n")
        eventually(lambda: "192.0.2.99" in fail2ban.addresses())
        assert sorted(fail2ban.addresses()) == sorted([ATTACKER, IPV6, "192.0.2.99"])
    finally:
        fail2ban.close()


def test_the_filter_reads_the_journal(dashboard: Dashboard, tmp_path: Path) -> None:
    """systemd removes the level from a line, and fail2ban reads host and program before the line."""
    dashboard.start(JOURNAL_STREAM="8:1")
    attack(dashboard)
    dashboard.wait_for_log(f"failed login from {FORGETFUL}, name: vera")
    lines = [re.sub(r"^<\d>", "Nov 29 03:36:06 hall juice-dashboard[4711]: ", line) for line in dashboard.log]
    journal, rule = tmp_path / "journal", tmp_path / "juice-dashboard.conf"
    journal.write_text("\n".join(lines) + "\n")
    rule.write_text(page_filter())
    found = subprocess.run(
        ["fail2ban-regex", "--print-all-matched", "--out", "<ip>", journal, rule], check=True, capture_output=True, text=True)
    addresses = found.stdout.split()
    assert addresses.count(ATTACKER) == addresses.count(IPV6) == 3, found.stdout
    assert addresses.count(FORGETFUL) == 1 and INNOCENT not in addresses, found.stdout
