"""Kiosk, dashboard, archive, PostgreSQL and Python have the time zone rules of the system's files."""

import re
import subprocess
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Iterator
from zoneinfo import ZoneInfo

import pytest

from archive import Archive, event, tell
from arrivals import eventually
from client import Client
from conftest import MakeBroker, MakeClient, MakeDashboard, MakeKiosk
from mosquitto import Mosquitto
from postgres import Postgres
from web_client import WebClient

#: Their clocks stay as they are since 2026. Programs with the rules of 2025 differ at any time of the
#: year from the rules of Casablanca, but for a month, and in winter from those of the others.
ZONES = ["America/Vancouver", "America/Edmonton", "America/Winnipeg", "Africa/Casablanca"]


def install(folder: Path, version: str) -> None:
    """Replaces the files of a time zone database, as an update of the package tzdata does."""
    rules = Path(__file__).with_name(f"zones-{version}.txt")
    subprocess.run(["/usr/sbin/zic", "-d", folder, rules], check=True)


def python(folder: Path, zone: str, at: str) -> datetime:
    """Returns a time as Python shows it with the files of a folder."""
    with open(folder / zone, "rb") as file:
        return datetime.fromisoformat(at.replace("Z", "+00:00")).astimezone(ZoneInfo.from_file(file))


@pytest.fixture
def zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database of the programs that the test starts."""
    folder = tmp_path / "zoneinfo"
    monkeypatch.setenv("TZDIR", str(folder))
    return folder


def test_an_update_of_the_database_needs_no_new_program(
    zones: Path, make_kiosk: MakeKiosk, make_dashboard: MakeDashboard, panel: Client
) -> None:
    install(zones, "new")
    kiosks = {
        f"k{number}": (zone, make_kiosk(kiosk={"id": f"k{number}", "time_zone": zone}).start())
        for number, zone in enumerate(ZONES, 1)
    }
    install(zones, "old")
    dashboard = make_dashboard()
    install(zones, "new")
    for id, (zone, kiosk) in kiosks.items():
        panel.publish(f"kiosk/{id}/order/p1", "kiwi")
        panel.publish(f"kiosk/{id}/restock/desk", '{"add":{"kiwi":1}}')
        sold = lambda m: m.topic == f"kiosk/{id}/sales" and m.json["hours"]
        sales = panel.messages.first(sold).json
        entry = next(entry for entry in kiosk.ledger() if entry["status"] == "ready")
        local = python(zones, zone, entry["at"])
        assert [hour["hour"] for hour in sales["hours"]] == [local.hour], zone
        assert sales["days"][0]["day"] == local.date().isoformat(), zone
        assert kiosk.command("report", "--json").returncode == 0
        assert f", {zone}" in kiosk.command("check").stdout
    with closing(WebClient(dashboard.port).log_in("minji", "strawberries")) as browser:
        # The dashboard began with the old files.
        for id, (zone, _) in kiosks.items():
            def agrees() -> bool:
                page = browser.get(f"/kiosks/{id}/history").text
                times = re.findall(r'<time datetime="([^"]+)">[^<]*?(\d\d:\d\d)</time>', page)
                return times and all(python(zones, zone, at).strftime("%H:%M") == text for at, text in times)

            eventually(agrees)
    # Without the database.
    other = make_kiosk(kiosk={"id": "other", "time_zone": "Asia/Seoul"})
    for folder, hint in ((zones, "write it like"), (zones / "none", "install the package 'tzdata'")):
        checked = other.command("check", TZDIR=str(folder))
        assert checked.returncode == 78 and "no time zone 'Asia/Seoul'" in checked.stderr
        assert hint in checked.stderr


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Postgres]:
    """A database whose system has the new rules: Debian's PostgreSQL reads only /usr/share/zoneinfo."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED, only root who may mount can bind files over the system's")
    install(tmp_path / "zoneinfo", "new")
    bind = "".join(f"mount --bind '{tmp_path}/zoneinfo/{zone}' /usr/share/zoneinfo/{zone}; " for zone in ZONES)
    under = ["unshare", "--mount", "sh", "-ec", bind + 'exec "$@"', "sh"]
    with closing(Postgres(under=under)) as server:
        yield server.start()


@pytest.mark.parametrize("zone", ZONES)
def test_the_archive_has_the_days_of_the_kiosk(
    zones: Path, zone: str, database: Postgres, broker: Mosquitto, make_client: MakeClient, tmp_path: Path
) -> None:
    archive = Archive(tmp_path / "archive.yaml", broker, database, time_zone=zone).start()
    try:
        # Each hour of two days that have other limits by the rules of 2025.
        hours = [event(1, "opened", changes={"kiwi": 999})] + [
            event(seq, "ready", 19 * 1440 + seq * 60, source="order/p1", juice="kiwi", quantity=1, ticket=seq,
                  changes={"kiwi": -3})
            for seq in range(2, 50)
        ]
        tell(make_client(), "k1", *hours)
        days: dict[str, int] = {}
        for each in hours[1:]:
            local = python(zones, zone, each["at"])
            days[local.date().isoformat()] = days.get(local.date().isoformat(), 0) + 1
            shown = database.query(f"SELECT to_char('{each['at']}'::timestamptz AT TIME ZONE '{zone}', 'YYYY-MM-DD HH24:MI')")
            assert shown == local.strftime("%Y-%m-%d %H:%M")
        expected = "\n".join(f"{day}|{count}" for day, count in sorted(days.items()))
        eventually(lambda: database.try_query(
            "SELECT day, sum(glasses) FROM juice.sales GROUP BY day ORDER BY day") == expected)
    finally:
        archive.kill()
